package result

import (
	"maps"
	"slices"
)

// Turn are the requests of one turn of all conversations. Tokens are means of the requests
// whose prompt's length is known.
type Turn struct {
	Turn         int          `json:"turn"`     // from 1
	Requests     int          `json:"requests"` // that were sent
	PromptTokens float64      `json:"prompt_tokens"`
	NewTokens    float64      `json:"new_tokens"`    // that no request before had too
	CachedTokens Value        `json:"cached_tokens"` // by the server's usage
	TTFT         Distribution `json:"ttft"`
	TPOT         Distribution `json:"tpot"`
}

// newTurns are those of requests, none where they are of no conversations.
func (d *stepData) newTurns(sent []request, percentiles []float64) []Turn {
	byTurn := map[int][]request{}
	for i := range sent {
		if n := sent[i].turn; n > 0 {
			byTurn[n] = append(byTurn[n], sent[i])
		}
	}
	var all []Turn
	for _, n := range slices.Sorted(maps.Keys(byTurn)) {
		t := newTurn(byTurn[n], percentiles)
		if !d.checks.CacheKnown {
			t.CachedTokens = unknown()
		}
		all = append(all, t)
	}
	return all
}

func newTurn(requests []request, percentiles []float64) Turn {
	var prompt, fresh, cached moments
	for i := range requests {
		if q := &requests[i]; q.prompt > 0 {
			prompt.add(float64(q.prompt), 1)
			fresh.add(float64(max(0, q.prompt-q.shared)), 1)
			cached.add(float64(q.cached), 1)
		}
	}
	ttft := samples(requests, func(q *request) int64 { return q.ttft })
	tpot := samples(requests, func(q *request) int64 { return q.tpot })
	return Turn{
		Turn: requests[0].turn, Requests: len(requests),
		PromptTokens: prompt.mean, NewTokens: fresh.mean, CachedTokens: Value(cached.mean),
		TTFT: newDistribution(ttft, percentiles, perSecond), TPOT: newDistribution(tpot, percentiles, perSecond),
	}
}
