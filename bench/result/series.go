package result

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// point is one value of a gauge or a counter, at so many nanoseconds since 1970.
type point struct {
	at    int64
	value float64
}

// series are the values of one metric, in the order of their instants.
type series []point

// add appends a value, unless it is no number or not newer than the last.
func (s *series) add(at int64, v float64) {
	old := len(*s) > 0 && at <= (*s)[len(*s)-1].at
	if !old && !math.IsNaN(v) && !math.IsInf(v, 0) {
		*s = append(*s, point{at, v})
	}
}

// readings are the values of several metrics, by name.
type readings map[string]*series

// add appends a value to each.
func (r readings) add(at int64, values map[string]float64) {
	for name, v := range values {
		if r[name] == nil {
			r[name] = new(series)
		}
		r[name].add(at, v)
	}
}

// first are the values by the first of several names that there are any of: a server that
// exports an older name beside the newer one tells the same twice.
func (r readings) first(names ...string) series {
	for _, name := range names {
		if s := r[name]; s != nil {
			return *s
		}
	}
	return nil
}

// within are the values inside of a window.
func (s series) within(w span) series {
	return slices.DeleteFunc(slices.Clone(s), func(p point) bool { return !w.holds(p.at) })
}

// integral is over the window, in units times seconds: straight lines from value to
// value, the first one before and the last one after them.
func (s series) integral(w span) float64 {
	first, last := s[0], s[len(s)-1]
	before, after := point{min(first.at, w.from), first.value}, point{max(last.at, w.to), last.value}
	a, sum := before, 0.0
	for _, b := range append(slices.Clone(s), after) {
		from, to := w.clamp(a.at), w.clamp(b.at)
		if to > from {
			slope := (b.value - a.value) / float64(b.at-a.at)
			left, right := a.value+slope*float64(from-a.at), a.value+slope*float64(to-a.at)
			sum += (left + right) / 2 * time.Duration(to-from).Seconds()
		}
		a = b
	}
	return sum
}

// gauge sums up the values, if at least so many are inside of the window.
func (s series) gauge(w span, least int) Gauge {
	if len(s) == 0 || len(s.within(w)) < least {
		return Gauge{}
	}
	g := Gauge{Samples: len(s), Max: s[0].value}
	for _, p := range s {
		g.Max = max(g.Max, p.value)
		g.Mean += p.value / float64(len(s))
	}
	if w.to > w.from {
		g.Mean = s.integral(w) / w.seconds()
	}
	return g
}

// total is the integral over the window where at least so many values tell it, of half of
// the window at least.
func (s series) total(w span, least int) (sum float64, known bool) {
	if len(s) < least {
		return 0, false
	}
	seen := w.clamp(s[len(s)-1].at) - w.clamp(s[0].at)
	return s.integral(w), seen > 0 && seen >= (w.to-w.from)/2
}

// growth is how much a counter grew, nil where that is not known: of less than two values,
// or of a process that was started again.
func (s series) growth() *float64 {
	if len(s) < 2 || !slices.IsSortedFunc(s, func(a, b point) int { return cmp.Compare(a.value, b.value) }) {
		return nil
	}
	return new(s[len(s)-1].value - s[0].value)
}
