package result

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"sort"
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
	// Samples in nanoseconds, as [openai.TTFT] and the others define them; not known where there is none. Below 0 is the
	// time that a request waited which ended before it had the sample. setup is of a new connection.
	ttft, firstAnswer, tpot, e2e, setup, meanITL Value
	lag                                          Value // of its latest read; not known without the kernel's stamps
	prompt, output                               int   // tokens; 0 where nothing tells
	shared, cached                               int   // tokens of the prompt: see [Cache]
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
		turn: r.Turn, shared: r.SharedTokens, tpot: Unknown(), setup: Unknown(), lag: Unknown(), meanITL: Unknown(),
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
	if t.Lag.Reads > 0 {
		q.lag = Value(t.Lag.Max)
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

func (q *request) keep(chunks []openai.Chunk) {
	var before, last time.Duration // the chunk before, and its gap
	q.gaps = make([]byte, 0, binary.MaxVarintLen32*len(chunks))
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

// chunkGaps are the time before each chunk of text and the tokens that it brought, 0 where nothing tells.
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

// Window is a span of time: all of a step from the first request sent to the last one ended, or its steady part, from
// when the load had reached its level until the last request was sent; docs/design.md says when that is. A steady
// part holds at least 10 requests and one for each user. Conversations in their thinking time are in flight.
type Window struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Duration is the window's length.
func (w Window) Duration() time.Duration { return w.To.Sub(w.From) }

// span is a Window in nanoseconds since 1970.
type span struct{ from, to int64 }

func (s span) holds(at int64) bool { return at >= s.from && at <= s.to }

func (s span) clamp(at int64) int64 { return min(max(at, s.from), s.to) }

func (s span) seconds() float64 { return time.Duration(s.to - s.from).Seconds() }

// rate is n a second, 0 of no time.
func (s span) rate(n float64) float64 {
	if s.to <= s.from {
		return 0
	}
	return n / s.seconds()
}

// unit is what the load is made of: a request, or a conversation from the start of its
// first turn to the end of its last one. Instants are nanoseconds since 1970.
type unit struct {
	due, start, end int64
	queued          int64
	answered        bool // it succeeded, or ended because it took too long
}

// arrival is when it would have been sent without its wait under a bound on concurrency.
func (u unit) arrival() int64 { return u.start - u.queued }

func (u unit) late() int64 { return max(0, u.start-u.due) }

func (u unit) sentAt() int64 { return u.start }

func (d *stepData) noun() string {
	if d.Conversations > 0 {
		return "conversations"
	}
	return "requests"
}

// sentIn are the requests or units sent inside of a window, of those in the order in which they were sent.
func sentIn[T interface{ sentAt() int64 }](w span, all []T) []T {
	from := sort.Search(len(all), func(i int) bool { return all[i].sentAt() >= w.from })
	to := sort.Search(len(all), func(i int) bool { return all[i].sentAt() > w.to })
	return all[from:max(from, to)]
}

// concurrency is how many units were in flight on the mean of a window: the time they all spent so, over its length.
func concurrency(w span, units []unit) float64 {
	inFlight := 0.0
	for _, u := range units {
		inFlight += span{w.clamp(u.start), w.clamp(u.end)}.seconds()
	}
	return w.rate(inFlight)
}

// curve is how many units were in flight at each instant.
type curve []change

type change struct {
	at int64
	by int
}

// newCurve counts a unit that ended at the instant at which another is sent as ended first: it makes room for it.
func newCurve(units []unit) curve {
	var c curve
	for _, u := range units {
		c = append(c, change{u.start, 1}, change{u.end, -1})
	}
	slices.SortFunc(c, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	return c
}

func (c curve) whole() span {
	if len(c) == 0 {
		return span{}
	}
	return span{c[0].at, c[len(c)-1].at}
}

func (c curve) reached(level int) (instant int64, ok bool) {
	inFlight := 0
	for _, e := range c {
		inFlight += e.by
		if inFlight >= level {
			return e.at, true
		}
	}
	return 0, false
}

func (c curve) peak(w span) int {
	inFlight, most := 0, 0
	for _, e := range c {
		if e.at > w.to {
			break
		}
		inFlight += e.by
		if e.at <= w.from {
			most = 0 // until the window has begun
		}
		most = max(most, inFlight)
	}
	return most
}
