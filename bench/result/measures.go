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
	Latency Kind = iota
	FromDue      // a latency from when the request was due, the wait in this program included
	Client       // a wait of this program's own
	Length       // tokens
	OfTurns      // a latency of some turns of conversations
)

// Measure is one distribution of [Figures]. All kinds but [Length] are in seconds.
type Measure struct {
	Key  Key
	Name string // in tables
	Kind Kind
	// Main measures are in every table, in comparisons and in the picture of latencies.
	Main bool
	// sample is a request's one, what it waited, or none; nil for gaps, of which a request has many.
	sample func(*request) int64
}

// Measures are all there are, in the order of tables.
func Measures() []Measure {
	return []Measure{
		{TTFT, "TTFT", Latency, true, func(q *request) int64 { return q.ttft }},
		{TTFTFromPlanned, "TTFT from due", FromDue, false, func(q *request) int64 { return fromDue(q, q.ttft) }},
		{TTFTFirst, "TTFT, first turn", OfTurns, false, firstTurn},
		{TTFTLater, "TTFT, later turns", OfTurns, false, laterTurn},
		{FirstAnswer, "first answer", Latency, false, func(q *request) int64 { return q.firstAnswer }},
		{TPOT, "TPOT", Latency, true, func(q *request) int64 { return q.tpot }},
		{ITL, "ITL", Latency, true, nil},
		{TokenITL, "ITL a token", Latency, false, nil},
		{E2E, "E2E", Latency, true, func(q *request) int64 { return q.e2e }},
		{E2EFromPlanned, "E2E from due", FromDue, false, func(q *request) int64 { return fromDue(q, q.e2e) }},
		{Queue, "client queue", Client, false, func(q *request) int64 { return q.queued }},
		{Lateness, "client lateness", Client, false, func(q *request) int64 { return max(0, q.late()-q.queued) }},
		{Setup, "connection set-up", Client, false, func(q *request) int64 { return q.setup }},
		{PromptLength, "prompt", Length, false, promptLength},
		{OutputLength, "output", Length, false, outputLength},
	}
}

// Main are the measures that every table, comparison and picture of latencies has.
func Main() []Measure {
	return slices.DeleteFunc(Measures(), func(m Measure) bool { return !m.Main })
}

// ShownFor reports whether tables of a step show the measure. What there is no sample
// of is left out, and what repeats another: latencies from when a request was due in a
// closed loop, first answers where no model reasons.
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
func fromDue(q *request, latency int64) int64 {
	switch {
	case latency == none:
		return none
	case latency < 0:
		return ^(^latency + q.late())
	}
	return latency + q.late()
}

// firstTurn is a sample of the first turns alone.
func firstTurn(q *request) int64 {
	if q.turn != 1 {
		return none
	}
	return q.ttft
}

// laterTurn is a sample of the turns behind the first.
func laterTurn(q *request) int64 {
	if q.turn < 2 {
		return none
	}
	return q.ttft
}

func promptLength(q *request) int64 {
	if q.failure != "" || q.prompt == 0 {
		return none
	}
	return int64(q.prompt)
}

func outputLength(q *request) int64 {
	if q.failure != "" {
		return none
	}
	return int64(q.output)
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
	gaps, tokenGaps := gapHistograms(requests)
	all[ITL], all[TokenITL] = gaps.distribution(percentiles), tokenGaps.distribution(percentiles)
	maps.DeleteFunc(all, func(_ Key, d Distribution) bool { return d.Count+d.Waiting == 0 })
	return all
}

// samples are those that the requests have of a measure, in their order.
func samples(requests []request, sample func(*request) int64) []int64 {
	all := make([]int64, 0, len(requests))
	for i := range requests {
		if v := sample(&requests[i]); v != none {
			all = append(all, v)
		}
	}
	return all
}

// gapHistograms are those of [openai.ITLs], and of the same gaps a token: a gap that brought
// k tokens, by the server's count, gives k samples of a k-th of it.
func gapHistograms(requests []request) (gaps, tokenGaps *histogram) {
	gaps, tokenGaps = newHistogram(), newHistogram()
	for i := range requests {
		if requests[i].ttft < 0 {
			continue
		}
		first, part := true, i*gapParts/len(requests)
		for gap, tokens := range requests[i].chunkGaps() {
			if !first {
				gaps.add(part, gap, 1)
				if tokens > 0 {
					tokenGaps.add(part, gap/tokens, tokens)
				}
			}
			first = false
		}
	}
	return gaps, tokenGaps
}
