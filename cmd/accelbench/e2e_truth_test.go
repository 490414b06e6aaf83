//go:build e2e

package main

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/docs/expositiontest"
)

// served is what the server's own metrics say of all requests.
type served struct {
	requests, prompt, output int
	ttft, e2e                float64 // mean seconds
}

func readServed(t *testing.T, url string) served {
	t.Helper()
	page, err := get(url + "/metrics")
	noError(t, err)
	families := expositiontest.Families(t, page)
	total := func(name string) (sum float64) {
		for _, m := range families["vllm:"+name].GetMetric() {
			sum += m.GetCounter().GetValue()
		}
		return sum
	}
	mean := func(name string) float64 {
		h := families["vllm:"+name].GetMetric()[0].GetHistogram()
		return h.GetSampleSum() / float64(h.GetSampleCount())
	}
	return served{
		requests: int(total("request_success_total")),
		prompt:   int(total("prompt_tokens_total")),
		output:   int(total("generation_tokens_total")),
		ttft:     mean("time_to_first_token_seconds"),
		e2e:      mean("e2e_request_latency_seconds"),
	}
}

// compareTotals wants counts to agree exactly, and mean latencies to within what the
// loopback and a busy machine add.
func compareTotals(t *testing.T, o outcome, truth served) {
	t.Helper()
	var got served
	var busy float64 // requests in flight × seconds
	for _, s := range o.report.Steps {
		got.requests += s.Account.Succeeded
		got.prompt += s.Whole.PromptTokens
		got.output += s.Whole.OutputTokens
		busy += s.Checks.AchievedWhole * s.Whole.Window.To.Sub(s.Whole.Window.From).Seconds()
	}
	if diff := cmp.Diff([]int{truth.requests, truth.prompt, truth.output}, []int{got.requests, got.prompt, got.output}); diff != "" {
		t.Errorf("requests, prompt and output tokens (-server +report):\n%s", diff)
	}
	if served := truth.e2e * float64(truth.requests); math.Abs(busy-served) > 0.05*served {
		t.Errorf("%.1f request seconds in flight, the server says %.1f", busy, served)
	}
	all := requestsOf(t, o.folder)
	for _, r := range all {
		ttft, _ := openai.TTFT(&r.Trace)
		e2e, _ := openai.E2E(&r.Trace)
		got.ttft += ttft.Seconds() / float64(len(all))
		got.e2e += e2e.Seconds() / float64(len(all))
	}
	for name, pair := range map[string][2]float64{"TTFT": {got.ttft, truth.ttft}, "latency": {got.e2e, truth.e2e}} {
		if more := pair[0] - pair[1]; more < 0 || more > 0.01 {
			t.Errorf("the client's mean %s is %.4f s more than the server's", name, more)
		}
	}
}

// compareStep wants a step to be as it was asked for.
func compareStep(t *testing.T, s stepFile, users, requests int) {
	t.Helper()
	a := s.Account
	got := []int{a.Attempted, a.Succeeded, len(a.Failed), a.Canceled, s.Load.Concurrency}
	if diff := cmp.Diff([]int{requests, requests, 0, 0, users}, got); diff != "" {
		t.Errorf("%s users: attempted, succeeded, failed, canceled, users (-want +report):\n%s", s.Name, diff)
	}
	if s.Whole.Peak > users || s.Checks.KernelClock != 1 {
		t.Errorf("%s users: %d at the peak, kernel's stamps on %.2f of the answers", s.Name, s.Whole.Peak, s.Checks.KernelClock)
	}
	if s.Steady == nil || math.Abs(s.Checks.Achieved-float64(users)) > 0.05*float64(users) {
		t.Errorf("%s users: %.1f achieved, steady: %t", s.Name, s.Checks.Achieved, s.Steady != nil)
	}
}
