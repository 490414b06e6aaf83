package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// What ends the sending, or withdraws what is in flight.
var (
	errRequests    = errors.New("all requests were sent")
	errDuration    = errors.New("the time of the step was over")
	errDataset     = errors.New("the dataset was at its end")
	errFailures    = errors.New("too many requests failed")
	errUnreachable = errors.New("the last requests all failed to reach the server")
	errInterrupted = errors.New("the run was interrupted")
)

// Run puts the load of p on the endpoint and returns when every request that was
// taken up is over and Done was called for it. What ends a step, and what is then
// withdrawn or still sent, stands in docs/design.md, "What ends a step".
//
// The errors are those of the plan, with nothing done; of prompts, if the step came
// as far as where they fail, and of Done, with an account of what was; and a sum that
// does not hold, which is a bug. DatasetCount leaves out prompts that were read and
// not sent, but for bad, long and skipped records on the way to them.
func (r *Runner) Run(ctx context.Context, p Plan, prompts dataset.Source) (runlog.StepEnd, error) {
	if err := check(p.Step); err != nil {
		return runlog.StepEnd{}, fmt.Errorf("planning the step: %w", err)
	}
	s := newRun(ctx, r, p)
	defer s.withdraw(errRequests) // lets go of the contexts

	var feeding, watching, keeping sync.WaitGroup
	feeding.Go(func() { s.feed.fill(s.sending, prompts, p.Step.Requests) })
	s.awaitPrompts()
	s.start = time.Now()
	idle := make(chan struct{})
	watching.Go(func() { s.watch(ctx, idle) })
	keeping.Go(s.keep)
	switch {
	case s.sending.Err() != nil: // nothing was due yet
	case p.Step.Arrival == runlog.ArrivalClosed:
		s.closedLoop()
	default:
		s.openLoop(p.Seed)
	}
	close(s.over)
	keeping.Wait()
	close(idle)
	watching.Wait()
	feeding.Wait()
	return s.end()
}

// run is one step while it runs.
type run struct {
	*Runner
	step    runlog.Step
	start   time.Time
	feed    *feed
	account account
	meter   *Meter
	// sending is done when no more requests are to be sent, inFlight when those in
	// flight are withdrawn; their causes say why.
	sending, inFlight         context.Context
	stopSending, stopInFlight context.CancelCauseFunc

	slots     chan struct{} // holds one for each request in flight, nil without a bound
	sent      atomic.Int64
	estimated atomic.Int64 // those sent whose prompt's MaxTokens was estimated
	over      chan *runlog.Request
	doneErr   error // the first of Done
}

func newRun(ctx context.Context, r *Runner, p Plan) *run {
	s := &run{Runner: r, step: p.Step, meter: cmp.Or(r.Meter, new(Meter)), feed: newFeed(p.ReadAhead), over: make(chan *runlog.Request, 256)}
	s.account = account{Meter: s.meter, step: p.Step, failed: make(map[openai.Reason]int)}
	sending, stop := context.WithCancelCause(ctx)
	s.sending, s.stopSending = sending, func(cause error) {
		s.meter.SendingOver.Store(true)
		stop(cause)
	}
	// A deadline of ctx is an interruption and must not look like a timeout.
	s.inFlight, s.stopInFlight = context.WithCancelCause(context.WithoutCancel(ctx))
	if n := p.Step.MaxConcurrency; n > 0 {
		s.slots = make(chan struct{}, n)
	}
	return s
}

// withdraw stops the sending and takes back what is in flight.
func (s *run) withdraw(cause error) {
	s.stopSending(cause)
	s.stopInFlight(cause)
}

// exhausted stops the sending when the feed has ended before the limit.
func (s *run) exhausted() {
	if s.feed.err != nil {
		s.stopSending(errDataset)
	}
}

// awaitPrompts waits until prompts are read ahead, so that no request is late for
// want of one.
func (s *run) awaitPrompts() {
	select {
	case ok := <-s.feed.ready:
		if !ok {
			s.exhausted()
		}
	case <-s.sending.Done():
	}
}

// watch acts on the user's wish and, for a closed loop, on the time: an open one
// still sends what was due by then.
func (s *run) watch(ctx context.Context, idle <-chan struct{}) {
	var up <-chan time.Time
	if s.step.Duration > 0 && s.step.Arrival == runlog.ArrivalClosed {
		timer := time.NewTimer(time.Until(s.start.Add(s.step.Duration)))
		defer timer.Stop()
		up = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			s.withdraw(errInterrupted)
			return
		case <-up:
			s.stopSending(errDuration)
		case <-idle:
			return
		}
	}
}

// request sends one request, hands it on, and returns when it was over.
func (s *run) request(j Job, queued time.Duration) time.Time {
	if s.sent.Add(1) == int64(s.step.Requests) {
		s.stopSending(errRequests)
	}
	if j.Prompt.Estimated {
		s.estimated.Add(1)
	}
	s.meter.sent(time.Now(), s.step.Level())
	t := s.Send(s.inFlight, j)
	over := time.Now()
	s.meter.InFlight.Add(-1)
	if s.slots != nil {
		<-s.slots
	}
	s.handOn(j, &runlog.Request{Queued: queued, Trace: *t})
	return over
}

// unsent hands on a request that was taken up and withdrawn before it was sent.
func (s *run) unsent(j Job) {
	failure := &openai.Failure{Reason: openai.ReasonCanceled, Detail: "withdrawn before it was sent"}
	s.handOn(j, &runlog.Request{Never: true, Trace: openai.Trace{Failure: failure}})
}

// handOn completes the record of a request that is over.
func (s *run) handOn(j Job, q *runlog.Request) {
	q.Step, q.Seq = s.step.Index, j.Seq
	q.ExpectedTokens, q.AimedTokens = j.Prompt.ExpectedTokens, j.Prompt.AimedTokens
	q.Trace.Planned = j.Planned
	s.over <- q
}

// keep counts and keeps what is over, apart from the goroutines that send, so that
// a slow disk does not delay them at once.
func (s *run) keep() {
	for q := range s.over {
		s.account.end(q.Trace.Failure)
		if s.account.unreachable() {
			s.withdraw(errUnreachable)
		}
		if s.account.ended() >= s.account.minSample() && s.account.tooManyFailed() {
			s.withdraw(errFailures)
		}
		if s.doneErr != nil {
			continue
		}
		if err := s.Done(q); err != nil {
			s.doneErr = fmt.Errorf("keeping traces: %w", err)
			s.withdraw(s.doneErr)
		}
	}
}

// end closes the account.
func (s *run) end() (runlog.StepEnd, error) {
	e := runlog.StepEnd{Step: s.step.Index, Ended: time.Now(), Dataset: s.feed.took(int(s.sent.Load()))}
	e.Dataset.Estimated = int(s.estimated.Load())
	if e.Dataset.Estimated == 0 {
		e.Dataset.EstimatedWhy = ""
	}
	s.account.fill(&e)
	err := s.account.check()
	// What fails behind the last prompt that was needed is no matter of this step.
	if failure := s.feed.failure(); failure != nil && errors.Is(context.Cause(s.sending), errDataset) {
		err = errors.Join(fmt.Errorf("taking prompts: %w", failure), err)
	}
	e.Stop = s.stop()
	return e, errors.Join(s.doneErr, err)
}

// stop says what ended the step.
func (s *run) stop() runlog.Stop {
	switch cause := context.Cause(s.inFlight); {
	case errors.Is(cause, errUnreachable):
		return runlog.StopUnreachable
	case errors.Is(cause, errFailures):
		return runlog.StopFailureRatio
	case cause != nil:
		return runlog.StopInterrupted
	case s.account.tooManyFailed(): // when all were over
		return runlog.StopFailureRatio
	}
	switch cause := context.Cause(s.sending); {
	case errors.Is(cause, errRequests):
		return runlog.StopRequests
	case errors.Is(cause, errDuration):
		return runlog.StopDuration
	case errors.Is(cause, errDataset):
		return runlog.StopDataset
	}
	return runlog.StopInterrupted
}
