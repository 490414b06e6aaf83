package fakevllm

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

// TestMetricsAgree serves a known set of requests and reads what it cost.
func TestMetricsAgree(t *testing.T) {
	s, hs := serve(t, quick())
	for _, request := range []struct{ path, body string }{
		{"/v1/completions", `{"stream":true,"prompt":"` + strings.Repeat("word ", 40) + `","max_tokens":10,"ignore_eos":true}`},
		{"/v1/completions", `{"stream":true,"prompt":"a","max_tokens":1}`},
		{"/v1/chat/completions", `{"stream":true,"messages":[{"content":"hi"}]}`}, // ends by itself
		{"/fault/http_500/v1/completions", `{"stream":true,"prompt":"a"}`},
		{"/v1/completions", `{"stream":true,"prompt":"a","model":"other"}`},
	} {
		post(t, hs.URL+request.path, request.body)
	}
	natural := naturalLength(s.cfg, 3)
	for name, want := range map[string]float64{
		"vllm:prompt_tokens_total":        42,
		"vllm:generation_tokens_total":    float64(11 + natural),
		"vllm:prefix_cache_queries_total": 42,
		"vllm:prefix_cache_hits_total":    0,
		"vllm:num_preemptions_total":      0,
		"vllm:num_requests_running":       0,
		"vllm:num_requests_waiting":       0,
		"vllm:kv_cache_usage_perc":        0,
		"vllm:request_success_total":      3,
	} {
		if got := counterValue(t, s.engine, name); got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	h := histogramsOf(t, s.engine)
	for name, want := range map[string]uint64{
		"time_to_first_token_seconds": 3, "e2e_request_latency_seconds": 3, "request_time_per_output_token_seconds": 3,
		"inter_token_latency_seconds": uint64(8 + natural),
	} {
		if got := h["vllm:"+name].GetSampleCount(); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	checkTimes(t, h)
	families, err := s.engine.met.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	checkLint(t, families)
}

// checkTimes: the parts of a request's time add up.
func checkTimes(t *testing.T, h map[string]*dto.Histogram) {
	t.Helper()
	sum := func(name string) float64 { return h["vllm:"+name].GetSampleSum() }
	near := func(a, b float64) bool { return a > b-1e-6 && a < b+1e-6 }
	if !near(sum("request_queue_time_seconds")+sum("request_inference_time_seconds"), sum("e2e_request_latency_seconds")) ||
		!near(sum("request_prefill_time_seconds")+sum("request_decode_time_seconds"), sum("request_inference_time_seconds")) ||
		!near(sum("time_to_first_token_seconds"), sum("request_queue_time_seconds")+sum("request_prefill_time_seconds")) ||
		!near(sum("inter_token_latency_seconds"), sum("request_decode_time_seconds")) || sum("e2e_request_latency_seconds") <= 0 {
		t.Errorf("times do not add up: queue %v + prefill %v + decode %v, e2e %v, ttft %v, itl %v",
			sum("request_queue_time_seconds"), sum("request_prefill_time_seconds"), sum("request_decode_time_seconds"),
			sum("e2e_request_latency_seconds"), sum("time_to_first_token_seconds"), sum("inter_token_latency_seconds"))
	}
}

// checkLint: nothing but vLLM's colon is against the rules.
func checkLint(t *testing.T, families []*dto.MetricFamily) {
	t.Helper()
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if !strings.Contains(p.Text, "':'") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}
