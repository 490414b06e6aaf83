package queries

import "github.com/prometheus/prometheus/model/labels"

// vllmMetric is a metric of vLLM that queries ask for.
type vllmMetric struct {
	name      string
	histogram bool
}

// vllmMetrics are what vLLM exports, as far as queries ask for it. A metric that was renamed is here under both names.
// vLLM hides a deprecated metric one minor version later and removes it after that.
var vllmMetrics = []vllmMetric{
	{name: "vllm:num_requests_running"},
	{name: "vllm:num_requests_waiting"},
	{name: "vllm:kv_cache_usage_perc"},  // since 0.9
	{name: "vllm:gpu_cache_usage_perc"}, // until 0.11
	{name: "vllm:prompt_tokens_total"},
	{name: "vllm:generation_tokens_total"},
	{name: "vllm:prefix_cache_queries_total"}, // since 0.9
	{name: "vllm:prefix_cache_hits_total"},    // since 0.9
	{name: "vllm:num_preemptions_total"},
	{name: "vllm:request_success_total"},
	{name: "vllm:time_to_first_token_seconds", histogram: true},
	{name: "vllm:inter_token_latency_seconds", histogram: true},           // since 0.11
	{name: "vllm:time_per_output_token_seconds", histogram: true},         // until 0.11
	{name: "vllm:request_time_per_output_token_seconds", histogram: true}, // the mean of each request
	{name: "vllm:e2e_request_latency_seconds", histogram: true},
	{name: "vllm:request_queue_time_seconds", histogram: true},
	{name: "vllm:request_inference_time_seconds", histogram: true},
	{name: "vllm:request_prefill_time_seconds", histogram: true},
	{name: "vllm:request_decode_time_seconds", histogram: true},
	{name: "vllm:request_prompt_tokens", histogram: true},
	{name: "vllm:request_generation_tokens", histogram: true},
}

func (m Metrics) addVLLM(v vllmMetric) {
	named := []string{"model_name", "", "engine", ""}
	if v.name == "vllm:request_success_total" {
		for _, reason := range []string{"stop", "length", "abort", "error", "repetition"} {
			m.add(v.name, labels.FromStrings(append(named, "finished_reason", reason)...))
		}
		return
	}
	if !v.histogram {
		m.add(v.name, labels.FromStrings(named...))
		return
	}
	m.add(v.name+"_sum", labels.FromStrings(named...))
	m.add(v.name+"_count", labels.FromStrings(named...))
	m.add(v.name+"_bucket", labels.FromStrings(append(named, "le", "")...))
}
