package fakevllm

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

// TestMetricsAgree serves a known set of requests and reads what it cost.
func TestMetricsAgree(t *testing.T) {
	s, hs := serve(t, quick())
	words := strings.Repeat("word ", 40)
	for range 3 {
		post(t, hs.URL+"/v1/completions", `{"prompt":"`+words+`","max_tokens":10,"ignore_eos":true}`)
	}
	post(t, hs.URL+"/v1/completions", `{"prompt":"`+words+`","max_tokens":10,"ignore_eos":true,"cache_salt":"x"}`)
	post(t, hs.URL+"/v1/chat/completions", `{"messages":[{"content":"hi"}]}`) // ends by itself
	post(t, hs.URL+"/fault/http_500/v1/completions", `{}`)
	post(t, hs.URL+"/v1/completions", `{"prompt":"a","model":"other"}`)

	natural := naturalLength(s.cfg, 5)
	families, err := s.engine.met.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, f := range families {
		byName[f.GetName()] = f
	}
	for name, want := range map[string]float64{
		"vllm:prompt_tokens_total":        161,
		"vllm:generation_tokens_total":    float64(40 + natural),
		"vllm:prefix_cache_queries_total": 161,
		"vllm:prefix_cache_hits_total":    64, // 2 blocks of 16, twice
		"vllm:num_preemptions_total":      0,
		"vllm:num_requests_running":       0,
		"vllm:num_requests_waiting":       0,
		"vllm:kv_cache_usage_perc":        0,
		"vllm:gpu_cache_usage_perc":       0,
		"vllm:request_success_total":      5,
	} {
		if got := counterValue(t, s.engine, name); got != want || byName[name] == nil {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string]struct {
		count uint64
		sum   float64 // checked where it is no time
		first float64 // boundary
		last  float64
	}{
		"vllm:time_to_first_token_seconds":           {5, -1, 0.001, 2560},
		"vllm:inter_token_latency_seconds":           {uint64(35 + natural), -1, 0.01, 80},
		"vllm:time_per_output_token_seconds":         {uint64(35 + natural), -1, 0.01, 80},
		"vllm:request_time_per_output_token_seconds": {5, -1, 0.01, 80},
		"vllm:e2e_request_latency_seconds":           {5, -1, 0.3, 7680},
		"vllm:request_queue_time_seconds":            {5, -1, 0.3, 7680},
		"vllm:request_inference_time_seconds":        {5, -1, 0.3, 7680},
		"vllm:request_prefill_time_seconds":          {5, -1, 0.3, 7680},
		"vllm:request_decode_time_seconds":           {5, -1, 0.3, 7680},
		"vllm:request_prompt_tokens":                 {5, 161, 1, 20000},
		"vllm:request_generation_tokens":             {5, float64(40 + natural), 1, 20000},
	} {
		f := byName[name]
		if f == nil {
			t.Errorf("no %s", name)
			continue
		}
		h := f.GetMetric()[0].GetHistogram()
		bounds := h.GetBucket()
		if h.GetSampleCount() != want.count || bounds[0].GetUpperBound() != want.first || bounds[len(bounds)-1].GetUpperBound() != want.last {
			t.Errorf("%s: count %d, boundaries %v to %v", name, h.GetSampleCount(), bounds[0].GetUpperBound(), bounds[len(bounds)-1].GetUpperBound())
		}
		if want.sum >= 0 && h.GetSampleSum() != want.sum {
			t.Errorf("%s: sum %v, want %v", name, h.GetSampleSum(), want.sum)
		}
	}
	checkTimes(t, histogramsOf(t, s.engine))
	checkLint(t, families)
	checkLabels(t, families)
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

func checkLabels(t *testing.T, families []*dto.MetricFamily) {
	t.Helper()
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := []string{}
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			for _, want := range []string{"model_name=qwen2.5", "engine=0"} {
				if !slices.Contains(labels, want) {
					t.Errorf("%s has labels %v", f.GetName(), labels)
				}
			}
		}
	}
}

func TestMetricsFormats(t *testing.T) {
	_, hs := serve(t, quick())
	for accept, want := range map[string]string{
		"application/openmetrics-text;version=1.0.0": `vllm:e2e_request_latency_seconds_bucket{engine="0",model_name="qwen2.5",le="1.0"} 0`,
		"text/plain": `vllm:e2e_request_latency_seconds_bucket{engine="0",model_name="qwen2.5",le="1"} 0`,
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, hs.URL+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", accept)
		resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || !strings.HasPrefix(resp.Header.Get("Content-Type"), strings.Split(accept, ";")[0]) || !strings.Contains(string(body), want+"\n") {
			t.Errorf("Accept %s: %v, %v, without %s", accept, err, resp.Header, want)
		}
		for _, reason := range []string{"stop", "length", "abort", "error", "repetition"} {
			if !strings.Contains(string(body), `finished_reason="`+reason+`"`) {
				t.Errorf("no series of requests finished by %s from the start", reason)
			}
		}
	}
}

// TestRequestPerToken: a request of 11 tokens has the mean of its 10 gaps, one of a
// single token has 0.
func TestRequestPerToken(t *testing.T) {
	s, hs := serve(t, quick())
	for _, n := range []string{"11", "1"} {
		post(t, hs.URL+"/v1/completions", `{"prompt":"a","max_tokens":`+n+`,"ignore_eos":true}`)
	}
	h := histogramsOf(t, s.engine)
	got, gaps := h["vllm:request_time_per_output_token_seconds"], h["vllm:inter_token_latency_seconds"]
	if diff := got.GetSampleSum() - gaps.GetSampleSum()/10; got.GetSampleCount() != 2 || gaps.GetSampleCount() != 10 || max(diff, -diff) > 1e-9 || got.GetSampleSum() <= 0 {
		t.Errorf("%d requests with %v s, want 2 with a tenth of %v s", got.GetSampleCount(), got.GetSampleSum(), gaps.GetSampleSum())
	}
}
