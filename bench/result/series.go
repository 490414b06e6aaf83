package result

import (
	"cmp"
	"math"
	"slices"
)

// point is one value of a gauge or a counter, at so many nanoseconds since 1970.
type point struct {
	at    int64
	value float64
}

// series are the values of one metric, in the order of their instants.
type series []point

// with has one value more, unless it is no number or not newer than the last.
func (s series) with(at int64, v float64) series {
	if len(s) > 0 && at <= s[len(s)-1].at || math.IsNaN(v) || math.IsInf(v, 0) {
		return s
	}
	return append(s, point{at, v})
}

// readings are the values of several metrics, by name.
type readings map[string]series

// add appends a value to each.
func (r readings) add(at int64, values map[string]float64) {
	for name, v := range values {
		r[name] = r[name].with(at, v)
	}
}

// first are the values by the first of several names that there are any of: a server that
// exports an older name beside the newer one tells the same twice.
func (r readings) first(names ...string) series {
	for _, name := range names {
		if len(r[name]) > 0 {
			return r[name]
		}
	}
	return nil
}

// within are the values inside of a window.
func (s series) within(w span) series {
	return slices.DeleteFunc(slices.Clone(s), func(p point) bool { return !w.holds(p.at) })
}

// integral is over the window that all values are in, in units times seconds: straight
// lines from value to value, the first one before and the last one after them.
func (s series) integral(w span) float64 {
	first, last := s[0], s[len(s)-1]
	sum := first.value*span{w.from, first.at}.seconds() + last.value*span{last.at, w.to}.seconds()
	for i := range s[1:] {
		a, b := s[i], s[i+1]
		sum += (a.value + b.value) / 2 * span{a.at, b.at}.seconds()
	}
	return sum
}

// gauge sums up the values inside of the window, if there are at least so many.
func (s series) gauge(w span, least int) Gauge {
	s = s.within(w)
	if len(s) < least {
		return Gauge{}
	}
	highest := slices.MaxFunc(s, func(a, b point) int { return cmp.Compare(a.value, b.value) })
	return Gauge{Samples: len(s), Mean: w.rate(s.integral(w)), Max: highest.value}
}

// growth is how much a counter grew; not known of less than two values, nor of a process that
// was started again.
func (s series) growth() Value {
	if len(s) < 2 || !slices.IsSortedFunc(s, func(a, b point) int { return cmp.Compare(a.value, b.value) }) {
		return unknown()
	}
	return Value(s[len(s)-1].value - s[0].value)
}
