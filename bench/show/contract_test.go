package show_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// A server that does not stream sends one package, whose latency is the wait for it.
func TestEvalscopeWithoutStreaming(t *testing.T) {
	r := sweep()
	delete(r.Steps[0].Whole.Distributions, result.ITL)
	text := rendered(t, renderings(r)["evalscope-closed.txt"])
	if want := " Average package per request: 1.000\n Average package latency: 0.500\n"; !strings.Contains(text, want) {
		t.Errorf("no %q in\n%s", want, text)
	}
}

// A user's metadata must not change a figure.
func TestMetadataCannotReplaceAKey(t *testing.T) {
	for name, render := range renderings(hostile()) {
		if !strings.HasPrefix(name, "result-") {
			continue
		}
		var got struct {
			Completed int
			X         struct{ Metadata map[string]string }
		}
		noError(t, json.Unmarshal([]byte(rendered(t, render)), &got))
		if got.Completed == 999999 || got.X.Metadata["completed"] != "999999" {
			t.Errorf("%s: completed %d, metadata %q", name, got.Completed, got.X.Metadata)
		}
	}
}

// What came from outside must not move a cursor or turn the writing round.
func TestHostileTextStaysText(t *testing.T) {
	for name, render := range renderings(hostile()) {
		if strings.HasSuffix(name, ".json") {
			continue
		}
		for line := range strings.Lines(rendered(t, render)) {
			line = strings.TrimRight(line, "\n")
			if bad := strings.IndexFunc(line, func(c rune) bool { return !unicode.IsPrint(c) }); bad >= 0 {
				t.Errorf("%s: %q in %q", name, line[bad:], line)
			}
		}
	}
}

func TestFileNames(t *testing.T) {
	eight := result.Step{Step: runlog.Step{Concurrency: 8}}
	for _, tt := range []struct{ model, dataset, want string }{
		{"qwen2.5", "./datasets/open_qa.jsonl", "qwen2.5_open_qa_p8.txt"},
		{"/data/models/Qwen2.5-72B", "random", "data_models_Qwen2.5-72B_random_p8.txt"},
		{"../../etc/passwd", "../../x.json", "etc_passwd_x_p8.txt"},
		{"..", ".hidden", "model_dataset_p8.txt"},
		{"--rm -rf $(x)", "a b", "rm_-rf___x_a_b_p8.txt"},
		{strings.Repeat("模", 200), "数据.jsonl", strings.Repeat("模", 26) + "_数据_p8.txt"},
	} {
		if got := show.EvalscopeFileName(tt.model, tt.dataset, &eight); got != tt.want {
			t.Errorf("%q, %q: %s, want %s", tt.model, tt.dataset, got, tt.want)
		}
	}
	again := closed()
	again.Repeat = 1
	if got := show.EvalscopeFileName("m", "d", &again); got != "m_d_p128_r2.txt" {
		t.Errorf("a repeat is called %s", got)
	}
	when := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, tt := range []struct {
		run  runlog.Run
		step result.Step
		want string
	}{
		{runlog.Run{Model: "org/Qwen2.5", Backend: "vllm"}, closed(), "vllm-infqps-concurrency128-Qwen2.5-20260304-050607.json"},
		{runlog.Run{Model: "m", Backend: "../numa 0"}, open(), "numa_0-4.0qps-concurrency100-m-20260304-050607.json"},
		{runlog.Run{Model: "x/..", API: "completions"}, nothing(), "openai-infqps-model-20260304-050607.json"},
		{runlog.Run{Model: "m"}, again, "openai-chat-infqps-concurrency128-m-20260304-050607_r2.json"},
	} {
		if got := show.VLLMFileName(&tt.run, &tt.step, when); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}

// Every column has a key of its own.
func TestColumns(t *testing.T) {
	s := measuredSweep().Steps[3]
	keys := map[string]bool{}
	for _, c := range show.Columns(50, 99) {
		if keys[c.Key] {
			t.Errorf("%s stands twice", c.Key)
		}
		keys[c.Key] = true
	}
	for key, want := range map[string]string{
		"request_throughput": "requests (req/s) 1.08", "ttft_p50": "TTFT p50 (ms) 618.1", "failure_ratio": "failures (%) 1.40",
		"joules_per_output_token": "energy (J/token) 3.75",
	} {
		c := show.Pick(show.Columns(50), key)[0]
		if got := c.Title() + " " + c.Unit.Text(c.Value(&s, &s.Whole)); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

// Where every request waited for its first text until it ended, percentiles are the least that they can be.
func TestColumnsOfWaiting(t *testing.T) {
	f := result.Figures{Distributions: result.Distributions{
		result.TTFT: {Waiting: 3, Percentiles: []result.Percentile{{P: 50, Value: 10, AtLeast: true}}},
	}}
	for key, want := range map[string]string{"ttft_p50": "10000", "ttft_samples": "-", "ttft_mean": "-", "ttft_max": "-"} {
		c := show.Pick(show.Columns(50), key)[0]
		if got := c.Unit.Text(c.Value(&result.Step{}, &f)); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}
