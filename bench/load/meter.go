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
	Queued    atomic.Int64 // due and not yet sent, as a rule under a bound on concurrency
	InFlight  atomic.Int64
	Succeeded atomic.Int64
	Failed    atomic.Int64
	Canceled  atomic.Int64
	// FirstSent is when the first request was sent, Reached when [runlog.Step.Concurrency]
	// requests were first in flight: Unix time in nanoseconds, 0 for not yet.
	FirstSent, Reached atomic.Int64
	// SendingOver is true once no more requests will be sent.
	SendingOver atomic.Bool
}

// sent notes that a request was sent, with so many users, 0 where there are none.
func (m *Meter) sent(at time.Time, users int) {
	now := at.UnixNano()
	m.FirstSent.CompareAndSwap(0, now)
	if n := m.InFlight.Add(1); users > 0 && n >= int64(users) {
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
	failed map[openai.Reason]int // nil for none
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
		if a.failed == nil {
			a.failed = map[openai.Reason]int{}
		}
		a.failed[f.Reason]++
		a.Failed.Add(1)
	}
}

// early says why the step is to stop: too large a share failed, or the last ones did not
// come as far as the server, so that the next would all be used up in no time. It is
// empty for no reason.
func (a *account) early() runlog.Stop {
	least := max(minEnded, 2*a.step.Concurrency, 2*a.step.MaxConcurrency)
	ended := a.Failed.Load() + a.Succeeded.Load()
	switch {
	case a.unconnected >= least:
		return runlog.StopUnreachable
	case ended >= int64(least) && a.tooManyFailed():
		return runlog.StopFailureRatio
	}
	return ""
}

// tooManyFailed reports whether a larger share failed until now than the step allows.
func (a *account) tooManyFailed() bool {
	limit, failed := a.step.MaxFailureRatio, float64(a.Failed.Load())
	return limit > 0 && failed > limit*(failed+float64(a.Succeeded.Load()))
}

// stepEnd is the account at the end. The error says that a request was lost or counted
// twice: a bug.
func (a *account) stepEnd() (runlog.StepEnd, error) {
	e := runlog.StepEnd{
		Step: a.step.Index, Ended: time.Now(), Dataset: a.dataset, Failed: a.failed,
		Attempted: int(a.Attempted.Load()), Succeeded: int(a.Succeeded.Load()), Canceled: int(a.Canceled.Load()),
	}
	failed := 0
	for _, n := range a.failed {
		failed += n
	}
	if e.Succeeded+e.Canceled+failed != e.Attempted {
		return e, fmt.Errorf("accounting: %d requests were attempted, but %d succeeded, %d failed and %d were canceled",
			e.Attempted, e.Succeeded, failed, e.Canceled)
	}
	return e, nil
}
