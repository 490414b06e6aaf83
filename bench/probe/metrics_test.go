package probe

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/common/model"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// withObjectives is a target with all of them.
func withObjectives(t testing.TB) Target {
	return makeTarget(t, func(s *Spec) {
		s.SLO = SLO{
			TimeToFirstToken:   model.Duration(200 * time.Millisecond),
			TimePerOutputToken: model.Duration(20 * time.Millisecond),
			InterTokenLatency:  model.Duration(40 * time.Millisecond),
			RequestDuration:    model.Duration(time.Second),
		}
	})
}

// A target whose model is configured has all its counters and histograms at 0
// before its first probe, so that a rate is right from the first failure on.
func TestSeriesFromTheStart(t *testing.T) {
	p := New(log.NewNopLogger())
	noError(t, p.Apply([]Target{withObjectives(t)}))
	var want []string
	for _, name := range []string{
		"time_to_first_token_seconds_count", "time_per_output_token_seconds_count", "inter_token_latency_seconds_count",
		"request_duration_seconds_count", "client_lag_seconds_count", "start_delay_seconds_count",
		"requests_total", "skipped_total", "prompt_tokens_total", "output_tokens_total", "in_flight",
	} {
		want = append(want, name+`{model="m",target="a"}`)
	}
	for _, reason := range []string{
		"dns", "connect", "tls", "timeout_first_token", "timeout", "stalled", "http_4xx", "http_429", "http_5xx",
		"stream_error", "protocol", "truncated", "empty", "degenerate", "canceled",
	} {
		want = append(want, fmt.Sprintf(`failures_total{model="m",reason=%q,target="a"}`, reason))
	}
	for _, objective := range []string{"time_to_first_token", "time_per_output_token", "inter_token_latency", "request_duration"} {
		want = append(want, fmt.Sprintf(`slo_violations_total{model="m",objective=%q,target="a"}`, objective))
	}
	for _, phase := range []string{"resolve", "connect", "tls", "send", "wait"} {
		want = append(want, fmt.Sprintf(`phase_seconds{model="m",phase=%q,target="a"}`, phase))
	}
	for _, state := range States() {
		want = append(want, fmt.Sprintf(`state{model="m",state=%q,target="a"}`, state))
	}
	at0 := map[string]float64{}
	for _, series := range want {
		at0[series] = 0
	}
	at0[`state{model="m",state="unknown",target="a"}`] = 1
	equal(t, "series", at0, samples(t, p))
}

// observed is what one request adds to the series of a new target.
func observed(t *testing.T, target Target, trace *openai.Trace) map[string]float64 {
	p := New(log.NewNopLogger())
	noError(t, p.Apply([]Target{target}))
	trace.RequestID, trace.Model = "id", "m"
	p.observe(target, trace.Model, trace)
	got := map[string]float64{}
	for series, v := range only(samples(t, p), "") {
		series = strings.NewReplacer(`{model="m",target="a"}`, "", `model="m",`, "", `,target="a"`, "").Replace(series)
		if series != "last_success_timestamp_seconds" && !strings.HasPrefix(series, "state{") {
			got[series] = v
		}
	}
	return got
}

// What each kind of outcome leaves. A failed request gives no latency, except
// what was seen before a timeout or a stall; tokens are the server's count only.
func TestObserve(t *testing.T) {
	const ms = time.Millisecond
	chunks := func(at ...time.Duration) []openai.Chunk {
		var all []openai.Chunk
		for _, d := range at {
			all = append(all, openai.Chunk{At: d})
		}
		return all
	}
	const (
		ttft, tpot, itl, duration = "time_to_first_token_seconds_count", "time_per_output_token_seconds_count", "inter_token_latency_seconds_count", "request_duration_seconds_count"
		slowTTFT                  = `slo_violations_total{objective="time_to_first_token"}`
		slowTPOT                  = `slo_violations_total{objective="time_per_output_token"}`
		slowITL                   = `slo_violations_total{objective="inter_token_latency"}`
		slowDuration              = `slo_violations_total{objective="request_duration"}`
	)
	failures := func(r openai.Reason) string { return fmt.Sprintf("failures_total{reason=%q}", r) }
	tests := map[string]struct {
		trace openai.Trace
		want  map[string]float64
	}{
		"good": {
			openai.Trace{Chunks: chunks(200*ms, 210*ms, 240*ms), Usage: &openai.Usage{PromptTokens: 50, CompletionTokens: 3}, End: 250 * ms},
			map[string]float64{"success": 1, ttft: 1, itl: 2, tpot: 1, duration: 1, "prompt_tokens_total": 50, "output_tokens_total": 3},
		},
		"good, usage is not told": {
			openai.Trace{Chunks: chunks(200*ms, 210*ms), End: 250 * ms},
			map[string]float64{"success": 1, ttft: 1, itl: 1, tpot: 1, duration: 1},
		},
		"good, one token": {
			openai.Trace{Chunks: chunks(200 * ms), Usage: &openai.Usage{PromptTokens: 1, CompletionTokens: 1}},
			map[string]float64{"success": 1, ttft: 1, duration: 1, "prompt_tokens_total": 1, "output_tokens_total": 1},
		},
		"good, tokens without text": {
			openai.Trace{Usage: &openai.Usage{PromptTokens: 50, CompletionTokens: 2}, TokenSource: openai.TokensUsage, End: 10 * ms},
			map[string]float64{"success": 1, "prompt_tokens_total": 50, "output_tokens_total": 2, slowTTFT: 1, slowDuration: 1},
		},
		"good, every objective missed": {
			openai.Trace{Chunks: chunks(201*ms, 221*ms, 1001*ms)},
			map[string]float64{"success": 1, ttft: 1, itl: 2, tpot: 1, duration: 1, slowTTFT: 1, slowTPOT: 1, slowITL: 1, slowDuration: 1},
		},
		"good, a pause within": {
			openai.Trace{Chunks: chunks(100*ms, 141*ms, 142*ms, 143*ms)},
			map[string]float64{"success": 1, ttft: 1, itl: 3, tpot: 1, duration: 1, slowITL: 1},
		},
		"good, phases and lag": {
			openai.Trace{
				Chunks: chunks(100 * ms), Lag: openai.Lag{Reads: 2, Sum: 25 * time.Microsecond, Max: 20 * time.Microsecond, Last: 5 * time.Microsecond},
				Phases: openai.Phases{Resolve: 1 * ms, Connect: 2 * ms, TLS: 3 * ms, Send: 4 * ms, Wait: 5 * ms},
			},
			map[string]float64{
				"success": 1, ttft: 1, duration: 1, "client_lag_seconds_count": 1,
				`phase_seconds{phase="resolve"}`: 0.001, `phase_seconds{phase="connect"}`: 0.002, `phase_seconds{phase="tls"}`: 0.003,
				`phase_seconds{phase="send"}`: 0.004, `phase_seconds{phase="wait"}`: 0.005,
			},
		},
		"timed out before the first token": {
			openai.Trace{Failure: &openai.Failure{Reason: openai.ReasonTimeoutFirstToken}, End: 2 * time.Second},
			map[string]float64{failures(openai.ReasonTimeoutFirstToken): 1, slowTTFT: 1, slowDuration: 1},
		},
		"timed out before the first token, within the objective": {
			openai.Trace{Failure: &openai.Failure{Reason: openai.ReasonTimeoutFirstToken}, End: 150 * ms},
			map[string]float64{failures(openai.ReasonTimeoutFirstToken): 1},
		},
		"timed out after it": {
			openai.Trace{Chunks: chunks(100*ms, 110*ms, 2000*ms), Failure: &openai.Failure{Reason: openai.ReasonTimeout}, End: 2 * time.Second},
			map[string]float64{failures(openai.ReasonTimeout): 1, ttft: 1, itl: 2, slowITL: 1, slowDuration: 1},
		},
		"timed out, with a running usage": {
			openai.Trace{Chunks: chunks(100 * ms), Usage: &openai.Usage{PromptTokens: 50, CompletionTokens: 7}, TokenSource: openai.TokensUsage, Failure: &openai.Failure{Reason: openai.ReasonTimeout}, End: 110 * ms},
			map[string]float64{failures(openai.ReasonTimeout): 1, ttft: 1, "prompt_tokens_total": 50, "output_tokens_total": 7},
		},
		"stalled": {
			openai.Trace{Chunks: chunks(300*ms, 310*ms), Failure: &openai.Failure{Reason: openai.ReasonStalled}, End: 900 * ms},
			map[string]float64{failures(openai.ReasonStalled): 1, ttft: 1, itl: 1, slowTTFT: 1, slowITL: 1},
		},
	}
	for _, reason := range openai.Reasons() {
		if reason == openai.ReasonTimeoutFirstToken || reason == openai.ReasonTimeout || reason == openai.ReasonStalled {
			continue
		}
		tests["failed: "+string(reason)] = struct {
			trace openai.Trace
			want  map[string]float64
		}{
			openai.Trace{Chunks: chunks(time.Second, 2*time.Second, 3*time.Second), Failure: &openai.Failure{Reason: reason}, End: 4 * time.Second},
			map[string]float64{failures(reason): 1},
		}
	}
	for name, tt := range tests {
		tt.want["requests_total"], tt.want["start_delay_seconds_count"] = 1, 1
		equal(t, name, tt.want, observed(t, withObjectives(t), &tt.trace))
	}
	trace := openai.Trace{Chunks: chunks(time.Hour)}
	if got := only(observed(t, makeTarget(t, nil), &trace), "slo"); len(got) > 0 {
		t.Errorf("without objectives: violations %v", got)
	}
}

// The boundaries as vLLM's own /metrics writes them: only equal texts fall into
// the same series when both are summed by le.
func TestBoundariesAreThoseOfVLLM(t *testing.T) {
	const (
		ttft = "0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1.0 2.5 5.0 7.5 10.0 20.0 40.0 80.0 160.0 640.0 2560.0"
		itl  = "0.01 0.025 0.05 0.075 0.1 0.15 0.2 0.3 0.4 0.5 0.75 1.0 2.5 5.0 7.5 10.0 20.0 40.0 80.0"
		e2e  = "0.3 0.5 0.8 1.0 1.5 2.0 2.5 5.0 10.0 15.0 20.0 30.0 40.0 50.0 60.0 120.0 240.0 480.0 960.0 1920.0 7680.0"
	)
	p, _ := fakeLoop(makeTarget(t, nil), fakeClient{})
	r, w := prometheus.NewPedanticRegistry(), httptest.NewRecorder()
	r.MustRegister(p)
	req := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	promhttp.HandlerFor(r, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(w, req)
	for metric, vllm := range map[string]string{
		"time_to_first_token_seconds": ttft, "time_per_output_token_seconds": itl,
		"inter_token_latency_seconds": itl, "request_duration_seconds": e2e,
	} {
		have := map[string]bool{}
		for line := range strings.Lines(w.Body.String()) {
			if rest, ok := strings.CutPrefix(line, "accelerator_probe_"+metric+"_bucket{"); ok {
				_, rest, _ = strings.Cut(rest, `le="`)
				le, _, _ := strings.Cut(rest, `"`)
				have[le] = true
			}
		}
		var missing []string
		for _, le := range append(strings.Fields(vllm), "+Inf") {
			if !have[le] {
				missing = append(missing, le)
			}
		}
		if len(missing) > 0 || len(have) <= len(strings.Fields(vllm))+1 {
			t.Errorf("%s: %d boundaries, without %v", metric, len(have), missing)
		}
	}
}

// exemplars are the request ids that a histogram of p carries.
func exemplars(t *testing.T, p *Prober, metric string) []string {
	t.Helper()
	var ids []string
	for _, f := range gather(t, p) {
		if f.GetName() != "accelerator_probe_"+metric {
			continue
		}
		for _, m := range f.GetMetric() {
			for _, b := range m.GetHistogram().GetBucket() {
				for _, l := range b.GetExemplar().GetLabel() {
					ids = append(ids, l.GetName()+"="+l.GetValue())
				}
			}
		}
	}
	return ids
}

// Every success can be found in the server's log, and among its spans, by the id that was sent.
func TestExemplars(t *testing.T) {
	target := makeTarget(t, nil)
	p, l := fakeLoop(target, nil)
	histograms := []string{"time_to_first_token_seconds", "request_duration_seconds"}
	for i := range 5 {
		var id string
		l.client = fakeClient{stream: func(_ context.Context, r openai.Request) *openai.Trace {
			id = r.RequestID
			trace := goodTrace(r)
			trace.Chunks[0].At, trace.Chunks[2].At = time.Duration(1+i)*time.Millisecond, time.Duration(1+i)*time.Hour
			return trace
		}}
		l.probe(t.Context(), time.Now())
		for _, name := range histograms {
			if got := exemplars(t, p, name); !slices.Contains(got, "request_id="+id) || !slices.Contains(got, "trace_id="+id) {
				t.Errorf("%s: exemplars %v, without %s", name, got, id)
			}
		}
	}
}
