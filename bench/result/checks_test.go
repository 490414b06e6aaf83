package result

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func TestClientCPU(t *testing.T) {
	cpu := func(from, to float64) func(*memlog) {
		return func(l *memlog) {
			l.sample(0, 0, runlog.SourceClient, runlog.Series{Name: "process_cpu_seconds_total", Value: from})
			l.sample(0, 10*time.Second, runlog.SourceClient, runlog.Series{Name: "process_cpu_seconds_total", Value: to})
		}
	}
	s := stepOf(t, Options{}, tenSeconds("calm", cpu(100, 105)), tenSeconds("busy", cpu(0, 35)))
	if s.Checks.ClientCPU != 4 {
		t.Errorf("%v cores, want 0.5 and 3.5", s.Checks.ClientCPU)
	}
	all := strings.Join(s.Warnings, "\n")
	if !strings.Contains(all, "The load generator was the limit: it used 3.50 of the 4 cores of busy") || strings.Contains(all, "calm") {
		t.Errorf("warnings %q", s.Warnings)
	}
}

func TestChecks(t *testing.T) {
	requests := everySecond(20, time.Second)
	for i := range requests {
		r := &requests[i].Trace
		r.Lag = openai.Lag{Reads: 2, Sum: time.Duration(i+40) * time.Microsecond, Max: 40 * time.Microsecond, Last: time.Duration(i) * time.Microsecond}
		switch {
		case i < 2:
			r.Reused, r.Phases = false, openai.Phases{Resolve: 1e6, Connect: 2e6, TLS: 3e6, Send: 4e6}
		case i < 4:
			r.Usage, r.TokenSource, r.Clock = nil, openai.TokensChunks, openai.ClockUser
		case i < 9:
			r.Usage = &openai.Usage{PromptTokens: 100, CompletionTokens: 2, CachedTokens: new(64)}
		}
	}
	requests[3].ExpectedTokens = 77
	requests = append(requests, failed(0, time.Second, openai.ReasonHTTP5xx))
	s := stepOf(t, Options{}, newMemlog("a").step(closed(1, 20), requests, false).ended())
	want := Checks{
		Achieved: 20.0 / 19, AchievedWhole: 21.0 / 20, AchievedRate: 20.0 / 19, KernelClock: 0.9,
		ClientLag: 24.75e-6, MostLag: 40e-6,
		TokensBy:     map[openai.TokenSource]int{openai.TokensUsage: 18, openai.TokensChunks: 2},
		PromptTokens: 513, CachedTokens: 320, CacheKnown: true,
	}
	equal(t, "checks", want, s.Checks, cmpopts.EquateApprox(1e-9, 0), cmpopts.IgnoreFields(Checks{}, "Trends", "Arrivals", "ArrivalsOff"))
	if d := s.Whole.Of(Setup); d.Count != 2 || d.Mean != 0.006 {
		t.Errorf("setup %+v, want 2 of 6 ms", d)
	}
	if d := s.Whole.Of(PromptLength); d.Count != 19 || d.Min != 1 || d.Max != 100 {
		t.Errorf("prompt lengths %+v, want 19: one was told by nobody", d)
	}
}

// TestRateBehindARamp has requests at 5 a second for 10 s, then at 20 a second for
// 10 s: the rate to hold against 20 is the latter.
func TestRateBehindARamp(t *testing.T) {
	var requests []runlog.Request
	for i := range 50 {
		requests = append(requests, answered(time.Duration(i)*200*time.Millisecond, 10, 3, 50*time.Millisecond, 100*time.Millisecond))
	}
	for i := range 200 {
		requests = append(requests, answered(10*time.Second+time.Duration(i)*50*time.Millisecond, 10, 3, 50*time.Millisecond, 100*time.Millisecond))
	}
	step := runlog.Step{Started: noon, Arrival: runlog.ArrivalConstant, Rate: 20, RampUp: 10 * time.Second}
	s := stepOf(t, Options{}, newMemlog("a").step(step, requests, false).ended())
	if c := s.Checks; c.AchievedRate != 20 || len(s.Warnings) > 0 {
		t.Errorf("%v requests a second were achieved, want 20; warnings %q", c.AchievedRate, s.Warnings)
	}
	// What is late once the ramp is over is not hidden by the ramp's lower rate.
	for i := range 200 {
		r := &requests[50+i].Trace
		r.Started = r.Planned.Add(time.Duration(i) * 10 * time.Millisecond)
	}
	s = stepOf(t, Options{}, newMemlog("a").step(step, requests, false).ended())
	if all := strings.Join(s.Warnings, "\n"); !strings.Contains(all, "requests of 19.9 s were sent in 21.9 s") {
		t.Errorf("warnings %q", s.Warnings)
	}
}

// TestAnswersWithoutText: their tokens were made and count, at the answer's end;
// there is nothing to take a latency from.
func TestAnswersWithoutText(t *testing.T) {
	requests := everySecond(20, time.Second)
	for i := range requests {
		r := &requests[i].Trace
		r.Chunks = nil
		r.Usage = &openai.Usage{PromptTokens: 10, CompletionTokens: 5}
	}
	s := stepOf(t, Options{Goodput: runlog.Objectives{{Measure: TTFT, Limit: 0.001}}}, newMemlog("a").step(closed(1, 20), requests, false).ended())
	if a := s.Account; a.Succeeded != 20 || s.Whole.OutputTokens != 100 || s.Whole.Of(OutputLength).Mean != 5 {
		t.Errorf("%d succeeded with %d tokens, %v each; want 20 with 100, 5 each", a.Succeeded, s.Whole.OutputTokens, s.Whole.Of(OutputLength).Mean)
	}
	if n := s.Whole.Of(TTFT).Count + s.Whole.Of(E2E).Count + s.Whole.Of(TPOT).Count + s.Whole.Of(ITL).Count; n != 0 {
		t.Errorf("%d samples of latency of answers without text", n)
	}
	if good := s.Whole.GoodRatio(); good != 0 {
		t.Errorf("%v of the answers without text are good, want 0", good)
	}
}

// TestPromptLengths: a report says what the server counted for prompts that have their
// length only about.
func TestPromptLengths(t *testing.T) {
	requests := everySecond(20, time.Second)
	for i := range requests {
		requests[i].Trace.Usage.PromptTokens = 530
		if i < 6 {
			requests[i].AimedTokens = 510
		}
	}
	got := stepOf(t, Options{}, newMemlog("a").step(closed(1, 20), requests, false).ended()).Checks.Prompts
	want := Prompts{Counted: 6, AimedTokens: 6 * 510, CountedTokens: 6 * 530}
	equal(t, "prompts", want, got)
}
