package compare

import (
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// What makes two sides unlike is said beside the verdicts; what is the same on
// both is not mentioned.
func TestDoubts(t *testing.T) {
	tests := []struct {
		name   string
		change func(*result.Step) // of the second side
		want   string             // nothing for no warning
	}{
		{"the same", func(*result.Step) {}, ""},
		{"fewer in flight", achieved(94), "achieved concurrency: a 100, b 94.0 of 100 configured."},
		{"nearly as many in flight", achieved(96), ""},
		{"more failures", failures(20), "failures: a 0 %, b 2.0 %."},
		{"a failure or two", failures(5), ""},
		{"longer prompts", func(s *result.Step) { s.Whole.Distributions[result.PromptLength] = result.Distribution{Mean: 260} }, "mean prompt length: a 220, b 260 tokens."},
		{"shorter answers", func(s *result.Step) { s.Whole.Distributions[result.OutputLength] = result.Distribution{Mean: 200} }, "mean answer length: a 250, b 200 tokens."},
		{"cache", func(s *result.Step) { s.Checks.CachedTokens = 500 }, "prompt tokens from the server's prefix cache: a 0 %, b 50 %."},
		{"cache not told", func(s *result.Step) { s.Checks.CachedTokens, s.Checks.CacheKnown = 500, false }, ""},
		{"clock", func(s *result.Step) { s.Checks.KernelClock = 0 }, "clock: "},
		{"killed", func(s *result.Step) { s.Stop = "" }, "cut short (killed, interrupted, too many failures, or the server gone): a 0 of 1 runs, b 1 of 1."},
		{"gave up", func(s *result.Step) { s.Stop = runlog.StopFailureRatio }, "cut short"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cached := func(s *result.Step) { s.Checks.CacheKnown, s.Checks.PromptTokens = true, 1000 }
			a, b := users(100, cached), users(100, cached, tt.change)
			got := strings.Join(doubts("a", []*result.Step{&a}, "b", []*result.Step{&b}), "\n")
			if !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" || strings.Count(got, "\n") > 0 {
				t.Errorf("warnings:\n%s\nwant: %s", got, tt.want)
			}
		})
	}
}

// Under an open loop the requests in flight follow from the latency: only the rate
// is held against each other.
func TestOpenLoopIsHeldByItsRate(t *testing.T) {
	open := func(rate, inFlight float64) *result.Step {
		s := users(0, achieved(inFlight))
		s.Arrival, s.Rate = runlog.ArrivalPoisson, 4
		s.Checks.Configured, s.Checks.ConfiguredRate, s.Checks.AchievedRate = 0, 4, rate
		return &s
	}
	if got := doubts("a", []*result.Step{open(4, 40)}, "b", []*result.Step{open(4, 20)}); len(got) > 0 {
		t.Errorf("warnings of another latency: %q", got)
	}
	got := doubts("a", []*result.Step{open(4, 40)}, "b", []*result.Step{open(3, 40)})
	if len(got) != 1 || !strings.HasPrefix(got[0], "achieved rate: a 4.00, b 3.00 req/s of 4.00 configured.") {
		t.Errorf("warnings of another rate: %q", got)
	}
}

// Different settings are named, and every difference found under them is marked.
func TestDifferentSettingsAreNamed(t *testing.T) {
	sides := interleaved()
	for _, r := range sides[1].Reports {
		r.Runs[0].Model = "qwen3"
		r.Runs[0].Seed = 7
		r.Runs[0].DatasetPath = "/elsewhere/open_qa.jsonl" // the same file on another machine
		for i := range r.Steps {
			r.Steps[i].Timeout, r.Steps[i].Warmups = time.Minute, 20
		}
	}
	c := compared(t, sides)
	want := []string{
		"different model: side none qwen2.5, side node0 qwen3.",
		"different seed: side none 0, side node0 7.",
		"different timeout of a request: side none 2m0s, side node0 1m0s.",
		"different warm-up: side none 0 requests, side node0 20 requests.",
	}
	if got := strings.Join(c.Warnings, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("warnings:\n%s", got)
	}
	var out strings.Builder
	if err := c.Text(&out); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, "better (") && !strings.HasSuffix(line, " !\n") {
			t.Errorf("not marked: %s", line)
		}
	}
}

// A level that only one side ran has its own settings, which are no difference.
func TestSettingsOfOtherLevelsDoNotCount(t *testing.T) {
	sides := interleaved()
	for _, r := range sides[1].Reports {
		r.Steps[2].Step.Requests = 5000 // of concurrency 200
	}
	if c := compared(t, sides); len(c.Warnings) > 0 {
		t.Errorf("warnings: %q", c.Warnings)
	}
}
