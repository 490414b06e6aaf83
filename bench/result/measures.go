package result

import (
	"maps"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Key is a [Measure]'s name in JSON.
type Key = openai.Measure

// The measures.
const (
	TTFT            Key = "ttft" // until the first text
	TTFTFromPlanned Key = "ttft_from_planned"
	TTFTFirst       Key = "ttft_first"   // of the first turns of conversations
	TTFTLater       Key = "ttft_later"   // of the turns behind them
	FirstAnswer     Key = "first_answer" // until the first text that is not reasoning
	TPOT            Key = "tpot"
	ITL             Key = "itl"       // gaps between chunks of text
	TokenITL        Key = "token_itl" // the same a token, where the server tells the tokens of a chunk
	E2E             Key = "e2el"
	E2EFromPlanned  Key = "e2el_from_planned" // from when the request was due
	Queue           Key = "client_queue"      // waiting under a bound on concurrency
	Lateness        Key = "lateness"          // of the client itself
	Setup           Key = "setup"             // resolve, connect and TLS, of new connections
	PromptLength    Key = "prompt_length"
	OutputLength    Key = "output_length"
)

// Kind says what a [Measure]'s samples are.
type Kind int

// The kinds.
const (
	Usual   Kind = iota // a latency that every table, comparison and chart has
	FromDue             // a latency from when the request was due, the wait in this program included
	OfTurns             // a latency of some turns of conversations
	Length              // tokens
	Other
)

// Measure is one distribution of [Figures]. All kinds but [Length] are in seconds.
type Measure struct {
	Key  Key
	Name string // in tables
	Kind Kind
	// sample is that of a request, see there; nil for gaps, of which a request has many.
	sample func(*request) Value
}

// Measures are all there are, in the order of tables.
func Measures() []Measure {
	return []Measure{
		{TTFT, "TTFT", Usual, func(q *request) Value { return q.ttft }},
		{TTFTFromPlanned, "TTFT from due", FromDue, func(q *request) Value { return fromDue(q, q.ttft) }},
		{TTFTFirst, "TTFT, first turn", OfTurns, func(q *request) Value { return onlyIf(q.turn == 1, q.ttft) }},
		{TTFTLater, "TTFT, later turns", OfTurns, func(q *request) Value { return onlyIf(q.turn > 1, q.ttft) }},
		{FirstAnswer, "first answer", Other, func(q *request) Value { return q.firstAnswer }},
		{TPOT, "TPOT", Usual, func(q *request) Value { return q.tpot }},
		{ITL, "ITL", Usual, nil},
		{TokenITL, "ITL a token", Other, nil},
		{E2E, "E2E", Usual, func(q *request) Value { return q.e2e }},
		{E2EFromPlanned, "E2E from due", FromDue, func(q *request) Value { return fromDue(q, q.e2e) }},
		{Queue, "client queue", Other, func(q *request) Value { return Value(q.queued) }},
		{Lateness, "client lateness", Other, func(q *request) Value { return Value(max(0, q.late()-q.queued)) }},
		{Setup, "connection set-up", Other, func(q *request) Value { return q.setup }},
		{PromptLength, "prompt", Length, func(q *request) Value { return onlyIf(q.failure == "" && q.prompt > 0, Value(q.prompt)) }},
		{OutputLength, "output", Length, func(q *request) Value { return onlyIf(q.failure == "", Value(q.output)) }},
	}
}

// Main are the measures of the [Usual] kind.
func Main() []Measure {
	return slices.DeleteFunc(Measures(), func(m Measure) bool { return m.Kind != Usual })
}

// ShownFor reports whether tables of a step show the measure: not without samples, nor what repeats another, as
// latencies from when a request was due do in a closed loop.
func (m Measure) ShownFor(s *Step) bool {
	d := s.Whole.Of(m.Key)
	switch {
	case m.Kind == FromDue && s.Arrival == runlog.ArrivalClosed:
		return false
	case m.Key == FirstAnswer:
		first := s.Whole.Of(TTFT)
		return d.Count > 0 && (d.Count != first.Count || d.Mean != first.Mean)
	}
	return d.Count > 0
}

// fromDue adds how late a request was sent to its latency, or to what it waited.
func fromDue(q *request, latency Value) Value {
	if latency < 0 {
		return latency - Value(q.late())
	}
	return latency + Value(q.late())
}

// onlyIf is a sample of those requests alone of which applies is true.
func onlyIf(applies bool, sample Value) Value {
	if !applies {
		return Unknown()
	}
	return sample
}

// distributions are those of the requests, by measure; one without samples is missing.
func distributions(requests []request, percentiles []float64, bounded bool) Distributions {
	all := Distributions{}
	for _, m := range Measures() {
		if m.sample == nil || m.Key == Queue && !bounded {
			continue
		}
		unit := float64(perSecond)
		if m.Kind == Length {
			unit = perToken
		}
		all[m.Key] = newDistribution(samples(requests, m.sample), percentiles, unit)
	}
	all[ITL], all[TokenITL] = gapDistributions(requests, percentiles)
	maps.DeleteFunc(all, func(_ Key, d Distribution) bool { return d.Count+d.Waiting == 0 })
	return all
}

func samples(requests []request, sample func(*request) Value) []Value {
	all := make([]Value, 0, len(requests))
	for i := range requests {
		if v := sample(&requests[i]); v.Known() {
			all = append(all, v)
		}
	}
	return all
}

// gapDistributions are those of [openai.ITLs], and of the same gaps a token: a gap that brought
// k tokens, by the server's count, gives k samples of a k-th of it.
func gapDistributions(requests []request, percentiles []float64) (gaps, tokenGaps Distribution) {
	byChunk, byToken := newHistogram(), newHistogram()
	for i := range requests {
		if !(requests[i].ttft >= 0) {
			continue
		}
		isFirst, part := true, i*gapParts/len(requests)
		for gap, tokens := range requests[i].chunkGaps() {
			if !isFirst {
				byChunk.add(part, gap, 1)
				if tokens > 0 {
					byToken.add(part, gap/tokens, tokens)
				}
			}
			isFirst = false
		}
	}
	return byChunk.distribution(percentiles), byToken.distribution(percentiles)
}

// Turn are the requests of one turn of all conversations. Tokens are means where the prompt's length is known.
type Turn struct {
	Turn         int          `json:"turn"`     // from 1
	Requests     int          `json:"requests"` // that were sent
	PromptTokens float64      `json:"prompt_tokens"`
	NewTokens    float64      `json:"new_tokens"`    // that no request before had too
	CachedTokens Value        `json:"cached_tokens"` // by the server's usage
	TTFT         Distribution `json:"ttft"`
	TPOT         Distribution `json:"tpot"`
}

func newTurns(sent []request, percentiles []float64, cacheKnown bool) []Turn {
	byTurn := map[int][]request{}
	for _, q := range sent {
		if q.turn > 0 {
			byTurn[q.turn] = append(byTurn[q.turn], q)
		}
	}
	var all []Turn
	for _, n := range slices.Sorted(maps.Keys(byTurn)) {
		requests := byTurn[n]
		var prompt, fresh, cached moments
		for i := range requests {
			if q := &requests[i]; q.prompt > 0 {
				prompt.add(float64(q.prompt), 1)
				fresh.add(float64(max(0, q.prompt-q.shared)), 1)
				cached.add(float64(q.cached), 1)
			}
		}
		t := Turn{Turn: n, Requests: len(requests), PromptTokens: prompt.mean, NewTokens: fresh.mean, CachedTokens: Unknown()}
		if cacheKnown {
			t.CachedTokens = Value(cached.mean)
		}
		t.TTFT = newDistribution(samples(requests, func(q *request) Value { return q.ttft }), percentiles, perSecond)
		t.TPOT = newDistribution(samples(requests, func(q *request) Value { return q.tpot }), percentiles, perSecond)
		all = append(all, t)
	}
	return all
}
