package load

import (
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
// taken up is over and Done was called for it.
//
// The users of a closed loop start evenly spread over Step.RampUp, all at once
// when it is 0. A request of theirs is planned for the instant its user became
// free. The rate of an open loop rises in a line from 0 over Step.RampUp; a burst
// and a replay have no ramp-up. The clock starts when the first 1,024 prompts are at
// hand, or all where there are fewer; except in a replay, the first request is due
// then. Requests above
// Step.MaxConcurrency wait in the order in which they were due.
//
// No requests come after Step.Requests, after Step.Duration, at the end of a replay,
// when ctx is done, or when prompts fails. Those of an open loop that were due before
// the end of Step.Duration or of a replay and still wait for their turn are sent, so
// that the step may last longer: were they left out, a server that cannot keep up
// would look as if it could. A burst is due as a whole at its start, whatever
// Step.Duration. Users who wait for their turn when Step.Duration is over withdraw
// their request, unsent.
//
// When ctx is done, all is withdrawn, in flight or waiting; when prompts fails, what
// waits. The step stops, and withdraws all, when more than Step.MaxFailureRatio of the
// requests that ended by themselves failed: not before 20 of them are over and two
// for each user or place under the bound, or all. It stops so too, with or without
// such a ratio, when as many that ended one after the other failed and none came as
// far as the server ([openai.ReasonDNS], [openai.ReasonConnect], [openai.ReasonTLS]).
// A replay that falls behind its bound reads some 1,000 requests ahead: when it is
// withdrawn, those due beyond are not attempted.
//
// The errors are those of the plan, with nothing done; of prompts, if the step came
// as far as where they fail, and of Done, with an account of what was; and a sum that does not hold, which is a bug. DatasetCount
// leaves out prompts that were read and not sent, but for bad, long and skipped records
// on the way to them.
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
	send func(context.Context, Job) *openai.Trace
	done func(*runlog.Request) error

	step    runlog.Step
	start   time.Time
	feed    *feed
	account account
	meter   *Meter
	// sending is done when no more requests are to be sent, flying when those in
	// flight are withdrawn; their causes say why.
	sending, flying         context.Context
	stopSending, stopFlying context.CancelCauseFunc

	slots chan struct{} // holds one for each request in flight, nil without a bound
	sent  atomic.Int64
	// estimated are those sent whose prompt's MaxTokens was estimated.
	estimated atomic.Int64
	over      chan *runlog.Request
	lost      error // of done
}

func newRun(ctx context.Context, r *Runner, p Plan) *run {
	step := p.Step
	s := &run{send: r.Send, done: r.Done, step: step, meter: r.Meter, feed: newFeed(p.ReadAhead)}
	if s.meter == nil {
		s.meter = new(Meter)
	}
	s.meter.reset()
	s.account = account{meter: s.meter, step: step, failed: make(map[openai.Reason]int)}
	sending, stop := context.WithCancelCause(ctx)
	s.sending, s.stopSending = sending, func(cause error) {
		s.meter.SendingOver.Store(true)
		stop(cause)
	}
	// A deadline of ctx is an interruption and must not look like a timeout.
	s.flying, s.stopFlying = context.WithCancelCause(context.WithoutCancel(ctx))
	s.over = make(chan *runlog.Request, 256)
	if step.MaxConcurrency > 0 {
		s.slots = make(chan struct{}, step.MaxConcurrency)
	}
	return s
}

// withdraw stops the sending and takes back what is in flight.
func (s *run) withdraw(cause error) {
	s.stopSending(cause)
	s.stopFlying(cause)
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

// fly sends one request, hands it on, and returns when it was over.
func (s *run) fly(j Job, queued time.Duration) time.Time {
	if s.sent.Add(1) == int64(s.step.Requests) {
		s.stopSending(errRequests)
	}
	if j.Prompt.Estimated {
		s.estimated.Add(1)
	}
	s.meter.sent(time.Now(), s.step.Level())
	t := s.send(s.flying, j)
	over := time.Now()
	s.meter.InFlight.Add(-1)
	if s.slots != nil {
		<-s.slots
	}
	q := &runlog.Request{
		Step:           s.step.Index,
		Seq:            j.Seq,
		Queued:         queued,
		ExpectedTokens: j.Prompt.ExpectedTokens,
		AimedTokens:    j.Prompt.AimedTokens,
		Trace:          *t,
	}
	q.Trace.Planned = j.Planned
	s.over <- q
	return over
}

// never hands on a request that was taken up and withdrawn before it was sent.
func (s *run) never(seq int, planned time.Time, prompt *dataset.Prompt) {
	q := &runlog.Request{Step: s.step.Index, Seq: seq, Never: true}
	if prompt != nil {
		q.ExpectedTokens, q.AimedTokens = prompt.ExpectedTokens, prompt.AimedTokens
	}
	q.Trace.Planned = planned
	q.Trace.Failure = &openai.Failure{Reason: openai.ReasonCanceled, Detail: "withdrawn before it was sent"}
	s.over <- q
}

// keep counts and keeps what is over, apart from the goroutines that send, so that
// a slow disk does not delay them at once.
func (s *run) keep() {
	for q := range s.over {
		s.account.over(q.Trace.Failure)
		if s.account.unreachable() {
			s.withdraw(errUnreachable)
		}
		if s.account.enough() && s.account.tooMany() {
			s.withdraw(errFailures)
		}
		if s.lost != nil {
			continue
		}
		if err := s.done(q); err != nil {
			s.lost = fmt.Errorf("keeping traces: %w", err)
			s.withdraw(s.lost)
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
	return e, errors.Join(s.lost, err)
}

// stop says what ended the step.
func (s *run) stop() runlog.Stop {
	switch cause := context.Cause(s.flying); {
	case errors.Is(cause, errUnreachable):
		return runlog.StopUnreachable
	case errors.Is(cause, errFailures):
		return runlog.StopFailureRatio
	case cause != nil:
		return runlog.StopInterrupted
	case s.account.tooMany(): // when all were over
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
