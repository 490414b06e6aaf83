package queries

import (
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/prometheus/model/labels"
)

// VLLMMetric is a metric of vLLM that queries may ask for.
type VLLMMetric struct {
	Name   string
	Type   dto.MetricType // queries use _bucket, _sum and _count of a histogram
	Labels []string       // beside model_name and engine
	// Versions says which vLLM has it, "" for all since 0.6.
	Versions string
}

// VLLMMetrics is the stated list of what vLLM exports, as far as this project's
// queries use it. Every series has model_name, and engine since 0.9. A metric that
// was renamed is here under both names; a query that wants either joins them with "or".
// vLLM hides a deprecated metric one minor version later (shown again by
// --show-hidden-metrics-for-version) and removes it after that.
func VLLMMetrics() []VLLMMetric {
	const (
		v1         = "since 0.8 at the latest"
		renamedKV  = "since 0.9; before, and hidden or beside it until 0.12, gpu_cache_usage_perc"
		renamedITL = "since 0.11; before, and hidden until early 2026, time_per_output_token_seconds"
	)
	return []VLLMMetric{
		{Name: "vllm:num_requests_running", Type: dto.MetricType_GAUGE},
		{Name: "vllm:num_requests_waiting", Type: dto.MetricType_GAUGE},
		{Name: "vllm:kv_cache_usage_perc", Type: dto.MetricType_GAUGE, Versions: renamedKV},
		{Name: "vllm:gpu_cache_usage_perc", Type: dto.MetricType_GAUGE, Versions: "until 0.11; deprecated in 0.9, see kv_cache_usage_perc"},
		{Name: "vllm:prompt_tokens_total", Type: dto.MetricType_COUNTER},
		{Name: "vllm:generation_tokens_total", Type: dto.MetricType_COUNTER},
		{Name: "vllm:prefix_cache_queries_total", Type: dto.MetricType_COUNTER, Versions: "since 0.9; before, gpu_prefix_cache_queries"},
		{Name: "vllm:prefix_cache_hits_total", Type: dto.MetricType_COUNTER, Versions: "since 0.9; before, gpu_prefix_cache_hits"},
		{Name: "vllm:num_preemptions_total", Type: dto.MetricType_COUNTER},
		{Name: "vllm:request_success_total", Type: dto.MetricType_COUNTER, Labels: []string{"finished_reason"}},
		{Name: "vllm:time_to_first_token_seconds", Type: dto.MetricType_HISTOGRAM},
		{Name: "vllm:inter_token_latency_seconds", Type: dto.MetricType_HISTOGRAM, Versions: renamedITL},
		{Name: "vllm:time_per_output_token_seconds", Type: dto.MetricType_HISTOGRAM, Versions: "until 0.11; hidden since 0.12, removed in January 2026, see inter_token_latency_seconds"},
		{Name: "vllm:request_time_per_output_token_seconds", Type: dto.MetricType_HISTOGRAM, Versions: "since 0.11 at the latest: the mean of each request"},
		{Name: "vllm:e2e_request_latency_seconds", Type: dto.MetricType_HISTOGRAM},
		{Name: "vllm:request_queue_time_seconds", Type: dto.MetricType_HISTOGRAM, Versions: v1},
		{Name: "vllm:request_inference_time_seconds", Type: dto.MetricType_HISTOGRAM, Versions: v1},
		{Name: "vllm:request_prefill_time_seconds", Type: dto.MetricType_HISTOGRAM, Versions: v1},
		{Name: "vllm:request_decode_time_seconds", Type: dto.MetricType_HISTOGRAM, Versions: v1},
		{Name: "vllm:request_prompt_tokens", Type: dto.MetricType_HISTOGRAM},
		{Name: "vllm:request_generation_tokens", Type: dto.MetricType_HISTOGRAM},
	}
}

// vllmSeries are the series of two models, of which the second is served by a version before 0.9.
func vllmSeries() []series {
	var all []series
	for _, v := range VLLMMetrics() {
		for _, l := range []labels.Labels{labels.FromStrings("model_name", "a", "engine", "0"), labels.FromStrings("model_name", "b")} {
			reasons := []string{""}
			if slices.Contains(v.Labels, "finished_reason") {
				reasons = FinishedReasons()
			}
			for _, reason := range reasons {
				of := labels.NewBuilder(l).Set("finished_reason", reason).Labels()
				all = append(all, seriesOf(v.Name, v.Type, of, []string{"0.5", "1", "+Inf"})...)
			}
		}
	}
	// vLLM has no native histograms.
	return slices.DeleteFunc(all, func(s series) bool { return s.kind == Native })
}

// FinishedReasons are the values of vLLM's label finished_reason.
func FinishedReasons() []string { return []string{"stop", "length", "abort", "error", "repetition"} }
