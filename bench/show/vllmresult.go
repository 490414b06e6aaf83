package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// vllmDate is Python's "%Y%m%d-%H%M%S".
const vllmDate = "20060102-150405"

// VLLMResult writes a step of r as vLLM's --save-result does: one object on one
// line, with the keys of vLLM benchmarks/serve.py in their order, and ours under
// the one key "x". There are no arrays of single requests: these
// are in the log. The rate is "inf" where requests
// were not paced, and the burstiness "inf" where gaps were equal. Metadata stand
// at the top, as vLLM has them, except those that would replace another key: all
// of them are in "x" too.
func VLLMResult(w io.Writer, r *result.Report, s *result.Step, o VLLMOptions) error {
	run := firstRun(r)
	setup, traffic, result := vllmSetup(&run, s), vllmTraffic(s), vllmMeasured(s, o)
	x := object{
		{"program", "accelbench"},
		{"version", run.Version},
		{"schema", jsonSchema},
		{"complete", r.Complete},
		{"runs", r.Runs},
		{"metadata", run.Metadata},
		{"step", stepObject(s)},
	}
	taken := map[string]bool{"x": true}
	for _, m := range slices.Concat(setup, traffic, result) {
		taken[m.key] = true
	}
	var metadata object
	for _, key := range slices.Sorted(maps.Keys(run.Metadata)) {
		if !taken[key] {
			metadata = append(metadata, member{key, run.Metadata[key]})
		}
	}
	return json.NewEncoder(w).Encode(slices.Concat(setup, metadata, traffic, result, object{{"x", x}}))
}

func firstRun(r *result.Report) runlog.Run {
	if len(r.Runs) == 0 {
		return runlog.Run{}
	}
	return r.Runs[0]
}

func vllmSetup(run *runlog.Run, s *result.Step) object {
	return object{
		{"date", s.Started.Format(vllmDate)},
		{"endpoint_type", vllmBackend(run)},
		{"backend", vllmBackend(run)},
		{"label", nil},
		{"model_id", cmp.Or(run.ModelPath, run.Model)},
		{"tokenizer_id", cmp.Or(run.ModelPath, run.Model)},
		{"num_prompts", expected(s)},
	}
}

// vllmBackend is the backend's name as given, or the one that vLLM has for the
// API.
func vllmBackend(run *runlog.Run) string {
	switch {
	case run.Backend != "":
		return run.Backend
	case run.API == openai.Completions:
		return "openai"
	}
	return "openai-chat"
}

func vllmTraffic(s *result.Step) object {
	var rate, burstiness, concurrency any = "inf", 1.0, nil
	if s.Rate > 0 {
		rate = finite(s.Rate)
	}
	switch {
	case s.Arrival == runlog.ArrivalConstant:
		burstiness = "inf"
	case s.Burstiness > 0:
		burstiness = finite(s.Burstiness)
	}
	if n := bound(&s.Step); n > 0 {
		concurrency = n
	}
	return object{{"request_rate", rate}, {"burstiness", burstiness}, {"max_concurrency", concurrency}}
}

func vllmMeasured(s *result.Step, o VLLMOptions) object {
	f := &s.Whole
	var goodput any
	if f.Goodput != nil {
		goodput = finite(*f.Goodput)
	}
	result := object{
		{"duration", f.Window.Duration().Seconds()},
		{"completed", s.Account.Succeeded},
		{"failed", s.Account.Failures()},
		{"total_input_tokens", f.PromptTokens},
		{"total_output_tokens", f.OutputTokens},
		{"request_throughput", finite(f.RequestThroughput)},
		{"request_goodput", goodput},
		{"output_throughput", finite(f.OutputThroughput)},
		{"total_token_throughput", finite(f.TotalThroughput)},
	}
	result = append(result,
		member{"max_output_tokens_per_s", finite(f.PeakOutputThroughput)},
		member{"max_concurrent_requests", f.PeakConcurrency},
		member{"rtfx", 0.0}) // of audio, which is not measured
	for _, section := range vllmSections(s, o) {
		for _, v := range section.values {
			result = append(result, member{v.key + "_" + section.attribute + "_ms", v.millis})
		}
	}
	return result
}

// VLLMFileName is the name that vLLM gives such a file:
// {backend}-{rate}qps[-concurrency{N}]-{model}-{date}.json, the model
// without its folders; the second of several repeats has -r2 before the .json.
// What a file name cannot safely hold is replaced, so that the name never leaves
// its folder.
func VLLMFileName(run *runlog.Run, s *result.Step, when time.Time) string {
	rate := "inf"
	if s.Rate > 0 {
		rate = strconv.FormatFloat(finite(s.Rate), 'f', -1, 64)
		if !strings.Contains(rate, ".") {
			rate += ".0" // as Python writes a float
		}
	}
	concurrency := ""
	if n := bound(&s.Step); n > 0 {
		concurrency = fmt.Sprintf("-concurrency%d", n)
	}
	model := run.Model[strings.LastIndex(run.Model, "/")+1:]
	return fmt.Sprintf("%s-%sqps%s-%s-%s%s.json", FileName(vllmBackend(run), "accelbench"), rate, concurrency,
		FileName(model, "model"), when.Format(vllmDate), repeatName("-r", s))
}
