package queries

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
)

// VLLMMetric is a metric of vLLM that queries may ask for.
type VLLMMetric struct {
	Name   string
	Type   model.MetricType // queries use _bucket, _sum and _count of a histogram
	Labels []string         // beside model_name and engine
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
		{Name: "vllm:num_requests_running", Type: model.MetricTypeGauge},
		{Name: "vllm:num_requests_waiting", Type: model.MetricTypeGauge},
		{Name: "vllm:kv_cache_usage_perc", Type: model.MetricTypeGauge, Versions: renamedKV},
		{Name: "vllm:gpu_cache_usage_perc", Type: model.MetricTypeGauge, Versions: "until 0.11; deprecated in 0.9, see kv_cache_usage_perc"},
		{Name: "vllm:prompt_tokens_total", Type: model.MetricTypeCounter},
		{Name: "vllm:generation_tokens_total", Type: model.MetricTypeCounter},
		{Name: "vllm:prefix_cache_queries_total", Type: model.MetricTypeCounter, Versions: "since 0.9; before, gpu_prefix_cache_queries"},
		{Name: "vllm:prefix_cache_hits_total", Type: model.MetricTypeCounter, Versions: "since 0.9; before, gpu_prefix_cache_hits"},
		{Name: "vllm:num_preemptions_total", Type: model.MetricTypeCounter},
		{Name: "vllm:request_success_total", Type: model.MetricTypeCounter, Labels: []string{"finished_reason"}},
		{Name: "vllm:time_to_first_token_seconds", Type: model.MetricTypeHistogram},
		{Name: "vllm:inter_token_latency_seconds", Type: model.MetricTypeHistogram, Versions: renamedITL},
		{Name: "vllm:time_per_output_token_seconds", Type: model.MetricTypeHistogram, Versions: "until 0.11; hidden since 0.12, removed in January 2026, see inter_token_latency_seconds"},
		{Name: "vllm:request_time_per_output_token_seconds", Type: model.MetricTypeHistogram, Versions: "since 0.11 at the latest: the mean of each request"},
		{Name: "vllm:e2e_request_latency_seconds", Type: model.MetricTypeHistogram},
		{Name: "vllm:request_queue_time_seconds", Type: model.MetricTypeHistogram, Versions: v1},
		{Name: "vllm:request_inference_time_seconds", Type: model.MetricTypeHistogram, Versions: v1},
		{Name: "vllm:request_prefill_time_seconds", Type: model.MetricTypeHistogram, Versions: v1},
		{Name: "vllm:request_decode_time_seconds", Type: model.MetricTypeHistogram, Versions: v1},
		{Name: "vllm:request_prompt_tokens", Type: model.MetricTypeHistogram},
		{Name: "vllm:request_generation_tokens", Type: model.MetricTypeHistogram},
	}
}

// vllmExposition is what two servers export, of which the second has a version before 0.9. vLLM has no native histograms.
func vllmExposition() []byte {
	var b strings.Builder
	for _, v := range VLLMMetrics() {
		fmt.Fprintf(&b, "# TYPE %s %s\n", v.Name, v.Type)
		for _, of := range []string{`model_name="a",engine="0"`, `model_name="b"`} {
			switch {
			case v.Type == model.MetricTypeHistogram:
				for _, le := range []string{"0.5", "1", "+Inf"} {
					fmt.Fprintf(&b, "%s_bucket{%s,le=%q} 1\n", v.Name, of, le)
				}
				fmt.Fprintf(&b, "%[1]s_sum{%[2]s} 1\n%[1]s_count{%[2]s} 1\n", v.Name, of)
			case slices.Contains(v.Labels, "finished_reason"):
				for _, reason := range FinishedReasons() {
					fmt.Fprintf(&b, "%s{%s,finished_reason=%q} 1\n", v.Name, of, reason)
				}
			default:
				fmt.Fprintf(&b, "%s{%s} 1\n", v.Name, of)
			}
		}
	}
	return []byte(b.String())
}

// FinishedReasons are the values of vLLM's label finished_reason.
func FinishedReasons() []string { return []string{"stop", "length", "abort", "error", "repetition"} }
