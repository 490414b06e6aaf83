// Package load puts load on an endpoint: it decides when requests are due, keeps
// as many in flight as it should, and hands on what became of each.
//
// In a closed loop, users send one request after the other, each as soon as its
// last is over. In an open loop, requests come at instants that do not depend on
// the server: a request that is due is sent, late if this program is late or if it
// waits for its turn under a bound on concurrency, and never left out for that.
// Either way every request that was taken up is accounted for.
package load

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Plan is what one step does.
type Plan struct {
	Step runlog.Step
	Seed uint64 // of the gaps between arrivals; those of any two seeds are unrelated
	// ReadAhead is how many prompts are held ready, and made before the clock
	// starts; 1024 when 0.
	ReadAhead int
}

// Job is one request to be sent now.
type Job struct {
	Seq     int // in the step, from 0
	Prompt  dataset.Prompt
	Planned time.Time
}

// Runner runs a step. Send and Done must be set.
type Runner struct {
	// Send sends one request and returns when it is over, at the latest soon
	// after ctx is done. It is called from many goroutines. Its trace's Planned is
	// set by Run.
	Send func(ctx context.Context, j Job) *openai.Trace
	// Done takes each request that is over, one call at a time. An error ends the
	// run: what cannot be kept need not be measured.
	Done func(*runlog.Request) error
	// Meter, if not nil, is kept up to date for whoever watches. Each step has its
	// own.
	Meter *Meter
}

// Meter is what a run is doing at the moment.
type Meter struct {
	Attempted atomic.Int64 // taken up in the step: queued, in flight, or over
	Queued    atomic.Int64 // due and not yet sent: waiting for their turn under a bound on concurrency
	InFlight  atomic.Int64
	Succeeded atomic.Int64
	Failed    atomic.Int64
	Canceled  atomic.Int64
	// FirstSent and LastSent are when the first and the last request until now were
	// sent, Reached when [runlog.Step.Level] requests were first in flight: Unix time
	// in nanoseconds, 0 for not yet.
	FirstSent, LastSent, Reached atomic.Int64
	// SendingOver is true once no more requests will be sent.
	SendingOver atomic.Bool
}

// sent notes that a request was sent, with so many to be in flight, 0 for any number.
func (m *Meter) sent(at time.Time, level int) {
	now := at.UnixNano()
	m.FirstSent.CompareAndSwap(0, now)
	for last := m.LastSent.Load(); last < now && !m.LastSent.CompareAndSwap(last, now); {
		last = m.LastSent.Load()
	}
	if n := m.InFlight.Add(1); level > 0 && n >= int64(level) {
		m.Reached.CompareAndSwap(0, now)
	}
}
