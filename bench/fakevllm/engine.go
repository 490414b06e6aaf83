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

// sequence is one request in the engine. The first group is set before submit
// and constant from then on; the last belongs to the engine until done closes.
type sequence struct {
	prompt  int          // tokens, ≥ 1
	blocks  []uint64     // hashes of the prompt's full blocks
	limit   int          // output tokens it ends after, ≥ 1
	reason  finishReason // why it ends there
	stride  int          // steps per token, ≥ 1
	private bool         // a background user's, nobody reads it

	wake      chan struct{} // holds one token when there is progress
	done      chan struct{} // closed when the sequence is over
	produced  atomic.Int64  // output tokens so far; final once done is closed
	cancelled atomic.Bool

	arrived, scheduled, first, last time.Time
	cached, steps                   int
	ended                           finishReason
}

func newSequence(prompt int, blocks []uint64, limit int, reason finishReason) *sequence {
	return &sequence{
		prompt: prompt, blocks: blocks, limit: limit, reason: reason, stride: 1,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// size is the number of tokens the sequence keeps in the cache, one of them for
// the token to come.
func (q *sequence) size() int { return q.prompt + int(q.produced.Load()) + 1 }

// engine is the batch: one goroutine, run, moves every running sequence on by a
// token per step.
type engine struct {
	cfg     Config
	met     *metrics
	slow    func() bool
	penalty atomic.Uint64 // bits of the factor of every step, 0 for none
	kick    chan struct{} // holds one token when there may be work
	stopped chan struct{} // closed when run is over

	mu                 sync.Mutex
	over               bool
	waiting, running   []*sequence
	cache              *prefixCache
	submitted          uint64
	background, wanted int
}

var errStopped = errors.New("engine is not running")

func newEngine(cfg Config, slow func() bool) *engine {
	e := &engine{
		cfg: cfg, slow: slow, kick: make(chan struct{}, 1), stopped: make(chan struct{}),
		cache: newPrefixCache(cfg.KVCacheTokens / blockTokens),
	}
	e.met = newMetrics(cfg.Model, cfg.MaxModelLen, e.load)
	return e
}

// submit queues a sequence; it fails once the engine has stopped.
func (e *engine) submit(q *sequence) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return errStopped
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
			if !e.idle(ctx, timer) {
				return
			}
			due = time.Now()
			continue
		}
		if now.Sub(due) > maxCatchUp {
			due = now
		}
		due = due.Add(length)
		if wait := time.Until(due); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
		e.finish(time.Now())
	}
}

// idle waits for work, or for the background wave to rise, and reports whether ctx goes on.
func (e *engine) idle(ctx context.Context, timer *time.Timer) bool {
	var tick <-chan time.Time
	if e.cfg.BackgroundUsers > 0 {
		timer.Reset(max(e.cfg.BackgroundPeriod/500, time.Millisecond))
		tick = timer.C
	}
	select {
	case <-e.kick:
	case <-tick:
	case <-ctx.Done():
		return false
	}
	return true
}

// begin admits what fits and returns how long the step lasts, 0 if there is
// nothing to do.
func (e *engine) begin(now time.Time, elapsed time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fillBackground(now, elapsed)
	e.sweep()
	prefill := e.admit(now)
	if len(e.running) == 0 {
		return 0
	}
	d := e.cfg.StepBase.Seconds() + e.cfg.StepPerSequence.Seconds()*float64(len(e.running)) +
		float64(prefill)/e.cfg.PrefillTokensPerSecond
	if e.slow() {
		d *= slowFactor
	}
	if penalty := math.Float64frombits(e.penalty.Load()); penalty > 0 {
		d *= penalty
	}
	return max(time.Duration(math.Round(d/e.cfg.Speed*float64(time.Second))), 1)
}

// sweep removes cancelled sequences from the queue and the batch.
func (e *engine) sweep() {
	e.waiting = slices.DeleteFunc(e.waiting, e.cancelled)
	e.running = slices.DeleteFunc(e.running, e.cancelled)
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
func (e *engine) admit(now time.Time) int {
	prefill, used, taken := 0, e.usedBlocks(), 0
	for _, q := range e.waiting {
		need := blocksOf(q.size())
		if len(e.running) == e.cfg.MaxNumSeqs || used+need > e.capacity() {
			break
		}
		used += need
		taken++
		cached := e.cache.use(q.blocks, q.prompt)
		prefill += q.size() - 1 - cached
		if q.scheduled.IsZero() {
			q.scheduled, q.cached = now, cached
			e.met.admitted(q)
		}
		e.running = append(e.running, q)
	}
	e.waiting = slices.Delete(e.waiting, 0, taken)
	return prefill
}

func (e *engine) capacity() int { return e.cfg.KVCacheTokens / blockTokens }

func (e *engine) usedBlocks() int {
	used := 0
	for _, q := range e.running {
		used += blocksOf(q.size())
	}
	return used
}

// finish ends a step: every running sequence has one token more, and those that are
// complete leave.
func (e *engine) finish(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = slices.DeleteFunc(e.running, func(q *sequence) bool {
		if e.cancelled(q) {
			return true
		}
		q.steps++
		return q.steps%q.stride == 0 && e.token(q, now)
	})
	e.preempt()
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

// preempt sends the latest arrivals back to the head of the queue while the
// cache is too small for the batch; they will prefill all they had again.
func (e *engine) preempt() {
	for used := e.usedBlocks(); used > e.capacity(); {
		last := len(e.running) - 1
		q := e.running[last]
		e.running = slices.Delete(e.running, last, last+1)
		e.waiting = slices.Insert(e.waiting, 0, q)
		used -= blocksOf(q.size())
		e.met.preemptions.Inc()
	}
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

// backgroundPrompt is the prompt of a background user, in tokens.
const backgroundPrompt = 40

// fillBackground lets as many background users ask as the wave wants; when it
// falls, users leave after their answer.
func (e *engine) fillBackground(now time.Time, elapsed time.Duration) {
	e.wanted = wave(e.cfg.BackgroundUsers, e.cfg.BackgroundPeriod, elapsed)
	for e.background < e.wanted {
		prompt := min(backgroundPrompt, e.cfg.MaxModelLen-1)
		q := newSequence(prompt, nil, min(e.naturalLocked(), e.cfg.MaxModelLen-prompt), finishStop)
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
	return e.naturalLocked(), e.submitted
}

func (e *engine) naturalLocked() int {
	e.submitted++
	return naturalLength(e.cfg, e.submitted)
}

// naturalLength is the length of the n-th answer. The quantiles walk by the
// golden ratio, which visits the distribution evenly: a short run has its mean too.
func naturalLength(cfg Config, n uint64) int {
	u := float64((mix(cfg.Seed)+n*0x9e3779b97f4a7c15)>>11) / (1 << 53)
	u = min(max(u, 1e-6), 1-1e-6)
	z := math.Sqrt2 * math.Erfinv(2*u-1)
	return max(1, int(math.Round(float64(cfg.MeanOutputTokens)*(1+cfg.OutputSpread*z))))
}

func (e *engine) load() Load {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Load{
		Running: len(e.running), Waiting: len(e.waiting), BackgroundUsers: e.wanted,
		KVCacheUsage: float64(e.usedBlocks()) / float64(e.capacity()),
	}
}
