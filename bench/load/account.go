package load

import (
	"fmt"
	"sync/atomic"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// fewest is how many requests must have ended, or have failed in a row, before that
// can stop a step early; a step with more users waits for two of each.
const fewest = 20

// account counts requests at both ends: when they are taken up, and when they are
// over. The two are kept by different goroutines, so that one that got lost in
// between shows.
type account struct {
	meter     *Meter
	step      runlog.Step
	attempted atomic.Int64
	succeeded int
	canceled  int
	failed    map[openai.Reason]int
	failures  int // of all reasons
	// astray are the last failures in a row of requests that never came as far as
	// the server.
	astray int
}

// takeUp counts a request that is due.
func (a *account) takeUp() {
	a.attempted.Add(1)
	a.meter.Attempted.Add(1)
}

// over counts what became of one.
func (a *account) over(f *openai.Failure) {
	switch {
	case f == nil:
		a.astray = 0
		a.succeeded++
		a.meter.Succeeded.Add(1)
	case f.Reason == openai.ReasonCanceled:
		a.canceled++
		a.meter.Canceled.Add(1)
	default:
		a.astray++
		if !f.Reason.Unreached() {
			a.astray = 0
		}
		a.failed[f.Reason]++
		a.failures++
		a.meter.Failed.Add(1)
	}
}

// tooMany says whether more requests failed than the step allows, of those that
// ended by themselves.
func (a *account) tooMany() bool {
	limit := a.step.MaxFailureRatio
	return limit > 0 && float64(a.failures) > limit*float64(a.succeeded+a.failures)
}

// enough says whether so many ended that their failures tell something.
func (a *account) enough() bool { return a.succeeded+a.failures >= a.telling() }

// telling is how many must have ended for that.
func (a *account) telling() int {
	return max(fewest, 2*a.step.Concurrency, 2*a.step.MaxConcurrency)
}

// unreachable says whether so many in a row did not come as far as the server that
// it is not there any more. The next would fail at once, and all be used up in no
// time.
func (a *account) unreachable() bool { return a.astray >= a.telling() }

// check is an error when a request was lost or counted twice: a bug.
func (a *account) check() error {
	attempted, sum := a.attempted.Load(), a.canceled+a.succeeded
	for _, n := range a.failed {
		sum += n
	}
	if int64(sum) != attempted {
		return fmt.Errorf("accounting: %d requests were attempted, but %d succeeded, %d failed and %d were canceled",
			attempted, a.succeeded, a.failures, a.canceled)
	}
	return nil
}

// fill puts the counts into e.
func (a *account) fill(e *runlog.StepEnd) {
	e.Attempted = int(a.attempted.Load())
	e.Succeeded, e.Canceled = a.succeeded, a.canceled
	if a.failures > 0 {
		e.Failed = a.failed
	}
}
