package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// vllmStatistic is one statistic of a latency, in vLLM's words.
type vllmStatistic struct {
	title, label, key string // "Time to First Token", "Mean TTFT (ms):", "mean_ttft_ms"
	millis            float64
}

// vllmStatistics are those of the latencies that --percentile-metrics asked for, 0 without samples, as vLLM has them.
func vllmStatistics(s *result.Step, metrics []string) (all []vllmStatistic) {
	for _, l := range []struct {
		metric, name, title string
		key                 result.Key
	}{
		{"ttft", "TTFT", "Time to First Token", result.TTFT},
		{"tpot", "TPOT", "Time per Output Token (excl. 1st token)", result.TPOT},
		{"itl", "ITL", "Inter-token Latency", result.ITL},
		{"e2el", "E2EL", "End-to-end Latency", result.E2E},
		{"client_queue_time", "Client Queue Time", "Client-side Queueing", result.Queue},
		{"e2el_including_client_queue", "E2EL incl. Client Queue", "Queue-inclusive End-to-end Latency", result.E2EFromPlanned},
	} {
		if !slices.Contains(metrics, l.metric) {
			continue
		}
		d := s.Whole.Of(l.key)
		add := func(name string, seconds float64) {
			all = append(all, vllmStatistic{l.title, name + " " + l.name + " (ms):", strings.ToLower(name) + "_" + l.metric + "_ms", seconds * 1e3})
		}
		median, _ := d.At(50)
		add("Mean", d.Mean)
		add("Median", median.Value)
		add("Std", d.Std)
		for _, p := range s.Percentiles {
			v, _ := d.At(p)
			add(strings.ToUpper(percentileName(p)), v.Value)
		}
	}
	return all
}

const vllmTitle = `============ Serving Benchmark Result ============`

// vllmFigures are a step's settings and figures: their keys in the result file, and their labels in the block.
var vllmFigures = []struct {
	key, label string
	value      func(*result.Step) any
}{
	{"completed", "Successful requests:", func(s *result.Step) any { return s.Account.Succeeded }},
	{"failed", "Failed requests:", func(s *result.Step) any { return s.Account.Failures() }},
	{"max_concurrency", "Maximum request concurrency:", func(s *result.Step) any { return settingOr(bound(&s.Step), nil) }},
	{"request_rate", "Request rate configured (RPS):", func(s *result.Step) any { return settingOr(s.Rate, "inf") }},
	{"duration", "Benchmark duration (s):", func(s *result.Step) any { return s.Whole.Window.Duration().Seconds() }},
	{"total_input_tokens", "Total input tokens:", func(s *result.Step) any { return int(s.Whole.PromptTokens) }},
	{"total_output_tokens", "Total generated tokens:", func(s *result.Step) any { return int(s.Whole.OutputTokens) }},
	{"request_throughput", "Request throughput (req/s):", func(s *result.Step) any { return s.Whole.RequestThroughput }},
	{"request_goodput", "Request goodput (req/s):", func(s *result.Step) any { return s.Whole.Goodput }},
	{"output_throughput", "Output token throughput (tok/s):", func(s *result.Step) any { return s.Whole.OutputThroughput }},
	{"max_output_tokens_per_s", "Peak output token throughput (tok/s):", func(s *result.Step) any { return s.Whole.PeakOutputThroughput }},
	{"max_concurrent_requests", "Peak concurrent requests:", func(s *result.Step) any { return float64(s.Whole.PeakConcurrency) }},
	{"total_token_throughput", "Total token throughput (tok/s):", func(s *result.Step) any { return s.Whole.TotalThroughput }},
}

// settingOr is a setting, or what stands for one that was not given.
func settingOr[T int | float64](v T, other any) any {
	if v == 0 {
		return other
	}
	return v
}

// vllm writes the block "Serving Benchmark Result" of a whole step as vLLM benchmarks/serve.py does. The users of a
// closed loop are its maximum request concurrency; the peak of the output counts tokens, not chunks.
func (l *lines) vllm(s *result.Step, metrics []string) {
	l.line(vllmTitle)
	for _, f := range vllmFigures {
		switch v := f.value(s).(type) { // none of them where there was no such setting
		case int:
			l.line("%-40s %-10d", f.label, v)
		case float64:
			l.line("%-40s %-10.2f", f.label, v)
		case result.Value:
			if v.Known() {
				l.line("%-40s %-10.2f", f.label, float64(v))
			}
		}
	}
	title := ""
	for _, v := range vllmStatistics(s, metrics) {
		if v.title != title {
			title = v.title
			left := (len(vllmTitle) - len(title)) / 2 // an odd mark is on the right, as in Python
			l.line("%s%s%s", strings.Repeat("-", left), title, strings.Repeat("-", len(vllmTitle)-len(title)-left))
		}
		if !strings.HasPrefix(v.label, "Std") {
			l.line("%-40s %-10.2f", v.label, v.millis)
		}
	}
	l.line("%s", strings.Repeat("=", len(vllmTitle)))
}

// bound is vLLM's maximum concurrency, 0 where there is none.
func bound(s *runlog.Step) int { return cmp.Or(s.Concurrency, s.MaxConcurrency) }

// vllmDate is Python's "%Y%m%d-%H%M%S".
const vllmDate = "20060102-150405"

// VLLMFileName is vLLM's {backend}-{rate}qps[-concurrency{N}]-{model}-{date}.json, the model without its folders.
func VLLMFileName(run *runlog.Run, s *result.Step, when time.Time) string {
	rate, concurrency := "inf", ""
	if s.Rate > 0 {
		rate = pythonFloat(s.Rate)
	}
	if n := bound(&s.Step); n > 0 {
		concurrency = fmt.Sprintf("-concurrency%d", n)
	}
	return fmt.Sprintf("%s-%sqps%s-%s-%s%s.json", FileName(vllmBackend(run), "accelbench"), rate, concurrency,
		FileName(path.Base(run.Model), "model"), when.Format(vllmDate), repeatName(s))
}

// repeatName tells repeats of one level apart; the first goes without.
func repeatName(s *result.Step) string {
	if s.Repeat == 0 {
		return ""
	}
	return "_r" + strconv.Itoa(s.Repeat+1)
}

// VLLMResult writes a step of r as vLLM's --save-result does: one object with the keys of vLLM benchmarks/serve.py,
// and ours under the one key "x". Statistics are milliseconds, rate and burstiness "inf" where there is none.
// Metadata stand at the top, except those that would replace another key: all of them are in "x" too.
func VLLMResult(w io.Writer, r *result.Report, s *result.Step, metrics []string) error {
	run, object := r.Runs[0], map[string]any{}
	for key, value := range run.Metadata {
		object[key] = value
	}
	for _, f := range vllmFigures {
		object[f.key] = f.value(s)
	}
	object["date"], object["label"], object["num_prompts"] = s.Started.Format(vllmDate), nil, expected(s)
	object["rtfx"] = 0.0 // of audio, which is not measured
	latencies, queued := make([]float64, len(s.Timeline.Requests)), make([]float64, len(s.Timeline.Requests))
	for i, p := range s.Timeline.Requests {
		if queued[i] = float64(p.Queued); p.Failure == "" {
			latencies[i] = float64(p.End)
		}
	}
	object["latencies"], object["queue_times"] = latencies, queued
	if object["burstiness"] = settingOr(s.Burstiness, 1.0); s.Arrival == runlog.ArrivalConstant {
		object["burstiness"] = "inf"
	}
	object["backend"], object["endpoint_type"] = vllmBackend(&run), vllmBackend(&run)
	object["model_id"], object["tokenizer_id"] = cmp.Or(run.ModelPath, run.Model), cmp.Or(run.ModelPath, run.Model)
	object["x"] = map[string]any{
		"program": "accelbench", "version": run.Version, "schema": jsonSchema, "complete": r.Complete,
		"runs": r.Runs, "metadata": run.Metadata, "step": newJSONStep(s),
	}
	for _, v := range vllmStatistics(s, metrics) {
		object[v.key] = v.millis
	}
	return json.NewEncoder(w).Encode(object)
}

// vllmBackend is the backend's name as given, or the one that vLLM has for the API.
func vllmBackend(run *runlog.Run) string {
	return cmp.Or(run.Backend, map[openai.API]string{openai.Completions: "openai"}[run.API], "openai-chat")
}

// EvalscopeFileName is evalscope-perf's {model}_{dataset}_p{P}.txt, P being the users and a path its file up to a dot.
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
// the same labels, and honest figures. The time to the first token is no latency; a package is a chunk of text.
func (l *lines) evalscope(s *result.Step) {
	f, a := &s.Whole, &s.Account
	ttft, itl, e2e := f.Of(result.TTFT), f.Of(result.ITL), f.Of(result.E2E)
	succeeded := float64(max(1, a.Succeeded))
	l.line(evalscopeSummary, f.Window.Duration().Seconds(), expected(s), bound(&s.Step), a.Attempted, a.Succeeded, a.Failures(),
		f.RequestThroughput, e2e.Mean, f.OutputThroughput, ttft.Mean, float64(f.PromptTokens)/succeeded, float64(f.OutputTokens)/succeeded,
		f.Of(result.TPOT).Mean, float64(itl.Count+ttft.Count)/float64(max(1, ttft.Count)), cmp.Or(itl.Mean, ttft.Mean))

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
