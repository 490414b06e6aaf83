package load

import (
	"fmt"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// minEnded is how many requests must have ended, or have failed in a row, before that
// can stop a step early; a step with more users waits for two of each.
const minEnded = 20

// account counts requests at both ends: when they are taken up, and when they are
// over. The two are counted by different goroutines, so that one that got lost in
// between shows.
type account struct {
	*Meter
	step   runlog.Step
	failed map[openai.Reason]int
	// unconnected are the last failures in a row of requests that never came as far
	// as the server.
	unconnected int
}

// attempt counts a request that is due.
func (a *account) attempt() { a.Attempted.Add(1) }

// end counts what became of one.
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

// ended is how many ended by themselves.
func (a *account) ended() int { return int(a.Succeeded.Load() + a.Failed.Load()) }

// tooManyFailed reports whether more of them failed than the step allows.
func (a *account) tooManyFailed() bool {
	limit := a.step.MaxFailureRatio
	return limit > 0 && float64(a.Failed.Load()) > limit*float64(a.ended())
}

// minSample is how many must have ended for their failures to tell something.
func (a *account) minSample() int {
	return max(minEnded, 2*a.step.Concurrency, 2*a.step.MaxConcurrency)
}

// unreachable reports whether so many in a row did not come as far as the server that
// it is not there any more. The next would fail at once, and all be used up in no
// time.
func (a *account) unreachable() bool { return a.unconnected >= a.minSample() }

// check is an error when a request was lost or counted twice: a bug.
func (a *account) check() error {
	attempted, succeeded, canceled, failed := a.Attempted.Load(), a.Succeeded.Load(), a.Canceled.Load(), 0
	for _, n := range a.failed {
		failed += n
	}
	if succeeded+canceled+int64(failed) != attempted {
		return fmt.Errorf("accounting: %d requests were attempted, but %d succeeded, %d failed and %d were canceled",
			attempted, succeeded, failed, canceled)
	}
	return nil
}

// fill puts the counts into e.
func (a *account) fill(e *runlog.StepEnd) {
	e.Attempted, e.Succeeded, e.Canceled = int(a.Attempted.Load()), int(a.Succeeded.Load()), int(a.Canceled.Load())
	if len(a.failed) > 0 {
		e.Failed = a.failed
	}
}
