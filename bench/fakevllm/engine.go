package fakevllm

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

type finishReason string

const (
	finishStop   finishReason = "stop"
	finishLength finishReason = "length"
	finishAbort  finishReason = "abort"
)

const (
	maxModelLen = 32768  // tokens of prompt and answer
	cacheTokens = 262144 // that count as a full cache; it bounds nothing
)

// sequence is one request in the engine. The first group is set before submit
// and constant from then on; the last belongs to the engine until done closes.
type sequence struct {
	prompt  int          // tokens, ≥ 1
	limit   int          // output tokens it ends after, ≥ 1
	reason  finishReason // why it ends there
	seed    uint64       // of its text
	private bool         // a background user's, nobody reads it

	wake      chan struct{} // holds one token when there is progress
	done      chan struct{} // closed when the sequence is over
	produced  atomic.Int64  // output tokens so far; final once done is closed
	cancelled atomic.Bool

	arrived, scheduled, first, last time.Time
	ended                           finishReason
}

func newSequence(prompt, limit int, reason finishReason) *sequence {
	return &sequence{prompt: prompt, limit: limit, reason: reason, wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// engine is the batch: one goroutine, run, moves every running sequence on by a
// token per step.
type engine struct {
	cfg     Config
	met     *metrics
	slow    atomic.Bool
	penalty atomic.Uint64 // bits of the factor of every step, 0 for none
	kick    chan struct{} // holds one token when there may be work
	stopped chan struct{} // closed when run is over

	mu                 sync.Mutex
	over               bool
	waiting, running   []*sequence
	submitted          uint64
	background, wanted int
}

func newEngine(cfg Config) *engine {
	e := &engine{cfg: cfg, kick: make(chan struct{}, 1), stopped: make(chan struct{})}
	e.met = newMetrics(cfg.Model, e.load)
	return e
}

// submit queues a sequence; it fails once the engine has stopped.
func (e *engine) submit(q *sequence) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return errors.New("engine is not running")
	}
	q.arrived = time.Now()
	e.waiting = append(e.waiting, q)
	signal(e.kick)
	return nil
}

// cancel takes a sequence out at the next step; it may be over already.
func (e *engine) cancel(q *sequence) {
	q.cancelled.Store(true)
	signal(e.kick)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// maxCatchUp bounds how far late steps are made good, so that a timer's
// lateness does not add up and a long pause does not end in a burst.
const maxCatchUp = 20 * time.Millisecond

// run steps until ctx ends; then every sequence is aborted.
func (e *engine) run(ctx context.Context) {
	defer e.stop()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	start := time.Now()
	due := start
	for ctx.Err() == nil {
		now := time.Now()
		length := e.begin(now, now.Sub(start))
		if length == 0 {
			e.idle(ctx, timer)
			due = time.Now()
			continue
		}
		if now.Sub(due) > maxCatchUp {
			due = now
		}
		due = due.Add(length)
		timer.Reset(time.Until(due))
		select {
		case <-timer.C:
			e.finish(time.Now())
		case <-ctx.Done():
		}
	}
}

// idle waits for work, or for the background wave to rise, or for the end.
func (e *engine) idle(ctx context.Context, timer *time.Timer) {
	var tick <-chan time.Time
	if e.cfg.BackgroundUsers > 0 {
		timer.Reset(max(e.cfg.BackgroundPeriod/500, time.Millisecond))
		tick = timer.C
	}
	select {
	case <-e.kick:
	case <-tick:
	case <-ctx.Done():
	}
}

// begin admits what fits and returns how long the step lasts, 0 if there is
// nothing to do.
func (e *engine) begin(now time.Time, elapsed time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fillBackground(now, elapsed)
	e.waiting = slices.DeleteFunc(e.waiting, e.cancelled)
	e.running = slices.DeleteFunc(e.running, e.cancelled)
	prefill := e.admit(now)
	if len(e.running) == 0 {
		return 0
	}
	seconds := e.cfg.StepBase.Seconds() + e.cfg.StepPerSequence.Seconds()*float64(len(e.running)) +
		float64(prefill)/e.cfg.PrefillTokensPerSecond
	if e.slow.Load() {
		seconds *= slowFactor
	}
	if penalty := math.Float64frombits(e.penalty.Load()); penalty > 0 {
		seconds *= penalty
	}
	return max(time.Duration(math.Round(seconds/e.cfg.Speed*float64(time.Second))), 1)
}

// cancelled ends a sequence that was cancelled, and reports whether it was.
func (e *engine) cancelled(q *sequence) bool {
	gone := q.cancelled.Load()
	if gone {
		e.end(q, finishAbort)
	}
	return gone
}

// admit moves waiting sequences into the batch, in order of arrival, and returns
// the prompt tokens to compute for them.
func (e *engine) admit(now time.Time) (prefill int) {
	for len(e.waiting) > 0 && len(e.running) < e.cfg.MaxNumSeqs {
		q := e.waiting[0]
		prefill += q.prompt
		q.scheduled = now
		e.met.admitted(q)
		e.running = append(e.running, q)
		e.waiting = e.waiting[1:]
	}
	return prefill
}

// finish ends a step: every running sequence has one token more, and those that are
// complete leave.
func (e *engine) finish(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = slices.DeleteFunc(e.running, func(q *sequence) bool { return e.cancelled(q) || e.token(q, now) })
}

// token gives a sequence its next token and reports whether it was the last.
func (e *engine) token(q *sequence, now time.Time) bool {
	n := int(q.produced.Add(1))
	if n == 1 {
		q.first = now
	}
	e.met.token(q, n, now)
	q.last = now
	if n >= q.limit {
		e.end(q, q.reason)
		return true
	}
	signal(q.wake)
	return false
}

func (e *engine) end(q *sequence, reason finishReason) {
	q.ended = reason
	if q.private {
		e.background--
	}
	e.met.ended(q)
	close(q.done)
}

// stop aborts what is left and refuses what comes.
func (e *engine) stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.over = true
	for _, q := range append(e.running, e.waiting...) {
		e.end(q, finishAbort)
	}
	e.running, e.waiting = nil, nil
	close(e.stopped)
}

// fill writes down what became of a sequence, which may still be in the batch.
func (e *engine) fill(record *RequestRecord, q *sequence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	record.PromptTokens = q.prompt
	record.Scheduled, record.First, record.Last = q.scheduled, q.first, q.last
	record.Finish = string(q.ended)
	if q.ended == "" {
		record.Finish = string(finishAbort) // at the next step
	}
}

// backgroundPrompt is the prompt of a background user, in tokens.
const backgroundPrompt = 40

// fillBackground lets as many background users ask as the wave wants; when it
// falls, users leave after their answer.
func (e *engine) fillBackground(now time.Time, elapsed time.Duration) {
	e.wanted = wave(e.cfg.BackgroundUsers, e.cfg.BackgroundPeriod, elapsed)
	for e.background < e.wanted {
		e.submitted++
		q := newSequence(backgroundPrompt, naturalLength(e.cfg, e.submitted), finishStop)
		q.private, q.arrived = true, now
		e.background++
		e.waiting = append(e.waiting, q)
	}
}

// wave swings between 0 and crest, starting at 0.
func wave(crest int, period, elapsed time.Duration) int {
	turn := 2 * math.Pi * elapsed.Seconds() / period.Seconds()
	return int(math.Round(float64(crest) * (1 - math.Cos(turn)) / 2))
}

// natural draws the length of the next answer, and its number.
func (e *engine) natural() (tokens int, number uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.submitted++
	return naturalLength(e.cfg, e.submitted), e.submitted
}

// naturalLength is the length of the n-th answer. The quantiles walk by the
// golden ratio, which visits the distribution evenly: a short run has its mean too.
func naturalLength(cfg Config, n uint64) int {
	u := float64(n*0x9e3779b97f4a7c15>>11) / (1 << 53)
	u = min(max(u, 1e-6), 1-1e-6)
	z := math.Sqrt2 * math.Erfinv(2*u-1)
	return max(1, int(math.Round(float64(cfg.MeanOutputTokens)*(1+cfg.OutputSpread*z))))
}

func (e *engine) load() Load {
	e.mu.Lock()
	defer e.mu.Unlock()
	held := 0
	for _, q := range e.running {
		held += q.prompt + int(q.produced.Load())
	}
	return Load{
		Running: len(e.running), Waiting: len(e.waiting), BackgroundUsers: e.wanted,
		KVCacheUsage: min(1, float64(held)/cacheTokens),
	}
}
