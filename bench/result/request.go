package result

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// slowFailure is how long a request may take to fail at once. Who waited longer waited for an answer.
const slowFailure = time.Second

// request is what figures need of one request that was sent.
type request struct {
	unit
	turn int // of its conversation, from 1; 0 of none
	// Samples, in nanoseconds: what [openai.TTFT] and the others say, not known where there is none, and below 0 what the
	// request waited that ended before it was there. setup is of a new connection.
	ttft, firstAnswer, tpot, e2e, setup, meanITL Value
	prompt, output                               int // tokens; 0 where nothing tells
	shared, cached                               int // tokens of the prompt: see [Cache]
	failure                                      openai.Reason
	chunks                                       int
	// gaps are the times before each chunk of text, as what is more than the one before, and tokens what each
	// brought, nil where nothing tells: as varints, since a long run has many millions of them.
	gaps, tokens []byte
}

func newRequest(r *runlog.Request) request {
	t := &r.Trace
	start, took := t.Started.UnixNano(), max(0, t.End)
	usage := cmp.Or(t.Usage, &openai.Usage{})
	q := request{
		unit: unit{due: start, start: start, end: start + int64(took), queued: int64(r.Queued)},
		turn: r.Turn, shared: r.SharedTokens, tpot: Unknown(), setup: Unknown(), meanITL: Unknown(),
		prompt: cmp.Or(usage.PromptTokens, r.ExpectedTokens), chunks: len(t.Chunks), failure: r.Reason(),
	}
	if !t.Planned.IsZero() {
		q.due = t.Planned.UnixNano()
	}
	missing := Unknown()
	if waitedInVain(q.failure, took) {
		missing = Value(-max(1, took))
	}
	q.answered = q.failure == "" || missing.Known()
	sample := func(latency time.Duration, ok bool) Value {
		if !ok {
			return missing
		}
		return Value(max(0, latency))
	}
	q.ttft, q.firstAnswer, q.e2e = sample(openai.TTFT(t)), sample(openai.FirstAnswer(t)), sample(openai.E2E(t))
	if tpot, ok := openai.TPOT(t); ok {
		q.tpot = Value(tpot)
	}
	if !t.Reused && t.Phases.Connect > 0 { // it made its own connection
		q.setup = Value(t.Phases.Resolve + t.Phases.Connect + t.Phases.TLS)
	}
	q.output, _ = openai.OutputTokens(t)
	if usage.CachedTokens != nil {
		q.cached = min(*usage.CachedTokens, usage.PromptTokens) // no server is believed that claims more
	}
	if n := len(t.Chunks) - 1; n > 0 {
		q.meanITL = Value((t.Chunks[n].At - t.Chunks[0].At) / time.Duration(n))
	}
	q.keep(t.Chunks)
	return q
}

// waitedInVain reports whether a request failed after somebody had waited for its answer: by a timeout, or as a proxy
// cuts a silent stream. A 4xx is about the request.
func waitedInVain(failure openai.Reason, took time.Duration) bool {
	switch failure {
	case "", openai.ReasonCanceled, openai.ReasonHTTP4xx:
		return false
	case openai.ReasonTimeoutFirstToken, openai.ReasonTimeout, openai.ReasonStalled:
		return true
	}
	return took > slowFailure
}

// keep packs the chunks into gaps and tokens.
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

// meets reports whether a successful request met every objective. One that has no such sample, such as a TPOT of one
// token, meets it, as in vLLM. One without any text meets none.
func (q *request) meets(objectives []openai.Objective) bool {
	for _, o := range objectives {
		latency := map[Key]Value{TTFT: q.ttft, TPOT: q.tpot, ITL: q.meanITL, E2E: q.e2e}[o.Measure]
		if float64(latency) > o.Limit*perSecond {
			return false
		}
	}
	return q.chunks > 0
}
