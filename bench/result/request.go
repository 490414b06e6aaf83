package result

import (
	"bytes"
	"encoding/binary"
	"iter"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// none is a duration that a request does not have.
const none = -1

// usualGapBytes is how many a gap of some milliseconds takes.
const usualGapBytes = 4

// request is what figures need of one request that was sent. Instants are nanoseconds
// since 1970.
type request struct {
	due, start, end int64
	queued          int64
	// What [openai.TTFT] and the others say, or none; setup is of a new connection.
	ttft, firstAnswer, tpot, e2e, setup int64
	meanITL                             int64 // 0 without a gap
	prompt, output                      int   // tokens; 0 where nothing tells
	failure                             openai.Reason
	chunks                              int
	// gaps are the times before each chunk of text, as varints of what is more than the one
	// before: a long run has many millions of them. tokens are what each brought, nil where
	// nothing tells.
	gaps, tokens []byte
}

func newRequest(r *runlog.Request) request {
	t := &r.Trace
	start := t.Started.UnixNano()
	q := request{
		due: start, start: start, end: start + int64(max(0, t.End)), queued: int64(r.Queued),
		ttft: orNone(openai.TTFT(t)), firstAnswer: orNone(openai.FirstAnswer(t)),
		tpot: orNone(openai.TPOT(t)), e2e: orNone(openai.E2E(t)), setup: none,
		prompt: promptTokens(r), chunks: len(t.Chunks), failure: reasonOf(t),
	}
	if !t.Planned.IsZero() {
		q.due = t.Planned.UnixNano()
	}
	if madeConnection(t) {
		q.setup = int64(t.Phases.Resolve + t.Phases.Connect + t.Phases.TLS)
	}
	q.output, _ = openai.OutputTokens(t)
	q.addChunks(t.Chunks)
	return q
}

func (q *request) addChunks(chunks []openai.Chunk) {
	var before, last time.Duration // the chunk before, and its gap
	told := false
	numbers := make([]byte, 0, len(chunks)*usualGapBytes)
	for _, c := range chunks {
		gap := c.At - before
		numbers = binary.AppendVarint(numbers, int64(gap-last))
		before, last = c.At, gap
		told = told || c.Tokens != 0
	}
	q.gaps = bytes.Clone(numbers)
	if n := len(chunks) - 1; n > 0 {
		q.meanITL = int64((chunks[n].At - chunks[0].At) / time.Duration(n))
	}
	if !told {
		return
	}
	q.tokens = make([]byte, 0, len(chunks))
	for _, c := range chunks {
		q.tokens = binary.AppendVarint(q.tokens, int64(c.Tokens))
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
		tokens, gap := q.tokens, int64(0)
		for gaps := q.gaps; len(gaps) > 0; {
			more, n := binary.Varint(gaps)
			gaps = gaps[n:]
			gap += more
			count, n := binary.Varint(tokens) // 0 of nothing
			tokens = tokens[n:]
			if !yield(gap, count) {
				return
			}
		}
	}
}

// arrival is when a request would have been sent, had it not had to wait for its turn.
func (q *request) arrival() int64 { return q.start - q.queued }

// late is how long after it was due a request was sent.
func (q *request) late() int64 { return max(0, q.start-q.due) }

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

// madeConnection reports whether the request had to make its own connection, and got it.
func madeConnection(t *openai.Trace) bool { return !t.Reused && t.Phases.Connect > 0 }

// promptTokens is the length of the prompt as the server counted it, else as the
// dataset made it, 0 when neither tells.
func promptTokens(r *runlog.Request) int {
	if u := r.Trace.Usage; u != nil && u.PromptTokens > 0 {
		return u.PromptTokens
	}
	return r.ExpectedTokens
}
