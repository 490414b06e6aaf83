package fakevllm

import (
	"flag"
	"math"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/docs/expositiontest"
)

var update = flag.Bool("update", false, "write the golden files anew")

const exposition = "testdata/metrics.golden"

// TestExposition serves two requests; the times they took are left out.
func TestExposition(t *testing.T) {
	s, hs := serve(t, quick())
	for range 2 {
		post(t, hs.URL+"/v1/completions", `{"prompt":"`+strings.Repeat("word ", 40)+`","max_tokens":10,"ignore_eos":true,"stream":true}`)
	}
	all := expositiontest.Gather(t, s.met.registry)
	for name, f := range all {
		for _, m := range f.GetMetric() {
			if m.Histogram != nil && strings.HasSuffix(name, "_seconds") {
				expositiontest.Empty(m.Histogram)
			}
		}
	}
	expositiontest.Compare(t, exposition, all, *update)
}

func TestExpositionIsComplete(t *testing.T) {
	s, _ := serve(t, quick())
	all := func(string) bool { return false }
	if n := expositiontest.Complete(t, exposition, s.met.registry, all); n < 12 {
		t.Errorf("only %d metrics are described", n)
	}
}

// TestMetricsAgree serves a known set of requests and reads what it cost.
func TestMetricsAgree(t *testing.T) {
	s, hs := serve(t, quick())
	for _, request := range []struct{ path, body string }{
		{"/v1/completions", `{"stream":true,"prompt":"` + strings.Repeat("word ", 40) + `","max_tokens":10,"ignore_eos":true}`},
		{"/v1/completions", `{"stream":true,"prompt":"a","max_tokens":1}`},
		{"/v1/chat/completions", `{"stream":true,"messages":[{"content":"hi"}],"max_tokens":9}`},
		{"/fault/http_500/v1/completions", `{"stream":true,"prompt":"a"}`},
		{"/v1/completions", `{"stream":true,"prompt":"a","model":"other"}`},
	} {
		post(t, hs.URL+request.path, request.body)
	}
	for name, want := range map[string]float64{
		"vllm:prompt_tokens_total":        42,
		"vllm:generation_tokens_total":    20,
		"vllm:prefix_cache_queries_total": 42,
		"vllm:num_requests_running":       0,
		"vllm:num_requests_waiting":       0,
		"vllm:kv_cache_usage_perc":        0,
		"vllm:request_success_total":      3,
	} {
		if got := total(t, s.engine, name); got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string]uint64{
		"time_to_first_token_seconds": 3, "e2e_request_latency_seconds": 3, "request_queue_time_seconds": 3,
		"request_time_per_output_token_seconds": 3, "inter_token_latency_seconds": 17,
	} {
		if _, got := sumAndCount(t, s.engine, "vllm:"+name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	e2e, _ := sumAndCount(t, s.engine, "vllm:e2e_request_latency_seconds")
	first, _ := sumAndCount(t, s.engine, "vllm:time_to_first_token_seconds")
	rest, _ := sumAndCount(t, s.engine, "vllm:inter_token_latency_seconds")
	if math.Abs(first+rest-e2e) > 1e-6 || e2e <= 0 {
		t.Errorf("%v s to first tokens and %v s between tokens are not the whole, %v s", first, rest, e2e)
	}
}

// total is the sum of a counter's or gauge's series.
func total(t *testing.T, e *engine, name string) (sum float64) {
	t.Helper()
	for _, m := range expositiontest.Gather(t, e.met.registry)[name].GetMetric() {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
	}
	return sum
}

// sumAndCount are those of a histogram.
func sumAndCount(t *testing.T, e *engine, name string) (sum float64, count uint64) {
	t.Helper()
	h := expositiontest.Gather(t, e.met.registry)[name].GetMetric()[0].GetHistogram()
	return h.GetSampleSum(), h.GetSampleCount()
}
