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

// runner runs a step.
type runner struct {
	// send sends one request and returns when it is over, at the latest soon after ctx
	// is done. It is called from many goroutines.
	send func(ctx context.Context, j job) *openai.Trace
	// done takes each request that is over, one call at a time. An error ends the step:
	// what cannot be kept need not be measured.
	done      func(*runlog.Request) error
	meter     *Meter // nil where nobody watches
	seed      uint64 // of the gaps between arrivals
	readAhead int    // prompts, 1024 when 0
}

// job is one request.
type job struct {
	seq     int // in the step, from 0
	prompt  dataset.Prompt
	count   runlog.DatasetCount // of the records up to that prompt since the last one
	planned time.Time
}

// run puts the load of a step on the endpoint and returns when every request that was
// taken up is over and done was called for it. What ends a step, and what is then
// withdrawn or still sent, stands in docs/design.md, "What ends a step".
//
// The errors are those of prompts, if the step came as far as where they fail, and of
// done; and an account that does not add up, which is a bug.
func (r *runner) run(ctx context.Context, step runlog.Step, source dataset.Source) (runlog.StepEnd, error) {
	s := newActiveStep(ctx, r, step)
	defer s.withdraw(errRequests) // lets go of the contexts
	stopWatching := context.AfterFunc(ctx, func() { s.withdraw(errInterrupted) })
	defer stopWatching()

	var beside sync.WaitGroup
	beside.Go(func() { s.prompts.fill(s.sending, source, step.Requests) })
	beside.Go(s.keep)
	select {
	case <-s.prompts.ready:
	case <-s.sending.Done():
	}
	s.start = time.Now()
	if step.Arrival == runlog.ArrivalClosed {
		s.closedLoop()
	} else {
		s.openLoop()
	}
	s.requests.Wait()
	close(s.over)
	s.stopSending(s.lastCause()) // ends the reading of prompts where nothing else did
	beside.Wait()
	return s.end()
}

// activeStep is one step while it runs.
type activeStep struct {
	*runner
	step    runlog.Step
	start   time.Time
	prompts *promptQueue
	account account
	// sending is done when no more requests are to be sent, inFlight when those in
	// flight are withdrawn; their causes say why.
	sending, inFlight         context.Context
	stopSending, stopInFlight context.CancelCauseFunc

	turns    *turns // nil without a bound on concurrency
	requests sync.WaitGroup
	sent     atomic.Int64
	total    atomic.Int64          // how many are sent in all, 0 while it is not known
	atEnd    atomic.Pointer[error] // what ends the sending with the last of them, errRequests while nil; set before total
	over     chan finished
	doneErr  error // the first of done
}

// finished is a request that is over.
type finished struct {
	job
	request *runlog.Request
}

func newActiveStep(ctx context.Context, r *runner, step runlog.Step) *activeStep {
	s := &activeStep{runner: r, step: step, prompts: newPromptQueue(r.readAhead), over: make(chan finished, 256)}
	s.meter = cmp.Or(s.meter, new(Meter))
	s.account = account{Meter: s.meter, step: step, failed: make(map[openai.Reason]int)}
	s.total.Store(int64(step.Requests))
	sending, stop := context.WithCancelCause(ctx)
	s.sending, s.stopSending = sending, func(cause error) {
		s.meter.SendingOver.Store(true)
		stop(cause)
	}
	// A deadline of ctx is an interruption and must not look like a timeout.
	s.inFlight, s.stopInFlight = context.WithCancelCause(context.WithoutCancel(ctx))
	if step.MaxConcurrency > 0 {
		s.turns = &turns{free: step.MaxConcurrency}
	}
	return s
}

// withdraw stops the sending and takes back what is in flight.
func (s *activeStep) withdraw(cause error) {
	s.stopSending(cause)
	s.stopInFlight(cause)
}

// openLoop takes up each request when it is due.
func (s *activeStep) openLoop() {
	due := schedule(s.step, s.seed)
	for {
		j, ok := s.prompts.next(s.sending)
		if !ok {
			s.promptsEnded()
			return
		}
		at := j.prompt.At // of a replay
		if s.step.Arrival != runlog.ArrivalReplay {
			at = due()
		}
		if s.step.Duration > 0 && at >= s.step.Duration {
			sleepUntil(s.sending, s.start.Add(s.step.Duration))
			s.endWith(errDuration)
			return
		}
		j.planned = s.start.Add(at)
		sleepUntil(s.sending, j.planned)
		if s.sending.Err() != nil {
			return
		}
		turn := s.takeUp()
		s.requests.Go(func() { s.request(j, turn) })
	}
}

// closedLoop lets every user send until the sending ends. A user has no way to end
// before: whatever becomes of a request, it goes on with the next.
func (s *activeStep) closedLoop() {
	if s.step.Duration > 0 {
		up := time.AfterFunc(time.Until(s.start.Add(s.step.Duration)), func() { s.stopSending(errDuration) })
		defer up.Stop()
	}
	users := s.step.Concurrency
	if s.step.Requests > 0 {
		users = min(users, s.step.Requests) // each takes a request when it starts
	}
	for n := range users {
		share := float64(n) / float64(s.step.Concurrency)
		first := s.start.Add(time.Duration(share * float64(s.step.RampUp)))
		sleepUntil(s.sending, first)
		if s.sending.Err() != nil {
			break
		}
		s.requests.Go(func() { s.user(first) })
	}
	s.requests.Wait()
}

// user sends one request after the other from the given instant on.
func (s *activeStep) user(free time.Time) {
	for s.sending.Err() == nil {
		j, ok := s.prompts.next(s.sending)
		if !ok {
			s.promptsEnded()
			return
		}
		j.planned = free
		free = s.request(j, s.takeUp())
	}
}

// takeUp counts a request as attempted and takes its place among those that wait for
// their turn.
func (s *activeStep) takeUp() <-chan struct{} {
	s.meter.Attempted.Add(1)
	if s.turns == nil {
		return nil
	}
	return s.turns.join()
}

// request sends one request when its turn comes, nil for at once, and returns when it
// was over.
func (s *activeStep) request(j job, turn <-chan struct{}) time.Time {
	queued, ok := s.await(turn)
	if !ok {
		failure := &openai.Failure{Reason: openai.ReasonCanceled, Detail: "withdrawn before it was sent"}
		s.handOn(j, &runlog.Request{Never: true, Trace: openai.Trace{Failure: failure}})
		return time.Now()
	}
	if s.sent.Add(1) == s.total.Load() {
		s.stopSending(s.lastCause())
	}
	s.meter.sent(time.Now(), s.step.Level())
	t := s.send(s.inFlight, j)
	over := time.Now()
	s.meter.InFlight.Add(-1)
	if s.turns != nil {
		s.turns.leave()
	}
	s.handOn(j, &runlog.Request{Queued: queued, Trace: *t})
	return over
}

// await waits for a turn, and returns for how long. It is false when the sending ended
// before.
func (s *activeStep) await(turn <-chan struct{}) (time.Duration, bool) {
	if turn == nil {
		return 0, true
	}
	since := time.Now()
	s.meter.Queued.Add(1)
	defer s.meter.Queued.Add(-1)
	select {
	case <-turn:
	case <-s.sending.Done():
	}
	return time.Since(since), s.sending.Err() == nil
}

// handOn completes the record of a request that is over.
func (s *activeStep) handOn(j job, q *runlog.Request) {
	q.Step, q.Seq = s.step.Index, j.seq
	q.ExpectedTokens, q.AimedTokens = j.prompt.ExpectedTokens, j.prompt.AimedTokens
	q.Trace.Planned = j.planned
	s.over <- finished{j, q}
}

// promptsEnded ends the sending where there are no more prompts. What waits for its turn
// is sent yet where they came to an end, and withdrawn where they failed.
func (s *activeStep) promptsEnded() {
	switch {
	case s.sending.Err() != nil || s.prompts.err == nil: // withdrawn, or all were given out
	case s.prompts.failure() != nil:
		s.stopSending(errDataset)
	default:
		s.endWith(errDataset)
	}
}

// lastCause is what ends the sending with the last request.
func (s *activeStep) lastCause() error {
	if cause := s.atEnd.Load(); cause != nil {
		return *cause
	}
	return errRequests
}

// endWith ends the sending when all that was taken up is sent. Nothing more is. Each user
// that finds no more prompts calls it.
func (s *activeStep) endWith(cause error) {
	s.atEnd.Store(&cause)
	s.total.Store(s.meter.Attempted.Load())
	if s.sent.Load() == s.total.Load() {
		s.stopSending(cause)
	}
}

// keep counts and keeps what is over, apart from the goroutines that send, so that
// a slow disk does not delay them at once.
func (s *activeStep) keep() {
	for f := range s.over {
		s.account.end(f.request.Trace.Failure)
		if !f.request.Never {
			addCount(&s.account.dataset, f.count)
		}
		if s.account.unreachable() {
			s.withdraw(errUnreachable)
		}
		if s.account.tooManyFailed(s.account.minSample()) {
			s.withdraw(errFailures)
		}
		if s.doneErr != nil {
			continue
		}
		if err := s.done(f.request); err != nil {
			s.doneErr = fmt.Errorf("keeping traces: %w", err)
			s.withdraw(s.doneErr)
		}
	}
}

// end closes the account.
func (s *activeStep) end() (runlog.StepEnd, error) {
	e, err := s.account.stepEnd()
	// What fails behind the last prompt that was needed is no matter of this step.
	if failure := s.prompts.failure(); failure != nil && errors.Is(context.Cause(s.sending), errDataset) {
		err = errors.Join(fmt.Errorf("taking prompts: %w", failure), err)
	}
	e.Stop = s.stop()
	return e, errors.Join(s.doneErr, err)
}

// stop says what ended the step.
func (s *activeStep) stop() runlog.Stop {
	switch cause := context.Cause(s.inFlight); {
	case errors.Is(cause, errUnreachable):
		return runlog.StopUnreachable
	case errors.Is(cause, errFailures):
		return runlog.StopFailureRatio
	case cause != nil:
		return runlog.StopInterrupted
	case s.account.tooManyFailed(0): // when all were over
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
