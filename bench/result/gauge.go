package result

import (
	"math"
	"time"
)

// gaugeWatch follows a gauge over a window. Between two samples the gauge is taken to
// go on a straight line; before the first and after the last it holds.
type gaugeWatch struct {
	window    span
	n, inside int // samples in all, and those inside the window
	max       float64
	integral  float64 // over the window, until the last sample, in units times seconds
	first, at int64   // of the first and the last sample
	last      float64
	sum       float64 // of the samples
}

// add takes a sample. One that is not newer than the one before is left out, as is
// what is no number.
func (g *gaugeWatch) add(at int64, v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) || g.n > 0 && at <= g.at {
		return
	}
	if g.n == 0 {
		g.first, g.max = at, v
		g.line(g.window.from, v, max(at, g.window.from), v)
	} else {
		g.line(g.at, g.last, at, v)
	}
	g.n++
	if g.window.holds(at) {
		g.inside++
	}
	g.max, g.at, g.last, g.sum = max(g.max, v), at, v, g.sum+v
}

// line adds the part of a straight line that is inside the window.
func (g *gaugeWatch) line(from int64, a float64, to int64, b float64) {
	left, right := g.window.clamp(from), g.window.clamp(to)
	if right <= left {
		return
	}
	height := func(at int64) float64 { return a + (b-a)*float64(at-from)/float64(to-from) }
	g.integral += (height(left) + height(right)) / 2 * time.Duration(right-left).Seconds()
}

// total is the integral over the whole window. It is not known from less than two
// samples, nor when they span less than half of the window.
func (g *gaugeWatch) total() (float64, bool) {
	if g.n < 2 {
		return 0, false
	}
	seen := g.window.clamp(g.at) - g.window.clamp(g.first)
	return g.all(), seen > 0 && seen >= (g.window.to-g.window.from)/2
}

func (g *gaugeWatch) all() float64 {
	rest := gaugeWatch{window: g.window}
	rest.line(max(g.at, g.window.from), g.last, g.window.to, g.last)
	return g.integral + rest.integral
}

// gauge sums up the samples, if there are so many inside the window.
func (g *gaugeWatch) gauge(least int) Gauge {
	if g.n == 0 || g.inside < least {
		return Gauge{}
	}
	mean := g.sum / float64(g.n)
	if s := g.window.seconds(); s > 0 {
		mean = g.all() / s
	}
	return Gauge{Samples: g.n, Mean: mean, Max: g.max}
}

// counter follows a counter over a step.
type counter struct {
	n           int
	first, last float64
	reset       bool // it went down: its process was started again
}

func (c *counter) add(v float64) {
	if c.n == 0 {
		c.first = v
	}
	c.reset = c.reset || c.n > 0 && v < c.last
	c.n++
	c.last = v
}

// delta is how much it grew, nil when that is not known.
func (c *counter) delta() *float64 {
	if c.n < 2 || c.reset {
		return nil
	}
	return new(c.last - c.first)
}

// cpuWatch follows the CPU time of one load generator.
type cpuWatch struct {
	counter
	from, to int64
}

func (w *cpuWatch) add(at int64, seconds float64) {
	if w.n == 0 {
		w.from = at
	}
	w.counter.add(seconds)
	w.to = at
}

// cores is how many were used on the mean, 0 when that is not known.
func (w *cpuWatch) cores() float64 {
	used := w.delta()
	if used == nil || w.to <= w.from {
		return 0
	}
	return *used / time.Duration(w.to-w.from).Seconds()
}
