package report

import (
	"math"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// From where on requests pile up. All of it has to hold: arrivals come in bursts by
// chance, and at the start of a load every server has less in flight than later.
const (
	grownShare  = 1.1 // of in flight or latency in the window's last quarter to those in its first
	grownNumber = 2   // requests in flight
	flightNoise = 2   // standard deviations of numbers in flight that are Poisson's
	timeNoise   = 3   // standard errors of the difference of two means
)

// backlog tells whether an open loop sends more than the server answers: then no
// part of it is steady.
type backlog struct {
	span
	burstiness     float64 // of the arrivals, at most 1
	early, late    moments // latencies of what was sent in the first quarter and the last
	arrived, ended float64 // requests a second
}

// newBacklog is nil for a step whose arrivals follow no rate.
func newBacklog(s runlog.Step, w span) *backlog {
	b := &backlog{span: w, burstiness: 1}
	switch s.Arrival {
	case runlog.ArrivalConstant, runlog.ArrivalPoisson:
	case runlog.ArrivalGamma:
		if s.Burstiness > 0 {
			b.burstiness = min(1, s.Burstiness)
		}
	default:
		return nil
	}
	return b
}

// take counts a request that was sent.
func (b *backlog) take(r *runlog.Request) {
	start, end := instants(r)
	quarter := (b.to - b.from) / 4
	switch {
	case !b.holds(start):
	case start <= b.from+quarter:
		b.early.add(float64(end - start))
	case start >= b.to-quarter:
		b.late.add(float64(end - start))
	}
}

// grows says whether requests piled up in the window.
func (b *backlog) grows(c *curve) bool {
	quarter := (b.to - b.from) / 4
	first, last := c.mean(span{b.from, b.from + quarter}), c.mean(span{b.to - quarter, b.to})
	b.arrived, b.ended = float64(c.sent(b.span))/b.seconds(), float64(c.over(b.span))/b.seconds()
	noise := flightNoise * math.Sqrt((first+last)/b.burstiness)
	return b.ended < enoughLoad*b.arrived && last > grownShare*first+grownNumber+noise && b.slower()
}

// slower says whether the late requests took longer than the early ones.
func (b *backlog) slower() bool {
	if b.early.n < 2 || b.late.n < 2 {
		return false
	}
	noise := timeNoise * math.Sqrt(b.early.variance()/b.early.n+b.late.variance()/b.late.n)
	return b.late.mean > grownShare*b.early.mean && b.late.mean > b.early.mean+noise
}

// moments are Welford's running mean and sum of squares.
type moments struct{ n, mean, m2 float64 }

func (m *moments) add(v float64) {
	m.n++
	delta := v - m.mean
	m.mean += delta / m.n
	m.m2 += delta * (v - m.mean)
}

// variance is the sample's, of two values at least.
func (m *moments) variance() float64 { return m.m2 / (m.n - 1) }
