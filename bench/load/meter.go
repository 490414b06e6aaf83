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

const (
	// minEnded is how many requests must have ended, or have failed in a row to connect, before that
	// can stop a step early; a share of failures is judged over two of each user.
	minEnded = 20
	// goneTime is how long nothing may connect, and nothing may be received, until a server is gone.
	goneTime = 5 * time.Second
)

// account counts what became of requests. They are counted as attempted elsewhere, when
// they are admitted, so that one that got lost in between shows.
type account struct {
	*Meter
	step  runlog.Step
	ended runlog.Account
	// unconnected are the last failures in a row of requests that never came as far
	// as the server, the first at unconnectedSince.
	unconnected      int
	unconnectedSince time.Time
	dataset          runlog.DatasetCount // of the prompts that were sent
}

// end counts a request that has ended.
func (a *account) end(f *openai.Failure) {
	var why openai.Reason
	if f != nil {
		why = f.Reason
	}
	a.ended.Count(why)
	switch why {
	case "":
		a.Succeeded.Add(1)
	case openai.ReasonCanceled:
		a.Canceled.Add(1)
		return
	default:
		a.Failed.Add(1)
	}
	if !why.Unreached() || f.Local {
		a.unconnected = 0
		return
	}
	if a.unconnected == 0 {
		a.unconnectedSince = time.Now()
	}
	a.unconnected++
}

// early says why the step is to stop: too large a share failed, or the server is gone: for a while nothing
// has connected, nor was anything received since lastReceived. It is empty for no reason.
func (a *account) early(lastReceived time.Time) runlog.Stop {
	least := max(minEnded, 2*a.step.Concurrency, 2*a.step.MaxConcurrency)
	switch {
	case a.unconnected >= minEnded && time.Since(a.unconnectedSince) >= goneTime && time.Since(lastReceived) >= goneTime:
		return runlog.StopUnreachable
	case a.ended.Attempted-a.ended.Canceled >= least && a.tooManyFailed():
		return runlog.StopFailureRatio
	}
	return ""
}

// tooManyFailed reports whether a larger share failed until now than the step allows.
func (a *account) tooManyFailed() bool {
	limit := a.step.MaxFailureRatio
	return limit > 0 && a.ended.FailureRatio() > limit
}

// stepEnd is the account at the end. The error says that a request was lost or counted
// twice: a bug.
func (a *account) stepEnd() (runlog.StepEnd, error) {
	e := runlog.StepEnd{Step: a.step.Index, Account: a.ended, Dataset: a.dataset}
	if e.Attempted = int(a.Attempted.Load()); e.Attempted != a.ended.Attempted {
		return e, fmt.Errorf("accounting: %d requests were attempted, but %d succeeded, %d failed and %d were canceled",
			e.Attempted, e.Succeeded, a.ended.Failures(), e.Canceled)
	}
	return e, nil
}
