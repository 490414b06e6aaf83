package result

import (
	"cmp"
	"math"
	"slices"
)

// Gauge sums up the samples of a gauge; of a card's, several of one poll are one. Samples is 0 when there were too few.
type Gauge struct {
	Samples int     `json:"samples"`
	Mean    float64 `json:"mean"` // over time
	Max     float64 `json:"max"`
}

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

func (r readings) add(at int64, values map[string]float64) {
	for name, v := range values {
		r[name] = r[name].with(at, v)
	}
}

// gauge sums up the values inside of the window, if there are at least so many: its mean is of
// straight lines from value to value, the first one before and the last one after them.
func (s series) gauge(w span, least int) Gauge {
	s = slices.DeleteFunc(slices.Clone(s), func(p point) bool { return !w.holds(p.at) })
	if len(s) < least {
		return Gauge{}
	}
	first, last := s[0], s[len(s)-1]
	integral := first.value*span{w.from, first.at}.seconds() + last.value*span{last.at, w.to}.seconds()
	highest := first.value
	for i, b := range s[1:] {
		a := s[i]
		integral += (a.value + b.value) / 2 * span{a.at, b.at}.seconds()
		highest = max(highest, b.value)
	}
	return Gauge{Samples: len(s), Mean: w.rate(integral), Max: highest}
}

// growth is how much a counter grew; not known of less than two values, nor of a process that was started again.
func (s series) growth() Value {
	if len(s) < 2 || !slices.IsSortedFunc(s, func(a, b point) int { return cmp.Compare(a.value, b.value) }) {
		return unknown()
	}
	return Value(s[len(s)-1].value - s[0].value)
}
