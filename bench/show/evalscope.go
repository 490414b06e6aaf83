package show

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// evalscopeSummary is the summary of evalscope 0.5.5, up to its percentiles.
const evalscopeSummary = `Benchmarking summary: 
 Time taken for tests: %.3f seconds
 Expected number of requests: %d
 Number of concurrency: %d
 Total requests: %d
 Succeed requests: %d
 Failed requests: %d
 Average QPS: %.3f
 Average latency: %.3f
 Throughput(average output tokens per second): %.3f
 Average time to first token: %.3f
 Average input tokens per request: %.3f
 Average output tokens per request: %.3f
 Average time per output token: %.5f
 Average package per request: %.3f
 Average package latency: %.3f`

// evalscope writes the summary of evalscope 0.5.5 of a whole step, and the line of
// metrics that evalscope-perf adds to it: the same labels, so that scripts which search
// for them go on working, and honest figures. Total requests are all that were attempted;
// the time to the first token is that, not the latency; a package is a chunk of text, and
// its latency the mean gap between two of them, or the wait for the only one.
func (l *lines) evalscope(s *result.Step) {
	f, a := &s.Whole, &s.Account
	ttft, itl, e2e := f.Of(result.TTFT), f.Of(result.ITL), f.Of(result.E2E)
	packageLatency := itl.Mean
	if itl.Count == 0 {
		packageLatency = ttft.Mean
	}
	succeeded := float64(max(1, a.Succeeded))
	l.line(evalscopeSummary, f.Window.Duration().Seconds(), expected(s), bound(&s.Step), a.Attempted, a.Succeeded, a.Failures(),
		f.RequestThroughput, e2e.Mean, f.OutputThroughput, ttft.Mean, float64(f.PromptTokens)/succeeded, float64(f.OutputTokens)/succeeded,
		f.Of(result.TPOT).Mean, float64(itl.Count+ttft.Count)/float64(max(1, ttft.Count)), packageLatency)
	l.evalscopePercentiles("time to first token", ttft)
	l.evalscopePercentiles("request latency", e2e)
	l.line("\n📌 Metrics: {'Average QPS': %s, 'Average latency': %s, 'Throughput': %s}",
		pythonFloat(rounded(f.RequestThroughput)), pythonFloat(rounded(e2e.Mean)), pythonFloat(rounded(f.OutputThroughput)))
}

// evalscopePercentiles writes those of evalscope's percentiles that are held.
func (l *lines) evalscopePercentiles(name string, d result.Distribution) {
	l.line(" Percentile of %s: ", name)
	for _, p := range []float64{50, 66, 75, 80, 90, 95, 98, 99} {
		if v, held := d.At(p); held {
			l.line("     p%g: %.4f", p, v.Value)
		}
	}
}

func rounded(v float64) float64 { return math.Round(v*1e3) / 1e3 }

// expected is how many requests were asked for; all that were attempted where another
// limit ended the step.
func expected(s *result.Step) int { return cmp.Or(s.Requests, s.Account.Attempted) }

// pythonFloat writes v as Python's repr does.
func pythonFloat(v float64) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
