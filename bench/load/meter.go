package load

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Meter is what a step is doing at the moment. Each step has its own.
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

// minEnded is how many requests must have ended, or have failed in a row, before that
// can stop a step early; a step with more users waits for two of each.
const minEnded = 20

// account counts what became of requests. They are counted as attempted elsewhere, when
// they are taken up, so that one that got lost in between shows.
type account struct {
	*Meter
	step   runlog.Step
	failed map[openai.Reason]int
	// unconnected are the last failures in a row of requests that never came as far
	// as the server.
	unconnected int
	dataset     runlog.DatasetCount // of the prompts that were sent
}

// end counts a request that is over.
func (a *account) end(f *openai.Failure) {
	switch {
	case f == nil:
		a.unconnected = 0
		a.Succeeded.Add(1)
	case f.Reason == openai.ReasonCanceled:
		a.Canceled.Add(1)
	default:
		a.unconnected++
		if !f.Reason.Unreached() {
			a.unconnected = 0
		}
		a.failed[f.Reason]++
		a.Failed.Add(1)
	}
}

// tooManyFailed reports whether more failed than the step allows, of at least so many
// that ended by themselves.
func (a *account) tooManyFailed(least int) bool {
	limit, failed := a.step.MaxFailureRatio, a.Failed.Load()
	ended := failed + a.Succeeded.Load()
	return limit > 0 && ended >= int64(least) && float64(failed) > limit*float64(ended)
}

// minSample is how many must have ended for their failures to say something.
func (a *account) minSample() int {
	return max(minEnded, 2*a.step.Concurrency, 2*a.step.MaxConcurrency)
}

// unreachable reports whether so many in a row did not come as far as the server that
// it is not there any more. The next would fail at once, and all be used up in no
// time.
func (a *account) unreachable() bool { return a.unconnected >= a.minSample() }

// stepEnd is the account at the end. The error says that a request was lost or counted
// twice: a bug.
func (a *account) stepEnd() (runlog.StepEnd, error) {
	e := runlog.StepEnd{
		Step: a.step.Index, Ended: time.Now(), Dataset: a.dataset,
		Attempted: int(a.Attempted.Load()), Succeeded: int(a.Succeeded.Load()), Canceled: int(a.Canceled.Load()),
	}
	failed := 0
	for _, n := range a.failed {
		failed += n
	}
	if failed > 0 {
		e.Failed = a.failed
	}
	if e.Succeeded+e.Canceled+failed != e.Attempted {
		return e, fmt.Errorf("accounting: %d requests were attempted, but %d succeeded, %d failed and %d were canceled",
			e.Attempted, e.Succeeded, failed, e.Canceled)
	}
	return e, nil
}
