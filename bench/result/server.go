package result

import (
	"math"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// samplesForServer is how many samples of the server inside of a step it takes for a
// mean: two at its ends show it before and after the load.
const samplesForServer = 3

// ServerSample is what the server's own metrics showed during a step, over all
// of its engines, as seen by the first machine that looked.
type ServerSample struct {
	Running    Gauge `json:"running"`
	Waiting    Gauge `json:"waiting"`
	CacheUsage Gauge `json:"cache_usage"` // 0 to 1
	// TTFT is the growth of the server's own histogram, nil where it has none; of it only Count and Mean are known.
	TTFT *Distribution `json:"ttft,omitempty"`
	// TTFTOurs reports whether TTFT is of as many requests as Whole.Of(TTFT), within a percent or 1: only then
	// one can be held against the other. Else others used the server too, or samples are missing.
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

// add takes one scrape: the series of the model that was asked for where there are any, else those of all.
func (v *server) add(at int64, all []runlog.Series) {
	const modelLabel = "model_name" // in vLLM the first of the model's served names
	isServed := slices.ContainsFunc(all, func(s runlog.Series) bool { return s.Labels[modelLabel] == v.model })
	sums, engines := map[string]float64{}, map[string]float64{}
	for _, s := range all {
		if model := s.Labels[modelLabel]; isServed && model != "" && model != v.model {
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

// report is nil when the server was never sampled. answers are the requests of this program that have a TTFT.
func (v *server) report(w span, answers int64) *ServerSample {
	if len(v.values) == 0 {
		return nil
	}
	// first are the values by the first name that there is: an older one beside it tells the same twice.
	first := func(names ...string) series {
		i := slices.IndexFunc(names, func(name string) bool { return len(v.values[name]) > 0 })
		return v.values[names[max(0, i)]]
	}
	s := &ServerSample{
		Running:       first("num_requests_running").gauge(w, samplesForServer),
		Waiting:       first("num_requests_waiting").gauge(w, samplesForServer),
		CacheUsage:    first("kv_cache_usage_perc", "gpu_cache_usage_perc", "npu_cache_usage_perc").gauge(w, samplesForServer),
		PrefixQueries: first("prefix_cache_queries", "gpu_prefix_cache_queries").growth(),
		PrefixHits:    first("prefix_cache_hits", "gpu_prefix_cache_hits").growth(),
	}
	sum, count := first("time_to_first_token_seconds_sum").growth(), first("time_to_first_token_seconds_count").growth()
	if count > 0 && sum.Known() {
		s.TTFT = &Distribution{Count: int64(count), Mean: float64(sum / count), MeanError: unknown()}
		s.TTFTOurs = math.Abs(float64(s.TTFT.Count-answers)) <= max(1, 0.01*float64(answers))
	}
	drafts, tokens := first("spec_decode_num_drafts").growth(), first("spec_decode_num_draft_tokens").growth()
	accepted := first("spec_decode_num_accepted_tokens").growth()
	if drafts > 0 && tokens > 0 && accepted >= 0 {
		s.Speculation = &Speculation{
			Drafts: float64(drafts), DraftTokens: float64(tokens), AcceptedTokens: float64(accepted),
			Acceptance: float64(accepted / tokens), AcceptedLength: float64(1 + accepted/drafts),
		}
	}
	return s
}
