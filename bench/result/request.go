package result

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// A sample of a request is a duration or a number of tokens. One that a request was still
// waiting for when it ended is ^waited, below 0; none is one that it does not have.
const none = math.MinInt64

// slowRefusal is how long a server may take to refuse a request as busy (429) or failed (5xx). Who
// waited longer waited for an answer.
const slowRefusal = int64(time.Second)

// request is what figures need of one request that was sent.
type request struct {
	unit
	turn int // of its conversation, from 1; 0 of none
	// What [openai.TTFT] and the others say, or none; setup is of a new connection.
	ttft, firstAnswer, tpot, e2e, setup int64
	meanITL                             int64 // 0 without a gap
	prompt, output                      int   // tokens; 0 where nothing tells
	shared, cached                      int   // tokens of the prompt: see [Cache]
	failure                             openai.Reason
	chunks                              int
	// gaps are the times before each chunk of text, as what is more than the one before, and
	// tokens what each brought, nil where nothing tells, as varints: a long run has many
	// millions of them.
	gaps, tokens []byte
}

func newRequest(r *runlog.Request) request {
	t := &r.Trace
	start := t.Started.UnixNano()
	q := request{
		unit: unit{due: start, start: start, end: start + int64(max(0, t.End)), queued: int64(r.Queued)},
		turn: r.Turn, shared: r.SharedTokens, cached: cachedTokens(t.Usage),
		tpot: orNone(openai.TPOT(t)), setup: none,
		prompt: promptTokens(r), chunks: len(t.Chunks), failure: reasonOf(t),
	}
	missing := int64(none)
	if q.waited() {
		missing = ^int64(max(0, t.End))
	}
	q.ttft, q.firstAnswer, q.e2e = orElse(missing)(openai.TTFT(t)), orElse(missing)(openai.FirstAnswer(t)), orElse(missing)(openai.E2E(t))
	q.answered = q.failure == "" || missing != none
	if !t.Planned.IsZero() {
		q.due = t.Planned.UnixNano()
	}
	if !t.Reused && t.Phases.Connect > 0 { // it made its own connection
		q.setup = int64(t.Phases.Resolve + t.Phases.Connect + t.Phases.TLS)
	}
	q.output, _ = openai.OutputTokens(t)
	if n := len(t.Chunks) - 1; n > 0 {
		q.meanITL = int64((t.Chunks[n].At - t.Chunks[0].At) / time.Duration(n))
	}
	q.keep(t.Chunks)
	return q
}

func (q *request) keep(chunks []openai.Chunk) {
	var before, last time.Duration // the chunk before, and its gap
	for _, c := range chunks {
		gap := c.At - before
		q.gaps = binary.AppendVarint(q.gaps, int64(gap-last))
		before, last = c.At, gap
	}
	q.gaps = bytes.Clone(q.gaps) // not longer than it must be
	if slices.ContainsFunc(chunks, func(c openai.Chunk) bool { return c.Tokens != 0 }) {
		for _, c := range chunks {
			q.tokens = binary.AppendVarint(q.tokens, int64(c.Tokens))
		}
	}
}

// waited reports whether a request ended because it took too long, so that its latencies are
// at least the time until then.
func (q *request) waited() bool {
	switch q.failure {
	case openai.ReasonTimeoutFirstToken, openai.ReasonTimeout, openai.ReasonStalled:
		return true
	case openai.ReasonHTTP429, openai.ReasonHTTP5xx:
		return q.end-q.start > slowRefusal
	}
	return false
}

func orNone(d time.Duration, ok bool) int64 { return orElse(none)(d, ok) }

// orElse is a sample, or missing where there is none.
func orElse(missing int64) func(d time.Duration, ok bool) int64 {
	return func(d time.Duration, ok bool) int64 {
		if !ok {
			return missing
		}
		return int64(max(0, d))
	}
}

// chunkGaps are the time before each chunk of text, of the first since the start, and the
// tokens that it brought, 0 where nothing tells.
func (q *request) chunkGaps() iter.Seq2[int64, int64] {
	return func(yield func(gap, tokens int64) bool) {
		gaps, tokens, gap := q.gaps, q.tokens, int64(0)
		for len(gaps) > 0 {
			more, n := binary.Varint(gaps)
			gap += more
			count, m := binary.Varint(tokens) // 0 of nothing
			gaps, tokens = gaps[n:], tokens[m:]
			if !yield(gap, count) {
				return
			}
		}
	}
}

// meets reports whether a successful request met every objective. One that has
// no such sample, such as a TPOT of one token, meets it, as in vLLM. One without any text
// meets none: nobody could read it, however soon it ended.
func (q *request) meets(objectives []openai.Objective) bool {
	for _, o := range objectives {
		latency := map[Key]int64{TTFT: q.ttft, TPOT: q.tpot, ITL: q.meanITL, E2E: q.e2e}[o.Measure]
		if float64(latency) > o.Limit*perSecond {
			return false
		}
	}
	return q.chunks > 0
}

// reasonOf is why a request failed, empty for one that succeeded.
func reasonOf(t *openai.Trace) openai.Reason {
	if t.Failure == nil {
		return ""
	}
	return t.Failure.Reason
}

// cachedTokens are those that the server's cache served, 0 where it does not tell. No
// server is believed that claims more than there were.
func cachedTokens(u *openai.Usage) int {
	if u == nil || u.CachedTokens == nil {
		return 0
	}
	return min(*u.CachedTokens, u.PromptTokens)
}

// promptTokens is the length of the prompt as the server counted it, else as the
// dataset made it, 0 when neither tells.
func promptTokens(r *runlog.Request) int {
	if u := r.Trace.Usage; u != nil && u.PromptTokens > 0 {
		return u.PromptTokens
	}
	return r.ExpectedTokens
}
