package show

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// EvalscopeFileName is evalscope-perf's {model}_{dataset}_p{P}.txt, P being the number of users. A data set given by
// its path is named by its file, up to the first dot.
func EvalscopeFileName(model, dataset string, s *result.Step) string {
	dataset, _, _ = strings.Cut(path.Base(dataset), ".")
	return fmt.Sprintf("%s_%s_p%d%s.txt", FileName(model, "model"), FileName(dataset, "dataset"), s.Concurrency, repeatName(s))
}

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

// evalscope writes the summary of evalscope 0.5.5 of a whole step, and the line of metrics that evalscope-perf adds:
// the same labels, and honest figures. The time to the first token is that, not the latency; a package is a chunk of
// text.
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

	percentiles := func(name string, d result.Distribution) {
		l.line(" Percentile of %s: ", name)
		for _, p := range []float64{50, 66, 75, 80, 90, 95, 98, 99} {
			if v, ok := d.At(p); ok {
				l.line("     p%g: %.4f", p, v.Value)
			}
		}
	}
	percentiles("time to first token", ttft)
	percentiles("request latency", e2e)

	metric := func(v float64) string { return pythonFloat(math.Round(v*1e3) / 1e3) }
	l.line("\n📌 Metrics: {'Average QPS': %s, 'Average latency': %s, 'Throughput': %s}",
		metric(f.RequestThroughput), metric(e2e.Mean), metric(f.OutputThroughput))
}

// expected is how many requests were asked for, or were attempted where another limit ended the step.
func expected(s *result.Step) int { return cmp.Or(s.Requests, s.Account.Attempted) }

// pythonFloat writes v as Python's repr does.
func pythonFloat(v float64) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}
