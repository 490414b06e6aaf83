package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// VLLMOptions say what of vLLM's forms is wanted. The zero value is vLLM's own default.
type VLLMOptions struct {
	// Metrics, as --percentile-metrics has them: ttft, tpot, itl, e2el,
	// client_queue_time, e2el_including_client_queue. The first three when empty; other
	// names are passed over.
	Metrics []string
	// Percentiles, as --metric-percentiles; 99 when empty. The report must have been
	// made with them: those that it does not hold are left out.
	Percentiles []float64
}

// vllmLatency is a latency in vLLM's words.
type vllmLatency struct {
	metric, name, title string
	key                 result.Key
}

var vllmLatencies = []vllmLatency{
	{"ttft", "TTFT", "Time to First Token", result.TTFT},
	{"tpot", "TPOT", "Time per Output Token (excl. 1st token)", result.TPOT},
	{"itl", "ITL", "Inter-token Latency", result.ITL},
	{"e2el", "E2EL", "End-to-end Latency", result.E2E},
	{"client_queue_time", "Client Queue Time", "Client-side Queueing", result.Queue},
	{"e2el_including_client_queue", "E2EL incl. Client Queue", "Queue-inclusive End-to-end Latency", result.E2EFromPlanned},
}

// latencies are those that were asked for and that vLLM has for such a step: waits only
// under a bound, latencies with them only where requests were paced too.
func (o VLLMOptions) latencies(s *result.Step) []vllmLatency {
	wanted := o.Metrics
	if len(wanted) == 0 {
		wanted = []string{"ttft", "tpot", "itl"}
	}
	bounded := bound(&s.Step) > 0
	paced := s.Rate > 0 || s.Arrival == runlog.ArrivalReplay
	return slices.DeleteFunc(slices.Clone(vllmLatencies), func(l vllmLatency) bool {
		return !slices.Contains(wanted, l.metric) ||
			l.key == result.Queue && !bounded ||
			l.key == result.E2EFromPlanned && !(bounded && paced)
	})
}

// vllmStatistic is one statistic of a latency, in milliseconds.
type vllmStatistic struct {
	name   string // "Mean", "P99"
	millis float64
}

// statistics are those of vLLM; without samples they are 0, as vLLM has them.
func (o VLLMOptions) statistics(d result.Distribution) []vllmStatistic {
	middle, _ := d.At(median)
	all := []vllmStatistic{{"Mean", d.Mean * 1e3}, {"Median", middle * 1e3}, {"Std", d.Std * 1e3}}
	percentiles := o.Percentiles
	if len(percentiles) == 0 {
		percentiles = []float64{usualPercentile}
	}
	for _, p := range percentiles {
		if v, held := d.At(p); held || d.Count == 0 {
			all = append(all, vllmStatistic{strings.ToUpper(percentileName(p)), v * 1e3})
		}
	}
	return all
}

// vllmBlock is the head of the block, for the lines that every step has.
const vllmBlock = `============ Serving Benchmark Result ============`

// VLLM writes the block "Serving Benchmark Result" of a whole step, with the names, the
// order and the widths of vLLM benchmarks/serve.py. The users of a closed loop are its
// maximum request concurrency; the peak of the output counts tokens, not chunks.
func VLLM(w io.Writer, s *result.Step, o VLLMOptions) error {
	var l lines
	f := &s.Whole
	l.line(vllmBlock)
	l.vllmCount("Successful requests:", s.Account.Succeeded)
	l.vllmCount("Failed requests:", s.Account.Failures())
	if n := bound(&s.Step); n > 0 {
		l.vllmCount("Maximum request concurrency:", n)
	}
	if s.Rate > 0 {
		l.vllmValue("Request rate configured (RPS):", s.Rate)
	}
	l.vllmValue("Benchmark duration (s):", f.Window.Duration().Seconds())
	l.vllmCount("Total input tokens:", int(f.PromptTokens))
	l.vllmCount("Total generated tokens:", int(f.OutputTokens))
	l.vllmValue("Request throughput (req/s):", f.RequestThroughput)
	if f.Goodput != nil {
		l.vllmValue("Request goodput (req/s):", *f.Goodput)
	}
	l.vllmValue("Output token throughput (tok/s):", f.OutputThroughput)
	l.vllmValue("Peak output token throughput (tok/s):", f.PeakOutputThroughput)
	l.vllmValue("Peak concurrent requests:", float64(f.PeakConcurrency))
	l.vllmValue("Total token throughput (tok/s):", f.TotalThroughput)
	for _, latency := range o.latencies(s) {
		l.vllmTitle(latency.title)
		for _, v := range o.statistics(f.Of(latency.key)) {
			if v.name != "Std" {
				l.vllmValue(v.name+" "+latency.name+" (ms):", v.millis)
			}
		}
	}
	l.line("%s", strings.Repeat("=", len(vllmBlock)))
	return l.writeTo(w)
}

func (l *lines) vllmCount(label string, n int)     { l.line("%-40s %-10d", label, n) }
func (l *lines) vllmValue(label string, v float64) { l.line("%-40s %-10.2f", label, v) }

// vllmTitle is a title between marks; an odd one is on its right, as Python's format
// has it.
func (l *lines) vllmTitle(title string) {
	left := (len(vllmBlock) - len(title)) / 2
	l.line("%s%s%s", strings.Repeat("-", left), title, strings.Repeat("-", len(vllmBlock)-len(title)-left))
}

// bound is vLLM's maximum concurrency, 0 where there is none.
func bound(s *runlog.Step) int { return cmp.Or(s.Concurrency, s.MaxConcurrency) }

// vllmDate is Python's "%Y%m%d-%H%M%S".
const vllmDate = "20060102-150405"

// VLLMResult writes a step of r as vLLM's --save-result does: one object on one line,
// with the keys of vLLM benchmarks/serve.py, and ours under the one key "x". Statistics
// are milliseconds; figures of each request are in the log. The rate is "inf" where requests were not
// paced, and the burstiness "inf" where gaps were equal. Metadata stand at the top, as
// vLLM has them, except those that would replace another key: all of them are in "x" too.
func VLLMResult(w io.Writer, r *result.Report, s *result.Step, o VLLMOptions) error {
	run := firstRun(r)
	object := map[string]any{}
	for key, value := range run.Metadata {
		object[key] = value
	}
	maps.Copy(object, vllmSetup(&run, s))
	maps.Copy(object, vllmFigures(s))
	for _, latency := range o.latencies(s) {
		for _, v := range o.statistics(s.Whole.Of(latency.key)) {
			object[strings.ToLower(v.name)+"_"+latency.metric+"_ms"] = v.millis
		}
	}
	object["x"] = map[string]any{
		"program": "accelbench", "version": run.Version, "schema": jsonSchema, "complete": r.Complete,
		"runs": r.Runs, "metadata": run.Metadata, "step": newJSONStep(s),
	}
	return json.NewEncoder(w).Encode(object)
}

func firstRun(r *result.Report) runlog.Run {
	if len(r.Runs) == 0 {
		return runlog.Run{}
	}
	return r.Runs[0]
}

func vllmSetup(run *runlog.Run, s *result.Step) map[string]any {
	setup := map[string]any{
		"date":            s.Started.Format(vllmDate),
		"endpoint_type":   vllmBackend(run),
		"backend":         vllmBackend(run),
		"label":           nil,
		"model_id":        cmp.Or(run.ModelPath, run.Model),
		"tokenizer_id":    cmp.Or(run.ModelPath, run.Model),
		"num_prompts":     expected(s),
		"request_rate":    "inf",
		"burstiness":      1.0,
		"max_concurrency": nil,
	}
	if s.Rate > 0 {
		setup["request_rate"] = s.Rate
	}
	switch {
	case s.Arrival == runlog.ArrivalConstant:
		setup["burstiness"] = "inf"
	case s.Burstiness > 0:
		setup["burstiness"] = s.Burstiness
	}
	if n := bound(&s.Step); n > 0 {
		setup["max_concurrency"] = n
	}
	return setup
}

// vllmBackend is the backend's name as given, or the one that vLLM has for the API.
func vllmBackend(run *runlog.Run) string {
	if run.Backend == "" && run.API == openai.Completions {
		return "openai"
	}
	return cmp.Or(run.Backend, "openai-chat")
}

func vllmFigures(s *result.Step) map[string]any {
	f := &s.Whole
	return map[string]any{
		"duration":                f.Window.Duration().Seconds(),
		"completed":               s.Account.Succeeded,
		"failed":                  s.Account.Failures(),
		"total_input_tokens":      f.PromptTokens,
		"total_output_tokens":     f.OutputTokens,
		"request_throughput":      f.RequestThroughput,
		"request_goodput":         f.Goodput,
		"output_throughput":       f.OutputThroughput,
		"total_token_throughput":  f.TotalThroughput,
		"max_output_tokens_per_s": f.PeakOutputThroughput,
		"max_concurrent_requests": f.PeakConcurrency,
		"rtfx":                    0.0, // of audio, which is not measured
	}
}

// VLLMFileName is the name that vLLM gives such a file:
// {backend}-{rate}qps[-concurrency{N}]-{model}-{date}.json, the model without its
// folders; the second of several repeats has -r2 before the .json.
func VLLMFileName(run *runlog.Run, s *result.Step, when time.Time) string {
	rate := "inf"
	if s.Rate > 0 {
		rate = pythonFloat(s.Rate)
	}
	concurrency := ""
	if n := bound(&s.Step); n > 0 {
		concurrency = fmt.Sprintf("-concurrency%d", n)
	}
	model := run.Model[strings.LastIndex(run.Model, "/")+1:]
	return fmt.Sprintf("%s-%sqps%s-%s-%s%s.json", FileName(vllmBackend(run), "accelbench"), rate, concurrency,
		FileName(model, "model"), when.Format(vllmDate), repeatName("-r", s))
}
