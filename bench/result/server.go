package result

import (
	"math"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	// samplesForServer is how many samples of the server inside of a step it takes for a
	// mean: two at its ends show it before and after the load.
	samplesForServer = 3
	// modelLabel says which model a series of vLLM is of, by the first of its served names.
	modelLabel = "model_name"
)

// ServerSample is what the server's own metrics showed during a step, over all
// of its engines, as seen by the first machine that looked.
type ServerSample struct {
	Running    Gauge `json:"running"`
	Waiting    Gauge `json:"waiting"`
	CacheUsage Gauge `json:"cache_usage"` // 0 to 1
	// TTFT is the growth of the server's own histogram, nil where it has none; of it only
	// Count and Mean are known.
	TTFT *Distribution `json:"ttft,omitempty"`
	// TTFTOurs reports whether TTFT is of as many requests as Whole.Of(TTFT), within a
	// percent or 1: only then one can be held against the other. Else others used the
	// server too, or samples are missing.
	TTFTOurs bool `json:"ttft_ours,omitempty"`
	// PrefixQueries and PrefixHits are tokens.
	PrefixQueries Value `json:"prefix_queries,omitzero"`
	PrefixHits    Value `json:"prefix_hits,omitzero"`
	// Speculation is nil where the server drafted nothing.
	Speculation *Speculation `json:"speculation,omitempty"`
}

// Speculation is what a server drafted during a step, and what came of it.
type Speculation struct {
	Drafts         float64 `json:"drafts"`
	DraftTokens    float64 `json:"draft_tokens"`
	AcceptedTokens float64 `json:"accepted_tokens"`
	Acceptance     float64 `json:"acceptance"`           // of the draft tokens, 0 to 1
	AcceptedLength float64 `json:"mean_accepted_length"` // tokens of a draft, with the model's own behind them
}

// server is what the model server says of itself: vLLM's metrics of every version, and
// MindIE's, which have the same names without "vllm:".
type server struct {
	model  string   // that was asked for
	values readings // by name without vllm: and _total, of all engines
}

// add takes one scrape.
func (v *server) add(at int64, all []runlog.Series) {
	ofAsked := slices.ContainsFunc(all, func(s runlog.Series) bool { return s.Labels[modelLabel] == v.model })
	sums, engines := map[string]float64{}, map[string]float64{}
	for _, s := range all {
		if model := s.Labels[modelLabel]; ofAsked && model != "" && model != v.model {
			continue
		}
		name := strings.TrimSuffix(strings.TrimPrefix(s.Name, "vllm:"), "_total")
		sums[name] += s.Value
		engines[name]++
	}
	for name, sum := range sums {
		if strings.HasSuffix(name, "cache_usage_perc") {
			sums[name] = sum / engines[name]
		}
	}
	v.values.add(at, sums)
}

// report is nil when the server was never sampled. answers are the requests of this
// program that have a TTFT.
func (v *server) report(w span, answers int64) *ServerSample {
	if len(v.values) == 0 {
		return nil
	}
	ttft := v.ttft()
	return &ServerSample{
		Running:       v.values.first("num_requests_running").gauge(w, samplesForServer),
		Waiting:       v.values.first("num_requests_waiting").gauge(w, samplesForServer),
		CacheUsage:    v.values.first("kv_cache_usage_perc", "gpu_cache_usage_perc", "npu_cache_usage_perc").gauge(w, samplesForServer),
		TTFT:          ttft,
		TTFTOurs:      ttft != nil && math.Abs(float64(ttft.Count-answers)) <= max(1, 0.01*float64(answers)),
		PrefixQueries: v.values.first("prefix_cache_queries", "gpu_prefix_cache_queries").growth(),
		PrefixHits:    v.values.first("prefix_cache_hits", "gpu_prefix_cache_hits").growth(),
		Speculation:   v.speculation(),
	}
}

func (v *server) speculation() *Speculation {
	drafts := v.values.first("spec_decode_num_drafts").growth()
	tokens := v.values.first("spec_decode_num_draft_tokens").growth()
	accepted := v.values.first("spec_decode_num_accepted_tokens").growth()
	if !(drafts > 0 && tokens > 0 && accepted >= 0) {
		return nil
	}
	return &Speculation{
		Drafts: float64(drafts), DraftTokens: float64(tokens), AcceptedTokens: float64(accepted),
		Acceptance: float64(accepted / tokens), AcceptedLength: float64(1 + accepted/drafts),
	}
}

// ttft is nil where the server's histogram did not grow or is not there.
func (v *server) ttft() *Distribution {
	sum := v.values.first("time_to_first_token_seconds_sum").growth()
	count := v.values.first("time_to_first_token_seconds_count").growth()
	if !(count > 0) || !sum.Known() {
		return nil
	}
	return &Distribution{Count: int64(count), Mean: float64(sum / count), MeanError: unknown()}
}
