package result

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// none is a duration that a request does not have.
const none = -1

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
		ttft: orNone(openai.TTFT(t)), firstAnswer: orNone(openai.FirstAnswer(t)),
		tpot: orNone(openai.TPOT(t)), e2e: orNone(openai.E2E(t)), setup: none,
		prompt: promptTokens(r), chunks: len(t.Chunks), failure: reasonOf(t),
	}
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

func orNone(d time.Duration, ok bool) int64 {
	if !ok {
		return none
	}
	return int64(max(0, d))
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

// meets reports whether a successful request met every objective that is set. One that has
// no such sample, such as a TPOT of one token, meets it, as in vLLM. One without any text
// meets none: nobody could read it, however soon it was over.
func (q *request) meets(o Objectives) bool {
	met := func(d int64, objective time.Duration) bool { return objective <= 0 || d <= int64(objective) }
	return q.chunks > 0 && met(q.ttft, o.TTFT) && met(q.tpot, o.TPOT) && met(q.meanITL, o.ITL) && met(q.e2e, o.E2E)
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
