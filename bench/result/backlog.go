package result

import (
	"fmt"
	"math"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// From where on requests pile up. All of it has to hold: arrivals come in bursts by
// chance, and at the start of a load every server has less in flight than later.
const (
	minGrowth         = 1.1 // of in flight or latency in the window's last quarter to those in its first
	minGrowthInFlight = 2   // requests in flight
	flightNoise       = 2   // standard deviations of numbers in flight that are Poisson's
	timeNoise         = 3   // standard errors of the difference of two means
)

// Why a load is not steady that the server cannot bear. Under a bound requests do
// not pile up in flight but before it.
const (
	requestsPileUp = "the server did not keep up with the rate, so that requests piled up"
	waitsGrow      = "the server did not keep up with the rate, so that requests waited ever longer for their turn"
	quarters       = 4
)

// Overloaded reports whether the server did not keep up with the rate of an open loop.
func (s *Step) Overloaded() bool { return s.NotSteady == requestsPileUp || s.NotSteady == waitsGrow }

// backlog tells whether an open loop sends more than the server answers: then no
// part of it is steady.
type backlog struct {
	span
	burstiness     float64           // of the arrivals, at most 1
	bounded        bool              // in flight
	early, late    moments           // latencies of what was sent in the first quarter and the last
	waits          [quarters]moments // for a turn under the bound, of each quarter of what was sent
	cuts           []int64           // between those quarters
	arrived, ended float64           // requests a second
}

// newBacklog is nil for a step whose arrivals follow no rate.
func newBacklog(s runlog.Step, w span, c *curve) *backlog {
	b := &backlog{span: w, burstiness: 1, bounded: s.MaxConcurrency > 0}
	switch s.Arrival {
	case runlog.ArrivalConstant, runlog.ArrivalPoisson:
	case runlog.ArrivalGamma:
		if s.Burstiness > 0 {
			b.burstiness = min(1, s.Burstiness)
		}
	default:
		return nil
	}
	first, n := c.within(w)
	for k := 1; k < quarters; k++ {
		b.cuts = append(b.cuts, c.starts[first+n*k/quarters])
	}
	return b
}

// take counts a request that was sent.
func (b *backlog) take(r *runlog.Request) {
	start, end := instants(r)
	if !b.holds(start) {
		return
	}
	switch quarter := (b.to - b.from) / quarters; {
	case start <= b.from+quarter:
		b.early.add(float64(end - start))
	case start >= b.to-quarter:
		b.late.add(float64(end - start))
	}
	k, _ := slices.BinarySearch(b.cuts, start)
	b.waits[k].add(float64(r.Queued))
}

// grows says why the load is not steady, if requests piled up in the window. due is
// the span in which all of the step's were due.
func (b *backlog) grows(c *curve, due span) string {
	switch {
	case b.inFlight(c):
		return requestsPileUp
	case b.bounded && b.waiting(c, due):
		return waitsGrow
	}
	return ""
}

// behind reports whether fewer were over in the window than arrived in it, by more than
// the few that are in flight at its end for chance.
func (b *backlog) behind(c *curve) bool {
	arrived, ended := c.sent(b.span), c.over(b.span)
	return float64(ended) < minLoadShare*float64(arrived) && arrived-ended > minGrowthInFlight
}

// inFlight reports whether ever more were in flight.
func (b *backlog) inFlight(c *curve) bool {
	quarter := (b.to - b.from) / quarters
	first, last := c.mean(span{b.from, b.from + quarter}), c.mean(span{b.to - quarter, b.to})
	b.arrived, b.ended = float64(c.sent(b.span))/b.seconds(), float64(c.over(b.span))/b.seconds()
	noise := flightNoise * math.Sqrt((first+last)/b.burstiness)
	return b.behind(c) && last > minGrowth*first+minGrowthInFlight+noise && grew(&b.early, &b.late)
}

// waiting reports whether requests waited ever longer for their turn: in both late
// quarters longer than in the early ones, and so long in the end that the bound
// lowered the rate. A queue that comes and goes seldom does both by chance.
func (b *backlog) waiting(c *curve, due span) bool {
	sending, n := c.sending(c.whole())
	b.arrived, b.ended = perSecondOf(n, due), perSecondOf(n, sending)
	w := &b.waits
	ever := min(w[2].mean, w[3].mean) > max(w[0].mean, w[1].mean)
	return b.ended < minLoadShare*b.arrived && ever && grew(&w[0], &w[3])
}

// grew reports whether the late durations are longer than the early ones.
func grew(early, late *moments) bool {
	if early.n < 2 || late.n < 2 {
		return false
	}
	noise := timeNoise * math.Sqrt(early.variance()/float64(early.n)+late.variance()/float64(late.n))
	return late.mean > minGrowth*early.mean && late.mean > early.mean+noise
}

// warning says by how much the rate was too high.
func (b *backlog) warning(why string) string {
	grow, advice := "latencies grow", "lower the rate"
	if why == waitsGrow {
		grow, advice = "requests wait ever longer", "lower the rate or raise the bound, and read latencies from when they were due"
	}
	return fmt.Sprintf("Only %s requests a second were over where %s arrived, so %s for as long as the load lasts: %s.",
		words.Number(b.ended), words.Number(b.arrived), grow, advice)
}
