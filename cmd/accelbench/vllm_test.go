package main

import (
	"bufio"
	"errors"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/sweep"
)

// What becomes of a flag of vLLM's tool.
type fate string

const (
	translated fate = "translated" // it changes what is done, or kept, as it does there
	harmless   fate = "harmless"   // it changes nothing, and a line says so
	refused    fate = "refused"    // one line, exit code 2
	usual      fate = "usual"      // what it asks for is done always
)

// decision is the fate of a flag with a value.
type decision struct {
	fate  fate
	value string
	plain string // the command line without the flag, a random data set where empty
}

const (
	onTrace  = "--dataset-name timed_trace --dataset-path t.jsonl"
	onRising = "--dataset-name random --ramp-up-strategy linear"
)

// decisions has one for each flag of the fixture.
func decisions() map[string]decision {
	all := map[string]decision{
		"--dataset-name":                    {translated, "prefix_repetition", " "},
		"--dataset-path":                    {translated, "f.jsonl", ""},
		"--custom-output-len":               {translated, "-1", "--dataset-name custom --dataset-path f"},
		"--sharegpt-output-len":             {translated, "9", "--dataset-name sharegpt --dataset-path f"},
		"--prefix-repetition-prefix-len":    {translated, "9", "--dataset-name prefix_repetition"},
		"--prefix-repetition-suffix-len":    {translated, "9", "--dataset-name prefix_repetition"},
		"--prefix-repetition-num-prefixes":  {translated, "9", "--dataset-name prefix_repetition"},
		"--prefix-repetition-output-len":    {translated, "9", "--dataset-name prefix_repetition"},
		"--timed-trace-chunk-hash-size":     {translated, "512", onTrace},
		"--timed-trace-sec-multiplier":      {translated, "0.001", onTrace},
		"--timed-trace-label-timestamp":     {translated, "at", onTrace},
		"--timed-trace-label-input-length":  {translated, "in", onTrace},
		"--timed-trace-label-output-length": {translated, "out", onTrace},
		"--timed-trace-label-hash-ids":      {translated, "ids", onTrace},
		"--backend":                         {translated, "openai-chat", ""},
		"--endpoint":                        {translated, "/v1/chat/completions", ""},
		"--header":                          {translated, "X-A=1 X-B=2", ""},
		"--metadata":                        {translated, "a=1 b=2", ""},
		"--goodput":                         {translated, "ttft:500 tpot:50", ""},
		"--lora-modules":                    {translated, "a b", ""},
		"--lora-assignment":                 {translated, "round-robin", "--dataset-name random --lora-modules a b"},
		"--ramp-up-strategy":                {translated, "exponential --ramp-up-start-rps 1 --ramp-up-end-rps 9", ""},
		"--ramp-up-start-rps":               {translated, "2 --ramp-up-end-rps 9 --ramp-up-strategy linear", ""},
		"--ramp-up-end-rps":                 {translated, "9 --ramp-up-start-rps 2 --ramp-up-strategy linear", ""},
		"--burstiness":                      {translated, "0.5", "--dataset-name random --request-rate 4"},
		"--percentile-metrics":              {translated, "ttft,e2el", ""},
		"--metric-percentiles":              {translated, "50,99.9", ""},
		"--chat-template-kwargs":            {translated, `{"a":1}`, ""},
		"--extra-body":                      {translated, `{"a":1}`, ""},
		"--request-id-prefix":               {translated, "mine-", ""},
		"--self-timed":                      {usual, "", onTrace},
		"--no-self-timed":                   {usual, "", ""},
		"--no-oversample":                   {refused, "", ""},
		"--use-beam-search":                 {refused, "", ""},
		"--probe-request-rate":              {refused, "0.5", ""},
		"--timeline-itl-thresholds":         {harmless, "25 50", ""},
	}
	for _, name := range []string{"base-url", "host", "model", "served-model-name", "label", "tokenizer", "result-dir", "result-filename"} {
		all["--"+name] = decision{translated, "x", ""}
	}
	all["--base-url"] = decision{translated, "http://other:1", ""}
	for _, name := range []string{
		"seed", "num-prompts", "random-input-len", "random-output-len", "random-prefix-len", "port", "max-concurrency", "input-len", "output-len",
		"logprobs", "request-rate", "num-warmups", "top-k", "ready-check-timeout-sec",
	} {
		all["--"+name] = decision{translated, "7", ""}
	}
	for _, name := range []string{"random-range-ratio", "top-p", "min-p", "temperature", "frequency-penalty", "presence-penalty", "repetition-penalty"} {
		all["--"+name] = decision{translated, "0.5", ""}
	}
	for _, name := range []string{"save-result", "save-detailed", "append-result", "ignore-eos", "insecure"} {
		all["--"+name] = decision{translated, "", ""}
	}
	for _, name := range []string{
		"trust-remote-code", "no-stream", "skip-chat-template", "enable-multimodal-chat", "disable-shuffle", "custom-ensure-client-side-data",
		"no-reranker", "disable-tqdm", "profile", "skip-tokenizer-init", "plot-timeline", "plot-dataset-stats",
	} {
		all["--"+name] = decision{harmless, "", ""}
	}
	for _, name := range []string{
		"spec-bench-output-len", "spec-bench-category", "blazedit-min-distance", "blazedit-max-distance", "asr-max-audio-len-sec",
		"asr-min-audio-len-sec", "random-batch-size", "random-mm-base-items-per-request", "random-mm-num-mm-items-range-ratio",
		"random-mm-limit-mm-per-prompt", "random-mm-bucket-config", "hf-subset", "hf-split", "hf-name", "hf-output-len", "bfcl-categories",
		"speed-bench-dataset-subset", "speed-bench-output-len", "speed-bench-category", "tokenizer-mode",
	} {
		all["--"+name] = decision{harmless, "7", ""}
	}
	return all
}

// line is a command line of vLLM's tool.
func (d decision) line(flag string) string {
	base := "--num-prompts 1000 "
	if flag == "--num-prompts" {
		base = ""
	}
	if flag != "--backend" {
		base += "--backend openai "
	}
	if d.plain == "" {
		return base + "--dataset-name random "
	}
	return base + d.plain + " "
}

// meaning is all that a command line asks for.
type meaning struct {
	Config sweep.Config
	Out    outputFlags
	Render renderFlags
}

func meant(t *testing.T, line string) (meaning, string, error) {
	t.Helper()
	s, cfg, told, err := parsedAll(t, line)
	cfg.Folder, cfg.FolderSuffix = "", nil // the same for all
	return meaning{cfg, s.out, s.render}, told, err
}

func sameMeaning(a, b meaning) bool {
	return cmp.Equal(a, b, cmp.Exporter(func(reflect.Type) bool { return true }))
}

// vllmFlags reads the fixture: values and default by flag.
func vllmFlags(t *testing.T) map[string][2]string {
	t.Helper()
	f, err := os.Open("testdata/vllm-flags.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string][2]string{}
	for in := bufio.NewScanner(f); in.Scan(); {
		if fields := strings.Split(in.Text(), "\t"); len(fields) == 3 {
			all[fields[0]] = [2]string{fields[1], fields[2]}
		}
	}
	return all
}

// Every flag of vLLM's tool does what it does there, or says that it does not.
func TestEveryVLLMFlag(t *testing.T) {
	flags, decided := vllmFlags(t), decisions()
	if len(flags) < 91 {
		t.Fatalf("the fixture has %d flags", len(flags))
	}
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		d, ok := decided[name]
		if !ok {
			t.Errorf("%s: nobody has decided what becomes of it", name)
			continue
		}
		delete(decided, name)
		plain, _, err := meant(t, d.line(name))
		if err != nil {
			t.Errorf("%s: without it: %v", name, err)
			continue
		}
		given, told, err := meant(t, d.line(name)+name+" "+d.value)
		says := strings.Contains(told, name+" is accepted, and without effect: ")
		switch same := sameMeaning(plain, given); {
		case d.fate == refused:
			usage := usageError{}
			if err == nil || !errors.As(err, &usage) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s %s: %v, want one line that refuses it", name, d.value, err)
			}
		case err != nil:
			t.Errorf("%s %s: %v", name, d.value, err)
		case d.fate == translated && same:
			t.Errorf("%s %s changes nothing; told: %s", name, d.value, told)
		case d.fate == translated && says:
			t.Errorf("%s is said to be without effect", name)
		case d.fate != translated && !same:
			t.Errorf("%s %s changes something", name, d.value)
		case d.fate != translated && !says:
			t.Errorf("%s changes nothing, and nobody is told: %s", name, told)
		}
	}
	for name := range decided {
		t.Errorf("%s is none of vLLM's flags", name)
	}
}

// A command line that spells out vLLM's defaults is one that leaves them out.
func TestVLLMDefaultsAreTaken(t *testing.T) {
	for name, f := range vllmFlags(t) {
		values, value := f[0], f[1]
		if values == "none" || value == "None" || name == "--request-id-prefix" {
			continue
		}
		d := decisions()[name]
		line := d.line(name) + name + " " + strings.ReplaceAll(value, " ", "")
		if name == "--dataset-name" {
			line = "--backend openai " + name + " " + value
		}
		plain, _, err := meant(t, d.line(name))
		given, _, err2 := meant(t, line)
		given.Config.Run.Backend = plain.Config.Run.Backend // which the log keeps as it was given
		if name == "--metric-percentiles" {
			plain.Render.percentiles = given.Render.percentiles // shown where asked for, also vLLM's own
		}
		if err != nil || err2 != nil || name != "--dataset-name" && !sameMeaning(plain, given) {
			t.Errorf("%s %s: %v %v\n%s", name, value, err, err2, cmp.Diff(plain, given, cmp.Exporter(func(reflect.Type) bool { return true })))
		}
	}
}

// What a flag is called in messages is what was typed.
func TestNegativeFormsAreNamedAsGiven(t *testing.T) {
	for line, want := range map[string]string{
		"--no-self-timed":            "--no-self-timed is accepted, and without effect: ",
		"--no-trust-remote-code":     "--no-trust-remote-code is accepted, and without effect: ",
		"--no-use-beam-search":       "--no-use-beam-search is accepted, and without effect: ",
		"--backend vllm --no-stream": "--no-stream is accepted, and without effect: ",
		"--best-of 1":                "--best-of is accepted",
		"--probe-request-rate 0.0":   "--probe-request-rate is accepted",
		"--no-stream":                "error: --no-stream is refused: ",
		"--self-timed":               "error: --self-timed is refused: ",
		onTrace + " --no-self-timed": "error: --no-self-timed is refused: ",
		"--best-of 2":                "error: --best-of is refused: ",
		"--query-template x":         "error: --query-template is refused: ",
		"--logprobs -1":              "error: --logprobs must not be negative",
		"--backend vllm b c":         `error: "b" belongs to no flag`,
		"--backend vllm --base-url http://h --seed 1 2":                                  `error: "2" belongs to no flag`,
		"--ramp-up-strategy linear":                                                      "error: --ramp-up-strategy needs --ramp-up-start-rps and --ramp-up-end-rps",
		"--ramp-up-end-rps 4":                                                            "error: --ramp-up-start-rps and --ramp-up-end-rps need --ramp-up-strategy",
		"--dataset-name hf --hf-name x":                                                  `error: unknown kind of data set "hf"`,
		"--timed-trace-sec-multiplier 0":                                                 "error: --timed-trace-sec-multiplier must be above 0",
		"--timed-trace-chunk-hash-size 0":                                                "error: --timed-trace-chunk-hash-size must be at least 1",
		onRising + " --ramp-up-start-rps 4 --ramp-up-end-rps 2":                          "error: --ramp-up-start-rps must be at least 0 and at most --ramp-up-end-rps",
		onRising + " --ramp-up-start-rps 1 --ramp-up-end-rps 2 --request-rate 3":         "error: --ramp-up-strategy sets the rate",
		onRising + " --ramp-up-start-rps 1 --ramp-up-end-rps 2 --ramp-up 3":              "error: --ramp-up-strategy raises the rate over all requests",
		onRising + " --ramp-up-start-rps 1 --ramp-up-end-rps 2 --duration 3":             "error: --ramp-up-strategy needs a number of --requests",
		onTrace + " --ramp-up-strategy linear --ramp-up-start-rps 1 --ramp-up-end-rps 2": "error: a replay has its own times",
	} {
		_, _, told, err := parsedAll(t, line)
		if err != nil {
			told += "error: " + err.Error()
		}
		if !strings.Contains(told, want) {
			t.Errorf("%s: %s, want %s", line, told, want)
		}
	}
}

// The load of a few command lines of vLLM's tool, in its own terms.
func TestVLLMLoads(t *testing.T) {
	cfg, err := parsed(t, "--backend vllm --num-prompts 40 --ramp-up-strategy exponential --ramp-up-start-rps 1 --ramp-up-end-rps 8 --max-concurrency 5 --num-warmups 3")
	if err != nil {
		t.Fatal(err)
	}
	want := runlog.Step{
		Arrival: runlog.ArrivalPoisson, Burstiness: 1, Rise: runlog.Rise{Shape: runlog.RiseExponential, From: 1, To: 8},
		MaxConcurrency: 5, Requests: 40, Warmups: 3, Timeout: cfg.Steps[0].Timeout,
	}
	if diff := cmp.Diff([]runlog.Step{want}, cfg.Steps); diff != "" {
		t.Errorf("rising rate (-want +got):\n%s", diff)
	}
	for line, want := range map[string]dataset.Trace{
		onTrace: {Second: 1, Block: 16},
		onTrace + " --timed-trace-sec-multiplier 0.001 --timed-trace-chunk-hash-size 512": {Second: 0.001, Block: 512},
		"--dataset replay --dataset-path t.jsonl":                                         {},
		"--dataset replay --dataset-path t.jsonl --timed-trace-sec-multiplier 1":          {Second: 1},
	} {
		want.Timestamp, want.InputLength, want.OutputLength, want.HashIDs = "timestamp", "input_length", "output_length", "hash_ids"
		if cfg, err := parsed(t, line); err != nil || cfg.Dataset.Trace != want {
			t.Errorf("%s: %+v %v, want %+v", line, cfg.Dataset.Trace, err, want)
		}
	}
	for line, want := range map[string]map[string]string{
		"--backend vllm --logprobs 3":        {"logprobs": "3"},
		"--backend openai-chat --logprobs 3": {"logprobs": "true", "top_logprobs": "3"},
	} {
		cfg, err := parsed(t, line)
		got := map[string]string{}
		for name, value := range cfg.Ask.Extra {
			got[name] = string(value)
		}
		if err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: %v %v", line, got, err)
		}
	}
}
