package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Meter is what a step is doing at the moment. Each step has its own.
type Meter struct {
	Attempted Counter // admitted: queued, in flight, or ended
	Queued    Counter // due and not yet sent, as a rule under a bound on concurrency
	InFlight  Counter
	Succeeded Counter
	Failed    Counter
	Canceled  Counter
	// FirstSent is when this machine sent its first request, Reached when its share of [runlog.Step.Concurrency] was first
	// in flight: Unix time in nanoseconds, 0 for not yet.
	FirstSent, Reached atomic.Int64
	SendingEnded       atomic.Bool // no more requests will be sent
}

// Counter counts requests of this machine, and of those that it leads.
type Counter struct {
	atomic.Int64              // this machine's
	others       atomic.Int64 // as they said last
}

// Load is the number on all machines.
func (c *Counter) Load() int64 { return c.Int64.Load() + c.others.Load() }

// counters are in the order of a message's Counts.
func (m *Meter) counters() [6]*Counter {
	return [...]*Counter{&m.Attempted, &m.Queued, &m.InFlight, &m.Succeeded, &m.Failed, &m.Canceled}
}

const (
	minEnded = 20              // requests that must have ended, or failed to connect in a row, to stop a step early
	goneTime = 5 * time.Second // without a connection and without a received byte, after which a server is gone
)

// keep counts and keeps what has ended, apart from the goroutines that send, so that a slow disk does not delay them at
// once. It withdraws the step where too large a share failed, or where the server is gone.
func (s *activeStep) keep() {
	for f := range s.finished {
		s.count(f.request)
		s.ended.Dataset.Add(f.count)
		idle := min(time.Since(s.unconnectedSince), time.Since(s.lastReceived()))
		switch {
		case s.unconnected >= minEnded && idle >= goneTime: // nothing has connected, and nothing was received
			s.withdraw(runlog.StopUnreachable)
		case s.meter.tooManyFailed(s.step, leastEnded(s.step)):
			s.withdraw(runlog.StopFailureRatio)
		}
		if s.doneErr != nil {
			continue
		}
		if s.doneErr = s.done(f.request); s.doneErr != nil {
			s.withdraw(runlog.StopInterrupted)
		}
	}
}

// count counts a request that has ended. It was attempted when it was admitted, so that a lost one shows.
func (s *activeStep) count(q *runlog.Request) {
	why := q.Reason()
	s.ended.Count(why)
	switch why {
	case "":
		s.meter.Succeeded.Add(1)
	case openai.ReasonCanceled:
		s.meter.Canceled.Add(1)
		return
	default:
		s.meter.Failed.Add(1)
	}
	if !why.Unreached() || q.Trace.Failure.Local {
		s.unconnected = 0
		return
	}
	if s.unconnected++; s.unconnected == 1 {
		s.unconnectedSince = time.Now()
	}
}

// leastEnded is how many requests of a step must have ended before too many can have failed.
func leastEnded(s runlog.Step) int { return max(minEnded, 2*s.Concurrency, 2*s.MaxConcurrency) }

// tooManyFailed reports whether the failure ratio of all machines is above a step's, once least requests have ended.
func (m *Meter) tooManyFailed(s runlog.Step, least int) bool {
	limit, failed := s.MaxFailureRatio, m.Failed.Load()
	ended := failed + m.Succeeded.Load()
	return limit > 0 && ended >= int64(least) && float64(failed)/float64(ended) > limit
}

// end closes the account. It fails where a request was lost or counted twice, which is a bug.
func (s *activeStep) end() (runlog.StepEnd, error) {
	var promptErr, lost error
	e := s.ended
	e.Step, e.Ended = s.step.Index, s.clock.now()
	e.TurnsNotSent, e.AtModelLength = int(s.turnsNotSent.Load()), int(s.atModelLength.Load())
	e.Stop = runlog.StopInterrupted
	cause := cmp.Or(context.Cause(s.inFlight), context.Cause(s.sending))
	if why, ok := errors.AsType[stopError](cause); ok {
		e.Stop = runlog.Stop(why)
	}
	// What fails behind the last prompt that was needed is no matter of this step.
	if e.Stop == runlog.StopDataset && !errors.Is(s.promptErr, io.EOF) {
		promptErr = fmt.Errorf("taking prompts: %w", s.promptErr)
	}
	if !e.Stop.Early() && s.share == (Share{}) && s.meter.tooManyFailed(s.step, 0) { // of a step too short to stop before
		e.Stop = runlog.StopFailureRatio
	}
	if e.Attempted = int(s.meter.Attempted.Int64.Load()); e.Attempted != s.ended.Attempted {
		lost = fmt.Errorf("accounting: %d requests were attempted, but %d succeeded, %d failed and %d were canceled",
			e.Attempted, e.Succeeded, s.ended.Failures(), e.Canceled)
	}
	return e, errors.Join(s.doneErr, promptErr, lost)
}
