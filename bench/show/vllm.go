package show

import (
	"io"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// VLLMOptions say what of vLLM's forms is wanted. The zero value is vLLM's own
// default.
type VLLMOptions struct {
	// Metrics, as --percentile-metrics has them: ttft, tpot, itl, e2el,
	// client_queue_time, e2el_including_client_queue. The first three when empty;
	// other names are passed over.
	Metrics []string
	// Percentiles, as --metric-percentiles; 99 when empty. The report must have
	// been made with them: those that it does not hold are left out.
	Percentiles []float64
}

// VLLM writes the block "Serving Benchmark Result" of a whole step, with the
// names, the order and the widths of vLLM benchmarks/serve.py. Where there are
// no samples it says 0.00, as vLLM does. The users of a closed loop are its
// maximum request concurrency; the peak of the output counts tokens, not chunks.
// The wait in the client comes where it was asked for and there was a bound.
func VLLM(w io.Writer, s *result.Step, o VLLMOptions) error {
	var p page
	f := &s.Whole
	p.line("%s", center(" Serving Benchmark Result ", "="))
	p.count("Successful requests:", int64(s.Account.Succeeded))
	p.count("Failed requests:", int64(s.Account.Failures()))
	if n := bound(&s.Step); n > 0 {
		p.count("Maximum request concurrency:", int64(n))
	}
	if s.Rate > 0 {
		p.value("Request rate configured (RPS):", s.Rate)
	}
	p.value("Benchmark duration (s):", f.Window.Duration().Seconds())
	p.count("Total input tokens:", f.PromptTokens)
	p.count("Total generated tokens:", f.OutputTokens)
	p.value("Request throughput (req/s):", f.RequestThroughput)
	if f.Goodput != nil {
		p.value("Request goodput (req/s):", *f.Goodput)
	}
	p.value("Output token throughput (tok/s):", f.OutputThroughput)
	p.value("Peak output token throughput (tok/s):", f.PeakOutputThroughput)
	p.value("Peak concurrent requests:", float64(f.PeakConcurrency))
	p.value("Total token throughput (tok/s):", f.TotalThroughput)
	for _, section := range vllmSections(s, o) {
		p.line("%s", center(section.title, "-"))
		for _, v := range section.values {
			if v.label != "" {
				p.value(v.label+" "+section.name+" (ms):", v.millis)
			}
		}
	}
	p.line("%s", strings.Repeat("=", vllmWidth))
	return p.writeTo(w)
}

const vllmWidth = 50

func (p *page) count(label string, n int64)   { p.line("%-40s %-10d", label, n) }
func (p *page) value(label string, v float64) { p.line("%-40s %-10.2f", label, finite(v)) }

// center puts a title between marks; an odd one is on its right, as Python's
// format has it.
func center(title, mark string) string {
	left := (vllmWidth - len(title)) / 2
	return strings.Repeat(mark, left) + title + strings.Repeat(mark, vllmWidth-len(title)-left)
}

// bound is vLLM's maximum concurrency, 0 where there is none.
func bound(s *runlog.Step) int {
	if s.Concurrency > 0 {
		return s.Concurrency
	}
	return s.MaxConcurrency
}

// vllmSection is one measure in vLLM's words.
type vllmSection struct {
	attribute, name, title string
	values                 []vllmValue
}

// vllmValue is one statistic: its key begins with key; it is printed only with a
// label.
type vllmValue struct {
	key, label string
	millis     float64
}

func vllmSections(s *result.Step, o VLLMOptions) []vllmSection {
	metrics := o.Metrics
	if len(metrics) == 0 {
		metrics = []string{"ttft", "tpot", "itl"}
	}
	asked := func(name string) bool { return slices.Contains(metrics, name) }
	bounded := bound(&s.Step) > 0
	paced := s.Rate > 0 || s.Arrival == runlog.ArrivalReplay
	f := &s.Whole

	var sections []vllmSection
	add := func(wanted bool, attribute, name, title string, d result.Distribution) {
		if wanted {
			sections = append(sections, vllmSection{attribute, name, title, vllmValues(d, o.Percentiles)})
		}
	}
	add(asked("ttft"), "ttft", "TTFT", "Time to First Token", f.Of(result.TTFT))
	add(asked("tpot"), "tpot", "TPOT", "Time per Output Token (excl. 1st token)", f.Of(result.TPOT))
	add(asked("itl"), "itl", "ITL", "Inter-token Latency", f.Of(result.ITL))
	add(asked("e2el"), "e2el", "E2EL", "End-to-end Latency", f.Of(result.E2E))
	add(bounded && asked("client_queue_time"),
		"client_queue_time", "Client Queue Time", "Client-side Queueing", f.Of(result.Queue))
	add(bounded && paced && asked("e2el_including_client_queue"),
		"e2el_including_client_queue", "E2EL incl. Client Queue", "Queue-inclusive End-to-end Latency", f.Of(result.E2EFromPlanned))
	return sections
}

func vllmValues(d result.Distribution, percentiles []float64) []vllmValue {
	if len(percentiles) == 0 {
		percentiles = []float64{99}
	}
	median, _ := d.At(50)
	values := []vllmValue{
		{"mean", "Mean", finite(d.Mean * 1e3)},
		{"median", "Median", finite(median * 1e3)},
		{"std", "", finite(d.Std * 1e3)},
	}
	for _, p := range percentiles {
		v, ok := d.At(p)
		if !ok && d.Count > 0 {
			continue
		}
		name := words.Percentile(p)
		values = append(values, vllmValue{"p" + name, "P" + name, finite(v * 1e3)})
	}
	return values
}
