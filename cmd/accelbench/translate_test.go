package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kballard/go-shellquote"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// translateLine is what a command line of another tool is in flags of run.
func translateLine(t *testing.T, line string) (*translation, error) {
	t.Helper()
	args, err := shellquote.Split(line)
	if err != nil {
		t.Fatal(err)
	}
	app, _ := newApp(&invocation{}, io.Discard, io.Discard)
	words := readRun(app, respell(append([]string{runCommand}, args...)))
	if words == nil {
		t.Fatalf("%s is not read", line)
	}
	return translate(words)
}

// Every command of the users' documents and of our own pages is one in flags of run.
func TestCommandsOfOtherTools(t *testing.T) {
	const evalscopePrints, vllmPrints = "--format=head,evalscope,checks,table --save-evalscope", "--format=head,vllm,checks,table"
	for line, want := range map[string]string{
		"http://127.0.0.1:8000/v1/chat/completions qwen2.5 ./datasets/open_qa.jsonl --max-prompt-length 8000 --read-timeout=120 --parallels 128 --n 1000": "--max-prompt-length=8000 --timeout=120 --concurrency=128 --requests=1000 --url=http://127.0.0.1:8000/v1/chat/completions --model=qwen2.5 " +
			"--dataset-path=./datasets/open_qa.jsonl --stop='<|im_end|>' " + evalscopePrints,
		"http://127.0.0.1:8000/v1/chat/completions qwen2.5 ./datasets/open_qa.jsonl --read-timeout=120 --parallels 8 --parallels 16 --parallels 32 --parallels 64 --parallels 100 --parallels 128 --parallels 150 --parallels 200 --n 1000": "--timeout=120 --concurrency=8 --concurrency=16 --concurrency=32 --concurrency=64 --concurrency=100 --concurrency=128 --concurrency=150 --concurrency=200 --requests=1000 " +
			"--url=http://127.0.0.1:8000/v1/chat/completions --model=qwen2.5 --dataset-path=./datasets/open_qa.jsonl --max-prompt-length=256 --stop='<|im_end|>' " + evalscopePrints,
		"http://127.0.0.1:8000/v1/chat/completions qwen2.5 ./datasets/open_qa.jsonl --max-prompt-length 8000 --read-timeout=120 --parallels 100 --n 500": "--max-prompt-length=8000 --timeout=120 --concurrency=100 --requests=500 --url=http://127.0.0.1:8000/v1/chat/completions --model=qwen2.5 " +
			"--dataset-path=./datasets/open_qa.jsonl --stop='<|im_end|>' " + evalscopePrints,
		"http://h:1/v1/chat/completions m f.jsonl --api openai --stop x --format json": "--stop=x --format=json --url=http://h:1/v1/chat/completions --model=m --dataset-path=f.jsonl --max-prompt-length=256 --timeout=30 --save-evalscope",
		"http://h:1/v1/completions m --parallel 8 16 --number 5 --warmup-num 2":        "--concurrency=8 --concurrency=16 --requests=5 --warmup-requests=2 --url=http://h:1/v1/completions --model=m --max-prompt-length=256 --timeout=30 --stop='<|im_end|>' " + evalscopePrints,

		"--backend vllm --model qwen2.5 --dataset-name random --tokenizer /data/models/llm/qwen/Qwen2.5-32B-Instruct --random-input-len 256 --num-prompts 640 --base-url http://127.0.0.1:1025 --trust-remote-code": "--backend=vllm --model=qwen2.5 --dataset=random --tokenizer=/data/models/llm/qwen/Qwen2.5-32B-Instruct --input-len=256 --requests=640 --url=http://127.0.0.1:1025 --request-rate=inf " + vllmPrints,
		"--backend vllm --model qwen2.5 --tokenizer /data/models/Qwen2.5-72B-Instruct --dataset-name sharegpt --dataset-path /data/s.json --base-url http://0.0.0.0:8000 --trust-remote-code":                       "--backend=vllm --model=qwen2.5 --tokenizer=/data/models/Qwen2.5-72B-Instruct --dataset=sharegpt --dataset-path=/data/s.json --url=http://0.0.0.0:8000 --request-rate=inf " + vllmPrints,
		"--backend vllm --model qwen2.5 --tokenizer /data/models/Qwen2.5-72B-Instruct --dataset-name sharegpt --dataset-path /data/s.json --base-url http://0.0.0.0:8000 --trust-remote-code --max-concurrency 100": "--backend=vllm --model=qwen2.5 --tokenizer=/data/models/Qwen2.5-72B-Instruct --dataset=sharegpt --dataset-path=/data/s.json --url=http://0.0.0.0:8000 --max-concurrency=100 " + vllmPrints,
		"--backend vllm --model qwen2.5 --dataset-name sharegpt --dataset-path sharegpt.json --base-url http://127.0.0.1:8000 --num-prompts 1000 --max-concurrency 100 --save-result":                               "--backend=vllm --model=qwen2.5 --dataset=sharegpt --dataset-path=sharegpt.json --url=http://127.0.0.1:8000 --requests=1000 --max-concurrency=100 --save-result " + vllmPrints,
		"--num_prompts 5 --goodput ttft:500 tpot:50 --ready-check-timeout-sec 7":                             "--requests=5 --goodput=ttft:500 --goodput=tpot:50 --ready-timeout=7 --api=completions --request-rate=inf " + vllmPrints,
		"--dataset-name timed_trace --dataset-path t.jsonl --no-self-timed":                                  "--dataset=timed_trace --dataset-path=t.jsonl --no-self-timed --timed-trace-sec-multiplier=1 --timed-trace-chunk-hash-size=16 --api=completions " + vllmPrints,
		"--dataset-name custom --dataset-path f --ramp-up-strategy linear --num-warmups 3 --no-stream":       "--dataset=custom --dataset-path=f --ramp-up-strategy=linear --warmup-requests=3 --api=completions --custom-output-len=256 " + vllmPrints,
		"--endpoint-type openai-chat --header A=1 B=2 --custom-output-len -1 --dataset-name=custom -q":       "--backend=openai-chat --header=A=1 --header=B=2 --custom-output-len=-1 --dataset=custom --quiet --request-rate=inf " + vllmPrints,
		"--backend vllm http://h:1/v1/chat/completions m":                                                    "--backend=vllm --url=http://h:1/v1/chat/completions --model=m --max-prompt-length=256 --timeout=30 --stop='<|im_end|>' " + evalscopePrints + " --request-rate=inf",
		"--url http://127.0.0.1:8000 --concurrency 8,16 --requests 500 --insecure --extra-body '{\"a\": 1}'": "--url=http://127.0.0.1:8000 --concurrency=8,16 --requests=500 --insecure --extra-body='{\"a\": 1}'",
		"": "",
	} {
		got, err := translateLine(t, line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		wanted, err := shellquote.Split("run " + want)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, got.args()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
		// What it is translated to means the same.
		again, err := translateLine(t, shellquote.Join(got.args()[1:]...))
		if err != nil || !slices.Equal(again.args(), got.args()) {
			t.Errorf("%s: translated again it is %s %v", line, again.args(), err)
		}
	}
}

// Errors speak of the flags that were typed, whatever they are called here.
func TestErrorsNameWhatWasTyped(t *testing.T) {
	for line, want := range map[string]string{
		"--parallels 0":                   `--parallels: "0" is no number of users above 0`,
		"--num-prompts 0":                 "--num-prompts must be at least 1",
		"--requests 0":                    "--requests must be at least 1",
		"--num-warmups -1":                "--num-warmups must not be negative",
		"--parallel 2 --request-rate 3":   "--parallel is a closed loop and --request-rate an open one",
		"--read-timeout soon":             `--read-timeout: "soon" is no duration`,
		"--n 5 --n 6":                     "flag 'n' cannot be repeated",
		"--requests 5 --n 6":              "--requests and --n are the same: give one of them",
		"--num-prompts 5 --number 6":      "--number and --num-prompts are the same: give one of them",
		"http://h m f.jsonl --base-url x": "two endpoints are given, one of them as --base-url",
		"http://h m --model x":            "two models are given, one of them as --model",
		"http://h open_qa.jsonl":          "open_qa.jsonl is a file: the model is missing between the URL and the data set",
		"http://h m f x":                  "unexpected x",
		"--backend rerank":                `the backend "rerank" asks for neither chat nor completions`,
		"--num-prompts":                   "expected argument for flag '--num-prompts'",
	} {
		if code, told := runLine(t, line); code != exitUsage || !strings.Contains(told, want) {
			t.Errorf("%s: exit code %d, told %s, want %s", line, code, told, want)
		}
	}
}

// runLine is what the program tells of a command line, and its exit code.
func runLine(t *testing.T, line string) (code int, told string) {
	t.Helper()
	var stderr strings.Builder
	code = run(t.Context(), append([]string{"accelbench", "run"}, strings.Fields(line)...), io.Discard, &stderr)
	return code, stderr.String()
}

// --print-command shows what a command of another tool means, and does nothing.
func TestPrintCommand(t *testing.T) {
	var stdout, stderr strings.Builder
	args := []string{"accelbench", "run", "http://h:1/v1/chat/completions", "m", "my file.jsonl", "--n", "5", "--print-command", "--debug", "--header", "Authorization=Bearer s3cret"}
	code := run(t.Context(), args, &stdout, &stderr)
	want := "accelbench run --requests=5 --header=\\<hidden\\> --url=http://h:1/v1/chat/completions --model=m '--dataset-path=my file.jsonl' --max-prompt-length=256 --timeout=30 " +
		"--stop=\\<\\|im_end\\|\\> --format=head,evalscope,checks,table --save-evalscope\n"
	if diff := cmp.Diff(want, stdout.String()); code != exitMeasured || diff != "" {
		t.Errorf("exit code %d (-want +got):\n%s", code, diff)
	}
	if strings.Count(stderr.String(), "\n") != 3 || !strings.Contains(stderr.String(), "--debug is accepted, and without effect") {
		t.Errorf("told:\n%s", &stderr)
	}
}

// A flag has one name in each tool, and every name is that of a flag of run.
func TestTablesOfOtherTools(t *testing.T) {
	app, _ := newApp(&invocation{}, io.Discard, io.Discard)
	run := app.GetCommand(runCommand)
	seen := map[string]int{}
	for _, tool := range otherTools() {
		for _, f := range tool.flags {
			seen[f.name]++
			if f.ours != "" && (run.GetFlag(f.ours) == nil || f.because != "") || f.ours == "" && f.because == "" {
				t.Errorf("%+v: neither a flag of run nor a reason", f)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		if seen[name] > 1 {
			t.Errorf("--%s stands %d times", name, seen[name])
		}
	}
}

// A command line of another tool may stand behind -- of compare too: what it implies of
// output is nothing that was asked for there.
func TestCompareTakesOtherTools(t *testing.T) {
	for line, want := range map[string]string{
		"--backend vllm --num-prompts 5 --dataset-name random":    "",
		"http://h:1/v1/chat/completions m --n 5 --dataset random": "",
		"--num-prompts 0":               "--num-prompts must be at least 1",
		"--num-prompts 5 --format json": "--format and --goodput belong before it",
		"--num-prompts 5 --save-result": "result files are made by accelbench report",
		"--num-prompts 5 --repeat 2":    "--repeat belongs before --",
		"--num-prompts 5 --number 6":    "--number and --num-prompts are the same",
	} {
		_, cfg, err := parseRun([]string{"accelbench"}, strings.Fields(line), io.Discard)
		switch {
		case want == "" && (err != nil || len(cfg.Steps) != 1 || cfg.Steps[0].Requests != 5):
			t.Errorf("%s: %+v %v", line, cfg.Steps, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

// A trace that only its records tell keeps its times on a command line of vLLM's tool.
func TestVLLMReplaysWhatLooksLikeATrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, []byte(`{"timestamp": 0, "input_length": 40, "output_length": 4, "hash_ids": [1]}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := parsed(t, "--backend vllm --dataset-path "+path)
	if err != nil || len(cfg.Steps) != 1 || cfg.Steps[0].Arrival != runlog.ArrivalReplay {
		t.Errorf("%+v %v", cfg.Steps, err)
	}
}
