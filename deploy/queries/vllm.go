package queries

// VLLMMetric is a metric of vLLM that queries may ask for.
type VLLMMetric struct {
	Name   string
	Kind   Kind     // Native for a histogram: queries use its _bucket, _sum and _count
	Labels []string // beside model_name and engine
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
		{Name: "vllm:num_requests_running", Kind: Gauge},
		{Name: "vllm:num_requests_waiting", Kind: Gauge},
		{Name: "vllm:kv_cache_usage_perc", Kind: Gauge, Versions: renamedKV},
		{Name: "vllm:gpu_cache_usage_perc", Kind: Gauge, Versions: "until 0.11; deprecated in 0.9, see kv_cache_usage_perc"},
		{Name: "vllm:prompt_tokens_total", Kind: Counter},
		{Name: "vllm:generation_tokens_total", Kind: Counter},
		{Name: "vllm:prefix_cache_queries_total", Kind: Counter, Versions: "since 0.9; before, gpu_prefix_cache_queries"},
		{Name: "vllm:prefix_cache_hits_total", Kind: Counter, Versions: "since 0.9; before, gpu_prefix_cache_hits"},
		{Name: "vllm:num_preemptions_total", Kind: Counter},
		{Name: "vllm:request_success_total", Kind: Counter, Labels: []string{"finished_reason"}},
		{Name: "vllm:time_to_first_token_seconds", Kind: Native},
		{Name: "vllm:inter_token_latency_seconds", Kind: Native, Versions: renamedITL},
		{Name: "vllm:time_per_output_token_seconds", Kind: Native, Versions: "until 0.11; hidden since 0.12, removed in January 2026, see inter_token_latency_seconds"},
		{Name: "vllm:request_time_per_output_token_seconds", Kind: Native, Versions: "since 0.11 at the latest: the mean of each request"},
		{Name: "vllm:e2e_request_latency_seconds", Kind: Native},
		{Name: "vllm:request_queue_time_seconds", Kind: Native, Versions: v1},
		{Name: "vllm:request_inference_time_seconds", Kind: Native, Versions: v1},
		{Name: "vllm:request_prefill_time_seconds", Kind: Native, Versions: v1},
		{Name: "vllm:request_decode_time_seconds", Kind: Native, Versions: v1},
		{Name: "vllm:request_prompt_tokens", Kind: Native},
		{Name: "vllm:request_generation_tokens", Kind: Native},
	}
}

// AddVLLM adds the list.
func (c *Catalogue) AddVLLM() {
	for _, v := range VLLMMetrics() {
		add := func(name string, kind Kind, more ...string) {
			m := c.scraped(kind, VLLM)
			m.labels["model_name"], m.labels["engine"] = true, false
			for _, label := range append(more, v.Labels...) {
				m.labels[label] = true
			}
			if m.labels["finished_reason"] {
				m.values["finished_reason"] = setOf("stop", "length", "abort", "error", "repetition")
			}
			c.metrics[name] = m
		}
		add(v.Name, v.Kind)
		if v.Kind == Native {
			// vLLM has no native histograms: the name alone is no series.
			delete(c.metrics, v.Name)
			add(v.Name+"_bucket", Bucket, "le")
			add(v.Name+"_sum", Counter)
			add(v.Name+"_count", Counter)
		}
	}
}
