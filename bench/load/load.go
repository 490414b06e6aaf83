// Package load puts load on an endpoint: it decides when requests are due, keeps
// as many in flight as it should, and hands on what became of each.
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
	Seed uint64 // of the gaps between arrivals
}

// Job is one request to be sent now.
type Job struct {
	Seq     int // in the step, from 0
	Prompt  dataset.Prompt
	Planned time.Time
}

// Runner runs steps, one at a time.
type Runner struct {
	// Send sends one request and returns when it is over, at the latest soon
	// after ctx is done. It is called from many goroutines.
	Send func(ctx context.Context, j Job) *openai.Trace
	// Done takes each request that is over, one call at a time. An error ends the
	// run: what cannot be kept need not be measured.
	Done func(*runlog.Request) error
	// Meter, if not nil, is kept up to date for whoever watches.
	Meter *Meter
}

// Meter is what a run is doing at the moment.
type Meter struct {
	Attempted atomic.Int64 // taken up in the step: queued, in flight, or over
	Queued    atomic.Int64 // waiting for their turn under a bound on concurrency
	InFlight  atomic.Int64
	Succeeded atomic.Int64
	Failed    atomic.Int64
	Canceled  atomic.Int64
}
