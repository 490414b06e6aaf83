package fakevllm

import (
	"container/list"
	"context"
	"hash/fnv"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// The reasons for which an answer ends.
const (
	finishStop   = "stop"
	finishLength = "length"
	finishAbort  = "abort" // the client has gone
)

const (
	maxModelLen = 32768  // tokens of prompt and answer
	cacheTokens = 262144 // that count as a full cache; it bounds nothing
)

// sequence is one request in the engine. The first group is constant, the last the engine's.
type sequence struct {
	prompt     int      // tokens, ≥ 1
	tokens     []string // of the prompt, nil of a background user's
	limit      int      // output tokens it ends after, ≥ 1
	finish     string   // why it ends there
	background bool     // of a background user, nobody reads it

	wake chan struct{} // holds one element when there is progress
	made atomic.Int64  // output tokens so far

	cached                          atomic.Int64 // tokens of the prompt that the prefix cache held
	arrived, scheduled, first, last time.Time
}

func newSequence(prompt, limit int, finish string) *sequence {
	return &sequence{prompt: prompt, limit: limit, finish: finish, wake: make(chan struct{}, 1)}
}

// engine is the batch: Run moves every running sequence on by a token per step.
type engine struct {
	cfg     Config
	met     *metrics
	cache   *prefixCache  // nil for none
	answers atomic.Uint64 // whose length was drawn
	kick    chan struct{} // holds one element when there may be work
	stopped chan struct{} // closed when Run has returned

	mu               sync.Mutex
	fault            Fault   // of requests that name none
	penalty          float64 // factor of every step
	waiting, running []*sequence
	background       int // users with a request
}

func newEngine(cfg Config) *engine {
	e := &engine{cfg: cfg, fault: FaultNone, penalty: 1, kick: make(chan struct{}, 1), stopped: make(chan struct{})}
	e.met = newMetrics(cfg, e.Load)
	if cfg.CacheBlocks > 0 {
		e.cache = &prefixCache{block: cfg.BlockSize, capacity: cfg.CacheBlocks, blocks: map[uint64]*list.Element{}, used: list.New()}
	}
	return e
}

func (e *engine) submit(q *sequence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q.arrived = time.Now()
	e.waiting = append(e.waiting, q)
	signal(e.kick)
}

// cancel takes a sequence out, where it is not complete yet.
func (e *engine) cancel(q *sequence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := len(e.waiting) + len(e.running)
	same := func(other *sequence) bool { return other == q }
	e.waiting = slices.DeleteFunc(e.waiting, same)
	e.running = slices.DeleteFunc(e.running, same)
	if len(e.waiting)+len(e.running) < before {
		e.met.finished[finishAbort].Inc()
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

const (
	maxCatchUp = 20 * time.Millisecond // of late steps: a long pause is not to end in a burst
	idlePoll   = 20 * time.Millisecond // how often an idle engine looks for background users
)

// Run is the engine; call it once. When ctx ends it cuts off every request in it.
func (e *engine) Run(ctx context.Context) {
	defer close(e.stopped)
	start := time.Now()
	due := start
	idle := time.Duration(math.MaxInt64) // until somebody asks
	if e.cfg.BackgroundUsers > 0 {
		idle = idlePoll
	}
	for ctx.Err() == nil {
		now := time.Now()
		length := e.begin(now, now.Sub(start))
		if length == 0 || now.Sub(due) > maxCatchUp {
			due = now
		}
		due = due.Add(length)
		if length == 0 {
			select {
			case <-e.kick:
			case <-time.After(idle):
			case <-ctx.Done():
			}
			continue
		}
		select {
		case <-time.After(time.Until(due)):
			e.end(time.Now())
		case <-ctx.Done():
		}
	}
}

// begin admits what fits, in order of arrival, and returns how long the step lasts, 0 if there is nothing to do.
func (e *engine) begin(now time.Time, elapsed time.Duration) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fault == FaultFreeze {
		return 0
	}
	e.fillBackground(now, elapsed)
	prefill := 0
	for len(e.waiting) > 0 && len(e.running) < e.cfg.MaxNumSeqs {
		q := e.waiting[0]
		q.scheduled = now
		cached := 0 // which needs no prefill
		if e.cache != nil && q.tokens != nil {
			cached = e.cache.take(q.tokens)
		}
		q.cached.Store(int64(cached))
		e.met.promptTokens.Add(float64(q.prompt))
		e.met.cacheQueries.Add(float64(q.prompt))
		e.met.cacheHits.Add(float64(cached))
		prefill += q.prompt - cached
		e.running = append(e.running, q)
		e.waiting = e.waiting[1:]
	}
	if len(e.running) == 0 {
		return 0
	}
	seconds := e.cfg.StepBase.Seconds() + e.cfg.StepPerSequence.Seconds()*float64(len(e.running)) +
		float64(prefill)/e.cfg.PrefillTokensPerSecond
	if e.fault == FaultSlow {
		seconds *= slowFactor
	}
	return max(time.Duration(math.Round(seconds*e.penalty/e.cfg.Speed*float64(time.Second))), 1)
}

// end ends a step: every running sequence has one token more, and those that are complete leave.
func (e *engine) end(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running = slices.DeleteFunc(e.running, func(q *sequence) (complete bool) {
		n := int(q.made.Load()) + 1
		e.met.generatedTokens.Inc()
		if n == 1 {
			q.first = now
			e.met.firstToken.Observe(now.Sub(q.arrived).Seconds())
		} else {
			e.met.interToken.Observe(now.Sub(q.last).Seconds())
		}
		q.last = now
		complete = n >= q.limit
		if complete {
			e.met.finished[q.finish].Inc()
			e.met.e2e.Observe(now.Sub(q.arrived).Seconds())
			e.met.queued.Observe(q.scheduled.Sub(q.arrived).Seconds())
			e.met.requestPerToken.Observe(now.Sub(q.first).Seconds() / float64(max(1, n-1))) // 0 for a single token, as vLLM has it
			if q.background {
				e.background--
			}
			if e.cache != nil && q.tokens != nil { // the last token was not computed on
				e.cache.hold(e.cache.hashes(append(q.tokens, answerTokens(0, n-1)...)))
			}
		}
		q.made.Store(int64(n))
		signal(q.wake)
		return complete
	})
}

const backgroundPrompt = 40 // tokens of a background user's prompt

// fillBackground lets as many background users ask as the wave wants; when it falls, they leave after their answer.
func (e *engine) fillBackground(now time.Time, elapsed time.Duration) {
	turn := 2 * math.Pi * elapsed.Seconds() / e.cfg.BackgroundPeriod.Seconds()
	wanted := int(math.Round(float64(e.cfg.BackgroundUsers) * (1 - math.Cos(turn)) / 2))
	for ; e.background < wanted; e.background++ {
		q := newSequence(backgroundPrompt, e.naturalLength(), finishStop)
		q.background, q.arrived = true, now
		e.waiting = append(e.waiting, q)
	}
}

// naturalLength draws the length of the next answer, from 0.3 to 1.7 times the mean. The golden
// ratio visits that evenly, so a short run has its mean too.
func (e *engine) naturalLength() int {
	_, u := math.Modf(float64(e.answers.Add(1)) * math.Phi)
	return max(1, int(math.Round(float64(e.cfg.MeanOutputTokens)*(0.3+1.4*u))))
}

// Load is the engine's present state.
func (e *engine) Load() Load {
	e.mu.Lock()
	defer e.mu.Unlock()
	held := 0
	for _, q := range e.running {
		held += q.prompt + int(q.made.Load())
	}
	return Load{Running: len(e.running), Waiting: len(e.waiting), KVCacheUsage: min(1, float64(held)/cacheTokens)}
}

// prefixCache holds whole blocks of the prompts and answers that were seen, as vLLM's
// automatic prefix caching does. Where it is full, the least recently used block goes.
type prefixCache struct {
	block, capacity int // tokens of a block, and blocks
	blocks          map[uint64]*list.Element
	used            *list.List // of hashes, the most recently used first
}

// take returns how many tokens of a prompt are held, in whole blocks from its start, and holds
// all its blocks. The last token is always computed, as in vLLM.
func (c *prefixCache) take(tokens []string) (held int) {
	hashes := c.hashes(tokens)
	for _, h := range hashes {
		if c.blocks[h] == nil {
			break
		}
		held++
	}
	c.hold(hashes)
	return min(held, (len(tokens)-1)/c.block) * c.block
}

// hold makes blocks the most recently used, those at the start of a prompt first.
func (c *prefixCache) hold(hashes []uint64) {
	for _, h := range slices.Backward(hashes) {
		if e := c.blocks[h]; e != nil {
			c.used.MoveToFront(e)
			continue
		}
		c.blocks[h] = c.used.PushFront(h)
	}
	for c.used.Len() > c.capacity {
		delete(c.blocks, c.used.Remove(c.used.Back()).(uint64))
	}
}

// hashes are those of the whole blocks, each of all tokens up to its end.
func (c *prefixCache) hashes(tokens []string) []uint64 {
	var all []uint64
	h := fnv.New64a()
	for i, token := range tokens {
		_, _ = h.Write([]byte(token + " ")) // it cannot fail
		if (i+1)%c.block == 0 {
			all = append(all, h.Sum64())
		}
	}
	return all
}
