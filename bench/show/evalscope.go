package show

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// Evalscope writes the summary of evalscope 0.5.5 of a whole step, and the line
// of metrics that evalscope-perf adds to it: the same labels, so that scripts
// which search for them go on working, and honest figures. Total requests are
// all that were attempted; the time to the first token is that, not the
// latency; the time per output token is the mean TPOT in seconds; a package is
// a chunk of text, and its latency the mean gap between two of them. Averages
// and percentiles are of the requests that gave samples. Of the percentiles
// (50, 66, 75, 80, 90, 95, 98, 99) those are left out that the report does not
// hold.
func Evalscope(w io.Writer, s *result.Step) error {
	var p page
	f, a := &s.Whole, &s.Account
	p.line("Benchmarking summary: ")
	p.fact("Time taken for tests: %.3f seconds", f.Window.Duration().Seconds())
	p.line(" Expected number of requests: %d", expected(s))
	p.line(" Number of concurrency: %d", concurrency(s))
	p.line(" Total requests: %d", a.Attempted)
	p.line(" Succeed requests: %d", a.Succeeded)
	p.line(" Failed requests: %d", a.Failures())
	p.fact("Average QPS: %.3f", f.RequestThroughput)
	p.fact("Average latency: %.3f", f.Of(result.E2E).Mean)
	p.fact("Throughput(average output tokens per second): %.3f", f.OutputThroughput)
	p.fact("Average time to first token: %.3f", f.Of(result.TTFT).Mean)
	p.fact("Average input tokens per request: %.3f", shareOf(f.PromptTokens, int64(a.Succeeded)))
	p.fact("Average output tokens per request: %.3f", shareOf(f.OutputTokens, int64(a.Succeeded)))
	p.fact("Average time per output token: %.5f", f.Of(result.TPOT).Mean)
	// Each request with text has one gap less than it has chunks.
	p.fact("Average package per request: %.3f", shareOf(f.Of(result.ITL).Count+f.Of(result.TTFT).Count, f.Of(result.TTFT).Count))
	packageLatency := f.Of(result.ITL).Mean
	if f.Of(result.ITL).Count == 0 {
		packageLatency = f.Of(result.TTFT).Mean
	}
	p.fact("Average package latency: %.3f", packageLatency)
	p.evalscopePercentiles("time to first token", f.Of(result.TTFT))
	p.evalscopePercentiles("request latency", f.Of(result.E2E))
	p.line("")
	p.line("📌 Metrics: {'Average QPS': %s, 'Average latency': %s, 'Throughput': %s}",
		pythonFloat(f.RequestThroughput), pythonFloat(f.Of(result.E2E).Mean), pythonFloat(f.OutputThroughput))
	return p.writeTo(w)
}

// fact writes one line of evalscope's; format holds one verb.
func (p *page) fact(format string, v float64) { p.line(" "+format, finite(v)) }

func (p *page) evalscopePercentiles(name string, d result.Distribution) {
	headed := false
	for _, q := range []float64{50, 66, 75, 80, 90, 95, 98, 99} {
		v, ok := d.At(q)
		if !ok || d.Count == 0 {
			continue
		}
		if !headed {
			p.line(" Percentile of %s: ", name)
			headed = true
		}
		p.line("     p%s: %.4f", words.Percentile(q), finite(v))
	}
}

// expected is how many requests were asked for; all that were attempted where
// another limit ended the step.
func expected(s *result.Step) int {
	if s.Step.Requests > 0 {
		return s.Step.Requests
	}
	return s.Account.Attempted
}

// concurrency is the configured one, and the most that was seen where none was.
func concurrency(s *result.Step) int {
	if n := bound(&s.Step); n > 0 {
		return n
	}
	return s.Whole.PeakConcurrency
}

func shareOf(part, all int64) float64 {
	if all == 0 {
		return 0
	}
	return float64(part) / float64(all)
}

// pythonFloat writes v, rounded to three digits, as Python's repr does.
func pythonFloat(v float64) string {
	text := strconv.FormatFloat(math.Round(finite(v)*1e3)/1e3, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// EvalscopeFileName is the name under which evalscope-perf keeps the summary:
// {model}_{dataset}_p{P}.txt, P being the number of users; the second of several
// repeats has _r2 before the .txt. A data set given by its path is named by its
// file, up to the first dot. What a file name cannot safely hold is replaced, so
// that the name never leaves its folder.
func EvalscopeFileName(model, dataset string, s *result.Step) string {
	dataset = dataset[strings.LastIndexAny(dataset, `/\`)+1:]
	dataset, _, _ = strings.Cut(dataset, ".")
	return fmt.Sprintf("%s_%s_p%d%s.txt", FileName(model, "model"), FileName(dataset, "dataset"), s.Concurrency, repeatName("_r", s))
}

// repeatName tells repeats of one level apart; the first goes without.
func repeatName(mark string, s *result.Step) string {
	if s.Repeat == 0 {
		return ""
	}
	return mark + strconv.Itoa(s.Repeat+1)
}

const maxNamePart = 80 // bytes of each part of a file name; file systems allow 255

// FileName makes name fit to be a part of a file name on any system: no
// separator, blank, control character or mark with a meaning to a shell, nothing
// at its start that hides the file or looks like a flag, and 80 bytes at most. It is
// fallback where nothing of name is left.
func FileName(name, fallback string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(`/\:*?"'<>|&;$()[]{}!#~%`+"`", r), r <= ' ':
			return '_'
		}
		return r
	}, words.Clean(name))
	name = strings.Trim(name, "._-")
	if len(name) > maxNamePart {
		name = strings.ToValidUTF8(name[:maxNamePart], "")
	}
	if name == "" {
		return fallback
	}
	return name
}
