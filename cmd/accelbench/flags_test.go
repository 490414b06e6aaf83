package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// parsed is what a command line of run means.
func parsed(t *testing.T, line string) (load.Config, error) {
	t.Helper()
	_, cfg, _, err := parsedAll(t, line)
	return cfg, err
}

// parsedAll is the same with the flags as given, and what was told beside.
func parsedAll(t *testing.T, line string) (s *runFlags, cfg load.Config, told string, err error) {
	t.Helper()
	t.Setenv(apiKeyVariable, "")
	app := kingpin.New("accelbench", "").Terminate(nil)
	s = newRunFlags(app.Command("run", ""))
	in := &invocation{}
	if _, err := in.parse(app, respell(append([]string{"run"}, strings.Fields(line)...))); err != nil {
		return s, cfg, "", in.run.withTypedNames(err)
	}
	cfg, notes, err := s.config([]string{"accelbench", "run"})
	for _, note := range append(in.run.notes, notes...) {
		told += "accelbench: " + note + "\n"
	}
	return s, cfg, told, in.run.withTypedNames(err)
}

func TestLoads(t *testing.T) {
	closed := func(users int, ramp time.Duration) runlog.Step {
		return runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: users, Requests: 1000, RampUp: ramp, Timeout: 10 * time.Minute}
	}
	open := func(change func(*runlog.Step)) runlog.Step {
		s := runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: 4, Burstiness: 1, Requests: 1000, Timeout: 10 * time.Minute}
		change(&s)
		return s
	}
	for line, want := range map[string][]runlog.Step{
		"":                                         {closed(1, 20*time.Millisecond)},
		"--concurrency 8,16 --ramp-up 0":           {closed(8, 0), closed(16, 0)},
		"--concurrency 8 --repeat 2":               {closed(8, 160*time.Millisecond), closed(8, 160*time.Millisecond)},
		"--max-concurrency 100":                    {closed(100, 2*time.Second)},
		"--request-rate 4":                         {open(func(*runlog.Step) {})},
		"--request-rate 4 --burstiness 0.5":        {open(func(s *runlog.Step) { s.Arrival, s.Burstiness = runlog.ArrivalGamma, 0.5 })},
		"--request-rate 4 --burstiness inf":        {open(func(s *runlog.Step) { s.Arrival, s.Burstiness = runlog.ArrivalConstant, 0 })},
		"--request-rate 4 --max-concurrency 9":     {open(func(s *runlog.Step) { s.MaxConcurrency = 9 })},
		"--request-rate 4 --duration 90":           {open(func(s *runlog.Step) { s.Requests, s.Duration = 0, 90*time.Second })},
		"--request-rate inf":                       {{Arrival: runlog.ArrivalBurst, Requests: 1000, Timeout: 10 * time.Minute}},
		"--request-rate inf --max-concurrency 100": {closed(100, 2*time.Second)},
		// An infinite rate says nothing of when, so a trace keeps its times.
		"--request-rate inf --dataset replay --dataset-path f": {{Arrival: runlog.ArrivalReplay, Timeout: 10 * time.Minute}},
		// vLLM's tool sends all at once unless it is told otherwise.
		"--backend vllm --num-prompts 40":                         {{Arrival: runlog.ArrivalBurst, Requests: 40, Timeout: 10 * time.Minute}},
		"--dataset-name random --num_prompts 40 --request-rate=4": {open(func(s *runlog.Step) { s.Requests = 40 })},
	} {
		cfg, err := parsed(t, line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		for i := range want {
			want[i].Index = i
			if strings.Contains(line, "--repeat") {
				want[i].Repeat = i
			}
		}
		if diff := cmp.Diff(want, cfg.Steps); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

func TestEndpoints(t *testing.T) {
	type endpoint struct {
		URL   string
		API   openai.API
		Model string
		Path  string
	}
	for line, want := range map[string]endpoint{
		"":                                {"http://127.0.0.1:8000", openai.Chat, "", ""},
		"--url http://h:1/v1 --model m":   {"http://h:1", openai.Chat, "m", ""},
		"--url http://h:1/v1/completions": {"http://h:1", openai.Completions, "", ""},
		"--host h --port 1025 --endpoint /v1/chat/completions": {"http://h:1025", openai.Chat, "", ""},
		"--base-url http://h:1 --backend vllm --model m":       {"http://h:1", openai.Completions, "m", ""},
		"--backend openai-chat":                                {"http://127.0.0.1:8000", openai.Chat, "", ""},
		"--num-prompts 5":                                      {"http://127.0.0.1:8000", openai.Completions, "", ""},
		"--num-prompts 5 --api chat":                           {"http://127.0.0.1:8000", openai.Chat, "", ""},
		"--model /data/Qwen --served-model-name qwen":          {"http://127.0.0.1:8000", openai.Chat, "qwen", "/data/Qwen"},
		"http://h:1/v1/chat/completions m --parallels 8":       {"http://h:1", openai.Chat, "m", ""},
	} {
		cfg, err := parsed(t, line)
		if got := (endpoint{cfg.Run.URL, cfg.Run.API, cfg.Run.Model, cfg.Run.ModelPath}); err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", line, got, err, want)
		}
	}
}

// evalscope-perf's command lines put on evalscope-perf's load.
func TestEvalscopeDefaults(t *testing.T) {
	cfg, err := parsed(t, "http://h:1/v1/chat/completions m --parallels 8")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Dataset.MaxPromptLength != 256 || cfg.Steps[0].Timeout != 30*time.Second || string(cfg.Ask.Extra["stop"]) != `["\u003c|im_end|\u003e"]` {
		t.Errorf("prompts up to %d, timeout %v, body %s", cfg.Dataset.MaxPromptLength, cfg.Steps[0].Timeout, cfg.Ask.Extra)
	}
	cfg, err = parsed(t, "http://h:1/v1/chat/completions m --read-timeout=120 --max-prompt-length 8000 --stop x")
	if err != nil || cfg.Dataset.MaxPromptLength != 8000 || cfg.Steps[0].Timeout != 2*time.Minute || string(cfg.Ask.Extra["stop"]) != `["x"]` {
		t.Errorf("given ones: %+v %v %v", cfg.Dataset, cfg.Steps[0].Timeout, err)
	}
}

func TestRespell(t *testing.T) {
	for line, want := range map[string]string{
		"run --num_prompts 5 --base_url=http://a_b": "run --num-prompts 5 --base-url=http://a_b",
		"run --goodput ttft:500 tpot:50 --model m":  "run --goodput=ttft:500 --goodput=tpot:50 --model m",
		"run --metadata a=1 b=2 http://h m f":       "run --metadata=a=1 --metadata=b=2 http://h m f",
		"run --header A=http://x --metadata --n 1":  "run --header=A=http://x --n 1",
		"run --timeline-itl-thresholds 25 50":       "run --timeline-itl-thresholds=25 --timeline-itl-thresholds=50",
		"run --custom-output-len -1 --port 1":       "run --custom-output-len=-1 --port 1",
		"report --goodput ttft:500 folder":          "report --goodput=ttft:500 folder",
		"run URL m f.jsonl --parallels 8 16 --n 5":  "run URL m f.jsonl --parallels=8 --parallels=16 --n 5",
		"run --goodput": "run --goodput",
		"compare --side a=b_c -- --num_prompts 5": "compare --side a=b_c -- --num_prompts 5",
	} {
		if got := strings.Join(respell(strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// What the log and every report repeat holds no secret.
func TestShownCommand(t *testing.T) {
	run := kingpin.New("accelbench", "").Command(runCommand, "")
	newRunFlags(run)
	for line, want := range map[string]string{
		"/usr/bin/accelbench run --header X-Key=s3cret --model m": "accelbench run --header <hidden> --model m",
		"accelbench run --header=X-Key=s3cret":                    "accelbench run --header=<hidden>",
		"accelbench run --extra_body={\"k\":1} --wandb-api-key k": "accelbench run --extra_body=<hidden> --wandb-api-key <hidden>",
		"accelbench run --exporter=http://h/metrics?token=s3cret": "accelbench run --exporter=http://h/metrics",
		"accelbench run --api-key-file key":                       "accelbench run --api-key-file key",
	} {
		if got := strings.Join(withoutSecrets(run.Model(), strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %s", line, got)
		}
	}
}

func TestDurations(t *testing.T) {
	for text, want := range map[string]time.Duration{"120": 2 * time.Minute, "1.5": 1500 * time.Millisecond, "90s": 90 * time.Second, "2m": 2 * time.Minute, "0": 0} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "-5s", "NaN", "inf", "1e300", "soon"} {
		if _, err := parseDuration(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestRates(t *testing.T) {
	var r []float64
	rates := rates(&r)
	if err := rates.Set("1, 2.5,inf"); err != nil || len(r) != 3 || !math.IsInf(r[2], 1) {
		t.Errorf("%v %v", r, err)
	}
	for _, text := range []string{"", "0", "-1", "NaN", "1,,2"} {
		if err := rates.Set(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// Sampling parameters are taken as Python's float takes them on vLLM's command line,
// and sent as JSON. What is no number is told by the flag that it was given to.
func TestSamplingNumbers(t *testing.T) {
	for text, want := range map[string]string{".5": "0.5", "1.": "1", "+0.9": "0.9", "-.5": "-0.5", "40": "40", "0.10": "0.10", "1e-3": "1e-3"} {
		cfg, err := parsed(t, "--temperature "+text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := string(cfg.Ask.Extra["temperature"]); got != want {
			t.Errorf("%s is sent as %s, want %s", text, got, want)
		}
	}
	for _, body := range []string{"null", "[]", "5", "{"} {
		if _, err := parsed(t, "--top-p 0.5 --extra-body "+body); err == nil || !strings.Contains(err.Error(), "--extra-body is no JSON object") {
			t.Errorf("body %s: error %v", body, err)
		}
	}
	for _, text := range []string{"NaN", "inf", "1e999", "warm"} {
		if _, err := parsed(t, "--temperature "+text); err == nil || !strings.Contains(err.Error(), "--temperature \""+text+"\" is no number") {
			t.Errorf("%s: error %v", text, err)
		}
	}
}
