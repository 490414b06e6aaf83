package load

import (
	"cmp"
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sys/unix"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// job is one request, or a conversation.
type job struct {
	seq     int           // in the step, from 0
	at      time.Duration // when it is due in an open loop, since the step's start
	isLast  bool          // of this machine's requests, as far as that is known
	prompt  dataset.Prompt
	count   runlog.DatasetCount // of the records behind the last prompt, up to this one
	planned time.Time
	shared  int    // tokens of the prompt that began one sent before
	used    int    // tokens of the conversation so far
	session string // of a conversation
	// before is closed when the request that this one continues has ended, ended is called when this one has; nil for none.
	before <-chan struct{}
	ended  func()
}

// stopError is why no more requests are admitted, or why those in flight are withdrawn.
type stopError runlog.Stop

func (e stopError) Error() string { return "the step ended: " + string(e) }

// activeStep is one step while it runs.
type activeStep struct {
	// send sends one request and returns when it has ended, or soon after ctx is done; many call it at once.
	send func(ctx context.Context, j job) *openai.Trace
	// done takes each request that has ended, one call at a time. An error ends the step.
	done         func(*runlog.Request) error
	meter        *Meter
	seed         uint64 // of the gaps between arrivals
	prefixes     *prefixes
	modelLength  int              // bounds a conversation, in tokens, 0 for not known
	clock        *clock           // of the log
	share        Share            // of the step that this machine puts on
	begin        time.Time        // of all machines; zero for as soon as prompts are ready
	lastReceived func() time.Time // when any answer last received bytes
	fineWait     time.Duration    // see [Config]

	step      runlog.Step
	start     time.Time
	jobs      chan job // read ahead
	promptErr error    // why there are no more, to be read when jobs is closed; nil where all were read
	// sending is done when no more requests are admitted, inFlight when those that were
	// are withdrawn; their causes are a stopError.
	sending, inFlight             context.Context
	cancelSending, cancelInFlight context.CancelCauseFunc
	// talking is done when conversations end with the turn that is in flight.
	talking       context.Context
	cancelTalking context.CancelFunc

	slots    *semaphore.Weighted // of requests in flight
	requests sync.WaitGroup
	finished chan finished
	last     sync.Map // by session of a trace a channel that is closed when the last request of it has ended

	ended   runlog.StepEnd // what was counted until now
	doneErr error          // the first of done
	// unconnected are the last failures in a row of requests that never came as far
	// as the server, the first at unconnectedSince.
	unconnected      int
	unconnectedSince time.Time

	turnsNotSent, atModelLength atomic.Int64 // turns, and conversations
}

// run puts the load of a step on the endpoint and returns when every request that was admitted has ended. Its errors are of
// prompts and of done. No request is admitted after the number of requests, the duration, the end of a replay, or an
// interruption; those of an open loop that were due before the end are still sent, so that a server that cannot keep up
// does not look as if it could. The step stops early where too large a share failed, or the server is gone: for 5 s, and
// at least 20 requests, nothing has connected and nothing in flight has received a byte.
func (s *activeStep) run(ctx context.Context, step runlog.Step, source dataset.Source) (runlog.StepEnd, error) {
	s.step, s.jobs, s.finished = step, make(chan job, readAhead), make(chan finished, 256)
	s.slots = semaphore.NewWeighted(cmp.Or(int64(s.share.part(step, step.MaxConcurrency)), math.MaxInt64))
	s.sending, s.cancelSending = context.WithCancelCause(ctx)
	// A deadline of ctx is an interruption and must not look like a timeout.
	s.inFlight, s.cancelInFlight = context.WithCancelCause(context.WithoutCancel(ctx))
	s.talking, s.cancelTalking = context.WithCancel(s.inFlight)
	defer s.withdraw(runlog.StopRequests) // lets go of the contexts
	defer context.AfterFunc(ctx, func() {
		why := stopError(runlog.StopInterrupted)
		_ = errors.As(context.Cause(ctx), &why) // else the user has ended it
		s.withdraw(runlog.Stop(why))
	})()

	var beside sync.WaitGroup
	ready := make(chan struct{})
	beside.Go(func() { s.readPrompts(source, sync.OnceFunc(func() { close(ready) })) })
	beside.Go(s.keep)
	select {
	case <-ready:
	case <-s.sending.Done():
	}
	s.start = time.Now()
	if !s.begin.IsZero() {
		s.start = s.begin
		s.sleepUntilDue(s.start)
	}
	if step.Duration > 0 {
		// Conversations end, and the sending of users. An open loop goes on until all that was due
		// before is admitted, also where this program is late.
		defer time.AfterFunc(time.Until(s.start.Add(step.Duration)), func() {
			if step.Arrival == runlog.ArrivalClosed {
				s.stopSending(runlog.StopDuration) // first: a user whose conversation ends may find the data set at its end
			}
			s.cancelTalking()
		}).Stop()
	}
	if step.Arrival == runlog.ArrivalClosed {
		s.closedLoop()
	} else {
		s.openLoop()
	}
	s.requests.Wait()
	close(s.finished)
	s.stopSending(runlog.StopRequests) // ends the reading of prompts where nothing else did
	beside.Wait()
	return s.end()
}

type finished struct {
	job
	request *runlog.Request
}

// stopSending admits no more requests. Those that wait for a slot are still sent.
func (s *activeStep) stopSending(why runlog.Stop) {
	s.cancelSending(stopError(why))
	s.noteSendingEnded()
}

// withdraw stops the sending, and ends what waits or is in flight.
func (s *activeStep) withdraw(why runlog.Stop) {
	s.stopSending(why)
	s.cancelInFlight(stopError(why))
}

func (s *activeStep) noteSendingEnded() {
	if s.sending.Err() != nil && s.meter.Queued.Int64.Load() == 0 {
		s.meter.SendingEnded.Store(true)
	}
}

// readAhead is how many prompts are made ahead, the first before the clock starts: no request is late for want of one.
const readAhead = 512

// readPrompts reads the prompts of all machines and queues those of this one, until all requests of the step have one,
// the source ends or the sending ends. It calls ready when readAhead prompts are queued, or there are no more.
func (s *activeStep) readPrompts(source dataset.Source, ready func()) {
	defer ready()
	defer close(s.jobs)
	machines := s.share.machines(s.step)
	if s.share.Rank >= machines { // nothing falls to this one
		return
	}
	due, kept, owners := newPacer(s.step, s.seed), 0, map[string]int{}
	for seq := 0; s.step.Requests == 0 || seq < s.step.Requests; seq++ {
		p, err := source.Next(s.sending)
		if err != nil {
			if s.sending.Err() == nil {
				s.promptErr = err
			}
			return
		}
		j := job{seq: seq, at: due(&p), prompt: p, count: source.Count()}
		// Requests go to the machines in turn; one that continues another goes to the machine of that one. Together they
		// send the prompts that one machine would. Which is a machine's last of a trace is not known in advance.
		owner := seq % machines
		if machines > 1 && (p.ID != "" || p.After != "") {
			if known, ok := owners[p.After]; ok && p.After != "" {
				owner = known
			}
			owners[p.ID] = owner
		}
		if owner != s.share.Rank {
			continue
		}
		j.isLast = s.step.Requests > 0 && seq+machines >= s.step.Requests && (machines == 1 || s.step.Arrival != runlog.ArrivalReplay)
		select {
		case s.jobs <- j:
		case <-s.sending.Done():
			return
		}
		if kept++; kept == readAhead {
			ready()
		}
	}
}

func (s *activeStep) openLoop() {
	for {
		j, ok := s.next()
		if !ok {
			return
		}
		if s.step.Duration > 0 && j.at >= s.step.Duration {
			sleepUntil(s.sending, s.start.Add(s.step.Duration))
			s.stopSending(runlog.StopDuration)
			return
		}
		j.planned = s.start.Add(j.at)
		s.sleepUntilDue(j.planned)
		if s.sending.Err() != nil {
			return
		}
		if before, ok := s.last.Load(j.prompt.After); ok {
			j.before = before.(chan struct{})
		}
		if id := j.prompt.ID; id != "" {
			done := make(chan struct{})
			s.last.Store(id, done)
			j.ended = func() {
				s.last.CompareAndDelete(id, done) // a trace may have millions
				close(done)
			}
		}
		s.admit(&j)
		s.requests.Go(func() { _, _ = s.request(j) })
	}
}

// sleepUntilDue returns when a request is due, or when the sending has ended.
func (s *activeStep) sleepUntilDue(at time.Time) {
	sleepUntil(s.sending, at.Add(-s.fineWait))
	for s.fineWait > 0 && s.sending.Err() == nil && time.Now().Before(at) { // again where a signal ended it
		runtime.Gosched() // else the request before might have no processor meanwhile
		_, _ = unix.Select(0, nil, nil, nil, new(unix.NsecToTimeval(int64(time.Until(at)))))
	}
}

func (s *activeStep) users() int { return s.share.part(s.step, s.step.Concurrency) }

// unreachedPause is behind a request that never reached the server: prompts would be used up in no time.
const unreachedPause = 250 * time.Millisecond

// closedLoop lets every user send one request after the other until the sending ends, whatever becomes of them.
func (s *activeStep) closedLoop() {
	for n := range s.users() {
		n = n*s.share.machines(s.step) + s.share.Rank // of all machines' users
		first := s.start.Add(s.step.RampUp * time.Duration(n) / time.Duration(s.step.Concurrency))
		sleepUntil(s.sending, first)
		if s.sending.Err() != nil {
			break
		}
		s.requests.Go(func() {
			for free := first; s.sending.Err() == nil; {
				j, ok := s.next()
				if !ok {
					return
				}
				j.planned = free
				s.admit(&j)
				var failure *openai.Failure
				if free, failure = s.request(j); failure != nil && failure.Reason.Unreached() {
					free = free.Add(unreachedPause)
					sleepUntil(s.sending, free)
				}
			}
		})
	}
}

// next waits for a prompt. The end of the data set ends the sending.
func (s *activeStep) next() (job, bool) {
	select {
	case j, more := <-s.jobs:
		switch {
		case more:
		case s.promptErr != nil:
			s.stopSending(runlog.StopDataset)
		default: // nothing, or no more, falls to this machine
			s.stopSending(runlog.StopRequests)
		}
		return j, more
	case <-s.sending.Done():
		return job{}, false
	}
}

func (s *activeStep) admit(j *job) {
	s.meter.Queued.Add(1)
	s.meter.Attempted.Add(1)
	if j.isLast {
		s.stopSending(runlog.StopRequests)
	}
}

// request waits for the request that this one continues, and then for a slot, and sends it. It returns when it ended and
// how it failed, as it does when it is withdrawn meanwhile.
func (s *activeStep) request(j job) (endedAt time.Time, failure *openai.Failure) {
	if j.ended != nil {
		defer j.ended()
	}
	if j.before != nil {
		select {
		case <-j.before:
			if now := time.Now(); now.After(j.planned) {
				j.planned = now
			}
		case <-s.inFlight.Done():
		}
	}
	var err error
	var queued time.Duration
	if s.inFlight.Err() != nil || !s.slots.TryAcquire(1) {
		since := time.Now()
		err = s.slots.Acquire(s.inFlight, 1) // which fails for what is withdrawn
		queued = time.Since(since)
	}
	if err == nil {
		now := time.Now().UnixNano()
		s.meter.FirstSent.CompareAndSwap(0, now)
		if n := s.meter.InFlight.Add(1); n == int64(s.users()) {
			s.meter.Reached.CompareAndSwap(0, now)
		}
	}
	s.meter.Queued.Add(-1)
	s.noteSendingEnded()
	turns := len(j.prompt.Turns)
	if err != nil {
		s.turnsNotSent.Add(int64(max(0, turns-1)))
		failure = &openai.Failure{Reason: openai.ReasonCanceled, Detail: "withdrawn before it was sent"}
		s.finish(j, &runlog.Request{Never: true, Turn: min(1, turns), Trace: openai.Trace{Failure: failure}})
		return time.Now(), failure
	}
	j.shared = s.prefixes.take(j.prompt.Shared)
	if turns > 0 {
		defer s.freeSlot()
		return s.converse(j, queued)
	}
	t := s.send(s.inFlight, j)
	endedAt = time.Now()
	s.freeSlot()
	s.finish(j, &runlog.Request{Queued: queued, Trace: *t})
	return endedAt, t.Failure
}

func (s *activeStep) freeSlot() {
	s.meter.InFlight.Add(-1)
	s.slots.Release(1)
}

// finish completes the record of a request. Its instants are by the monotonic clock, which a log cannot hold.
func (s *activeStep) finish(j job, q *runlog.Request) {
	q.Step, q.Seq, q.SharedTokens = s.step.Index, j.seq, j.shared
	q.ExpectedTokens, q.AimedTokens = j.prompt.ExpectedTokens, j.prompt.AimedTokens
	q.Trace.Planned = s.clock.at(j.planned)
	if !q.Never {
		q.Trace.Started = s.clock.at(q.Trace.Started)
	}
	s.finished <- finished{j, q}
}

// sleepUntil returns at the given instant, up to 1 ms late, or when ctx is done.
func sleepUntil(ctx context.Context, at time.Time) {
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// clock gives the instants of a log by the monotonic clock: setting the wall clock changes none of them.
type clock struct {
	started time.Time // with a monotonic reading
	logged  time.Time // the same instant as the log has it: by the leader's clock, where there is one
}

func newClock(now time.Time) *clock { return &clock{started: time.Now(), logged: now.Round(0)} }

func (c *clock) at(t time.Time) time.Time { return c.logged.Add(t.Sub(c.started)) }

func (c *clock) now() time.Time { return c.at(time.Now()) }
