package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// parsedLine is what a command line of run means.
func parsedLine(t *testing.T, line string) (s *runFlags, cfg load.Config, err error) {
	t.Helper()
	t.Setenv(apiKeyVariable, "")
	app := kingpin.New("accelbench", "").Terminate(nil)
	c := app.Command("run", "")
	s = (&program{Application: app, args: []string{"accelbench", "run"}, stderr: io.Discard}).newRunFlags(c)
	acceptRepeats(c)
	if _, err := parse(app, append([]string{"run"}, strings.Fields(line)...)); err != nil {
		return s, cfg, err
	}
	cfg, err = s.config()
	return s, cfg, err
}

// putOn is what a command line puts on the server.
type putOn struct {
	Steps   []runlog.Step
	API     openai.API
	Dataset dataset.Config
	Body    string // members of each request's body
}

// A command line of vllm bench serve puts on the load that it is there: the same number of
// requests, the same lengths, the same arrivals.
func TestLoadsOfVLLM(t *testing.T) {
	const minutes = 10 * time.Minute
	burst := runlog.Step{Arrival: runlog.ArrivalBurst, Requests: 1000, Timeout: minutes}
	closed := func(users int) runlog.Step {
		return runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: users, Requests: 1000, Timeout: minutes}
	}
	poisson := runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: 4, Burstiness: 1, Requests: 1000, Timeout: minutes}
	with := func(s runlog.Step, change func(*runlog.Step)) runlog.Step { change(&s); return s }
	random := dataset.Config{Kind: dataset.Random, InputLen: 1024, OutputLen: 128}
	of := func(change func(*dataset.Config)) dataset.Config { c := random; change(&c); return c }
	file := func(kind dataset.Kind, output int) dataset.Config {
		return dataset.Config{Kind: kind, Path: "f", OutputLen: output, InputLen: 1024}
	}
	inOrder, asTheyAre := file(dataset.ShareGPT, 0), file(dataset.Custom, 256)
	inOrder.DisableShuffle = true
	asTheyAre.NoOversample, asTheyAre.SkipChatTemplate = true, true
	full := "ignore_eos"
	for _, tt := range []struct {
		line string
		want putOn
	}{
		{"", putOn{[]runlog.Step{burst}, openai.Completions, random, full}},
		{"--backend vllm --num-prompts 40", putOn{[]runlog.Step{with(burst, func(s *runlog.Step) { s.Requests = 40 })}, openai.Completions, random, full}},
		{"--max-concurrency 100", putOn{[]runlog.Step{closed(100)}, openai.Completions, random, full}},
		{"--request-rate inf --max-concurrency 100", putOn{[]runlog.Step{closed(100)}, openai.Completions, random, full}},
		{"--request-rate 4", putOn{[]runlog.Step{poisson}, openai.Completions, random, full}},
		{"--request-rate 4 --burstiness 0.5", putOn{[]runlog.Step{with(poisson, func(s *runlog.Step) { s.Arrival, s.Burstiness = runlog.ArrivalGamma, 0.5 })}, openai.Completions, random, full}},
		{"--request-rate 4 --max-concurrency 9", putOn{[]runlog.Step{with(poisson, func(s *runlog.Step) { s.MaxConcurrency = 9 })}, openai.Completions, random, full}},
		{"--num-warmups 3 --max-concurrency 2", putOn{[]runlog.Step{with(closed(2), func(s *runlog.Step) { s.Warmups = 3 })}, openai.Completions, random, full}},
		{"--num-prompts 5 --num-prompts 7 --max-concurrency 2", putOn{[]runlog.Step{with(closed(2), func(s *runlog.Step) { s.Requests = 7 })}, openai.Completions, random, full}},
		{"--random-input-len 9 --random-output-len 8 --random-prefix-len 7 --random-range-ratio 0.5", putOn{[]runlog.Step{burst}, openai.Completions, of(func(c *dataset.Config) {
			c.InputLen, c.OutputLen, c.PrefixLen, c.InputRangeRatio, c.OutputRangeRatio = 9, 8, 7, 0.5, 0.5
		}), full}},
		{`--random-range-ratio {"input":0.5,"output":0.25}`, putOn{[]runlog.Step{burst}, openai.Completions, of(func(c *dataset.Config) { c.InputRangeRatio, c.OutputRangeRatio = 0.5, 0.25 }), full}},
		{"--input-len 9 --output-len 8", putOn{[]runlog.Step{burst}, openai.Completions, of(func(c *dataset.Config) { c.InputLen, c.OutputLen = 9, 8 }), full}},
		{"--backend openai-chat --endpoint /v1/chat/completions --temperature 0 --top-p .5", putOn{[]runlog.Step{burst}, openai.Chat, random, `ignore_eos "temperature":0 "top_p":0.5`}},
		{`--top-k 3 --min-p 0.1 --repetition-penalty 1.05 --frequency-penalty -0.5 --presence-penalty 0 --logprobs 5 --chat-template-kwargs {"enable_thinking":false}`, putOn{
			[]runlog.Step{burst},
			openai.Completions, random,
			full + ` "top_k":3 "min_p":0.1 "repetition_penalty":1.05 "frequency_penalty":-0.5 "presence_penalty":0 "logprobs":5 "chat_template_kwargs":{"enable_thinking":false}`,
		}},
		{"--backend openai-chat --logprobs 5", putOn{[]runlog.Step{burst}, openai.Chat, random, full}},
		{`--backend openai-chat --logprobs 5 --extra-body {"logprobs":true}`, putOn{[]runlog.Step{burst}, openai.Chat, random, full + ` "logprobs":true`}},
		{`--no-ignore-eos --extra-body {"top_k":3}`, putOn{[]runlog.Step{burst}, openai.Completions, random, `"top_k":3`}},
		{"--dataset-name sharegpt --dataset-path f --disable-shuffle", putOn{[]runlog.Step{burst}, openai.Completions, inOrder, ""}},
		{"--dataset-name sharegpt --dataset-path f", putOn{[]runlog.Step{burst}, openai.Completions, file(dataset.ShareGPT, 0), ""}},
		{"--dataset-name sharegpt --dataset-path f --sharegpt-output-len 9 --ignore-eos", putOn{[]runlog.Step{burst}, openai.Completions, file(dataset.ShareGPT, 9), full}},
		{"--dataset-name custom --dataset-path f", putOn{[]runlog.Step{burst}, openai.Completions, file(dataset.Custom, 256), ""}},
		{"--dataset-name custom --dataset-path f --no-oversample --skip-chat-template", putOn{[]runlog.Step{burst}, openai.Completions, asTheyAre, ""}},
		{"--dataset-name custom --dataset-path f --custom-output-len -1", putOn{[]runlog.Step{burst}, openai.Completions, file(dataset.Custom, 0), ""}},
		{"--dataset-name prefix_repetition --prefix-repetition-prefix-len 9 --prefix-repetition-num-prefixes 3", putOn{[]runlog.Step{burst}, openai.Completions, of(func(c *dataset.Config) {
			c.Kind, c.PrefixLen, c.InputLen, c.NumPrefixes = dataset.Prefix, 9, 256, 3
		}), ""}},
		{"--dataset-name timed_trace --dataset-path f --timed-trace-chunk-hash-size 512 --max-concurrency 3 --self-timed", putOn{
			[]runlog.Step{{Arrival: runlog.ArrivalReplay, MaxConcurrency: 3, Requests: 1000, Timeout: minutes}},
			openai.Completions,
			dataset.Config{Kind: dataset.Replay, Path: "f", InputLen: 1024, Trace: dataset.Trace{Second: 1, Block: 512}},
			full,
		}},
		// Ours.
		{"--backend openai-chat --dataset-name multi_turn --multi-turn-input-len 9 --multi-turn-prefix-len 7 --random-output-len 8 --max-concurrency 100 --multi-turn-num-turns 2-8 --multi-turn-delay constant:5s", putOn{
			[]runlog.Step{closed(100)}, openai.Chat, of(func(c *dataset.Config) {
				c.Kind, c.InputLen, c.PrefixLen, c.OutputLen = dataset.MultiTurn, 9, 7, 8
				c.Turns, c.Delay = dataset.Range{From: 2, To: 8}, dataset.Delay{Mean: 5 * time.Second, Constant: true}
			}), full,
		}},
		{"--random-cache-hit 60% --max-concurrency 100", putOn{[]runlog.Step{closed(100)}, openai.Completions, of(func(c *dataset.Config) {
			c.CacheHit = 0.6
		}), full}},
		{"--max-concurrency 8,16 --repeat 2", putOn{[]runlog.Step{
			closed(8), with(closed(16), func(s *runlog.Step) { s.Index = 1 }),
			with(closed(8), func(s *runlog.Step) { s.Index, s.Repeat = 2, 1 }), with(closed(16), func(s *runlog.Step) { s.Index, s.Repeat = 3, 1 }),
		}, openai.Completions, random, full}},
		{"--request-rate 4,inf --duration 90s", putOn{[]runlog.Step{
			with(poisson, func(s *runlog.Step) { s.Requests, s.Duration = 0, 90*time.Second }), with(burst, func(s *runlog.Step) { s.Index, s.Duration = 1, 90*time.Second }),
		}, openai.Completions, random, full}},
		{"--request-rate 4 --burstiness inf --ramp-up 5s", putOn{[]runlog.Step{with(poisson, func(s *runlog.Step) {
			s.Arrival, s.Burstiness, s.RampUp = runlog.ArrivalConstant, 0, 5*time.Second
		})}, openai.Completions, random, full}},
	} {
		_, cfg, err := parsedLine(t, tt.line)
		if err != nil {
			t.Errorf("%s: %v", tt.line, err)
			continue
		}
		tt.want.Dataset.API = tt.want.API
		if tt.want.Dataset.Kind != dataset.Replay {
			tt.want.Dataset.Trace = dataset.Trace{Second: 1, Block: 16}
		}
		tt.want.Dataset.Trace.Speed = 1
		if tt.want.Dataset.Turns.To == 0 {
			tt.want.Dataset.Turns = dataset.Range{From: 4, To: 4}
		}
		if tt.want.Dataset.NumPrefixes == 0 {
			tt.want.Dataset.NumPrefixes = 10
		}
		var body []string
		if cfg.Ask.IgnoreEOS {
			body = append(body, full)
		}
		for _, name := range []string{"temperature", "top_p", "top_k", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty", "logprobs", "chat_template_kwargs"} {
			if value, ok := cfg.Ask.Extra[name]; ok {
				body = append(body, `"`+name+`":`+string(value))
			}
		}
		got := putOn{cfg.Steps, cfg.Run.API, cfg.Dataset, strings.Join(body, " ")}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.line, diff)
		}
	}
}

// Every flag of vllm bench serve is built, without effect, or refused in one line.
func TestEveryFlagOfVLLM(t *testing.T) {
	fixture, err := os.Open("testdata/vllm-flags.tsv")
	noError(t, err)
	defer fixture.Close()
	refused := regexp.MustCompile(`^--(lora-|probe-request-rate$|ramp-up-|timed-trace-label-|use-beam-search$|` + // then those of data sets
		`hf-|bfcl-|blazedit-|asr-|random-batch-size$|random-mm-|spec-bench-|speed-bench-|no-reranker$)`)
	values := map[string]string{
		"--dataset-name": "random", "--backend": "vllm", "--header": "A=b C=d", "--metadata": "a=b c=d", "--goodput": "ttft:500 tpot:50",
		"--endpoint": "/v1/completions", "--base-url": "http://h:1", "--extra-body": "{}", "--percentile-metrics": "ttft,e2el", "--metric-percentiles": "50,99.9",
		"--dataset-path": "f --dataset-name openqa", "--random-range-ratio": "0.5", "--chat-template-kwargs": "{}", "--self-timed": " --dataset-name timed_trace --dataset-path f",
	}
	count := 0
	for in := bufio.NewScanner(fixture); in.Scan(); {
		fields := strings.Split(in.Text(), "\t")
		if len(fields) != 3 {
			continue
		}
		count++
		name, line := fields[0], fields[0]
		switch value, ok := values[name]; {
		case ok:
			line += " " + value
		case fields[1] != "none":
			line += " 5"
		}
		s, _, err := parsedLine(t, line+" --max-concurrency 2")
		isIgnored := slices.Contains(strings.Fields(vllmValues+" "+vllmSwitches), name[len("--"):])
		switch printed := strings.Join(s.ignored, " "); {
		case refused.MatchString(name):
			if err == nil || err.Error() != fmt.Sprintf("unknown long flag '%s'", name) {
				t.Errorf("%s: error %v, want one line that refuses it", line, err)
			}
		case err != nil:
			t.Errorf("%s: %v", line, err)
		case isIgnored != (printed == name):
			t.Errorf("%s: named %q as without effect", line, printed)
		}
	}
	if count < 91 {
		t.Errorf("the fixture has %d flags", count)
	}
}

// A wrong command line is one line that names the flag.
func TestWrongLoads(t *testing.T) {
	for line, want := range map[string]string{
		"--num-prompts 0":                                   `--num-prompts: "0" is no `,
		"--num-prompts x":                                   `--num-prompts: "x" is no whole number above 0`,
		"--max-concurrency 1,0":                             `--max-concurrency: "0" is no `,
		"--max-concurrency 1,2 --request-rate 4":            "one of them is the sweep",
		"--request-rate 0":                                  `--request-rate: "0" is no `,
		"--request-rate 1,x":                                `--request-rate: "x" is no number above 0`,
		"--burstiness -1":                                   `--burstiness: "-1" is no number above 0`,
		"--backend openai-embeddings":                       "--backend: enum value must be one of vllm,openai,openai-chat",
		"--dataset-name hf":                                 `unknown data set "hf": use openqa, sharegpt, `,
		"--dataset-name random --dataset-path f":            "data set random takes no file: leave out --dataset-path",
		"--dataset-name prefix_repetition --dataset-path f": "data set prefix_repetition takes no file: leave out --dataset-path",
		"--backend openai-chat --dataset-name multi_turn --dataset-path f --multi-turn-num-turns 2": "--multi-turn-num-turns, --multi-turn-input-len and --multi-turn-prefix-len are of made conversations",
		"--backend openai-chat --dataset-name multi_turn --dataset-path f --multi-turn-input-len 9": "are of made conversations: a --dataset-path has its own",
		"--backend openai-chat --dataset-path f --multi-turn-prefix-len 9":                          "are of made conversations",
		"--dataset-name timed_trace --dataset-path f --timed-trace-from=-5s":                        "--timed-trace-from must not be negative",
		"--chat-template-kwargs 5":           "--chat-template-kwargs: ",
		"--top-k x":                          "--top-k: ",
		"--dataset-name random --self-timed": "--self-timed is of a timed_trace",
		"--random-range-ratio 1":             `--random-range-ratio: "1" is no number from 0 to below 1`,
		"--random-range-ratio {}x":           "--random-range-ratio: ",
		"--timeout soon":                     `--timeout: time: invalid duration "soon"`,
		"--temperature NaN":                  "--temperature: ",
		"--extra-body null":                  "--extra-body is no JSON object",
		"--dataset-name timed_trace --dataset-path f --request-rate 4": "a timed_trace has its own times",
		"--dataset-name sharegpt":                                      "data set sharegpt needs a file: give --dataset-path",
		"--random-output-len 0":                                        "data set random needs an input and an output length of at least 1",
		"--dataset-name prefix_repetition --prefix-repetition-prefix-len 0 --prefix-repetition-suffix-len 0": "data set prefix_repetition needs an input and an output length",
		"--output-len 0":                           `--output-len: "0" is no `,
		"--random-prefix-len=-1":                   "lengths of prompts and answers must be from 0 to 1048576",
		"--backend openai-chat --prompt-token-ids": "prompts of token ids need the completions API",
		"stray":                      "unexpected stray",
		"--dataset-name multi_turn":  "data set multi_turn needs the chat API: give --backend openai-chat",
		"--multi-turn-num-turns 8-2": `--multi-turn-num-turns: "8-2" is no number of turns such as 4 or 2-8`,
		"--multi-turn-num-turns 0":   `--multi-turn-num-turns: "0" is no number of turns`,
		"--multi-turn-num-turns 1-":  `--multi-turn-num-turns: "1-" is no number of turns`,
		"--multi-turn-delay soon":    `--multi-turn-delay: time: invalid duration "soon"`,
		"--multi-turn-delay=-1s":     "--multi-turn-delay: ",
		"--timed-trace-speed 0":      `--timed-trace-speed: "0" is no `,
		"--random-cache-hit 60% --random-input-len 100 --block-size 64": "--random-cache-hit: of prompts of 100 tokens, whole blocks of 64 can make 64 %, not 60 %: give longer prompts",
		"--repeat 1001": "--repeat must be from 1 to 1000",
		"--random-cache-hit 60% --random-prefix-len 8": "--random-cache-hit: give --dataset-name random, without --random-prefix-len",
		"--random-cache-hit 100%":                      `--random-cache-hit: "100%" is no share from 1% to 99%`,
	} {
		_, _, err := parsedLine(t, line)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

func TestEndpoints(t *testing.T) {
	type endpoint struct {
		URL         string
		API         openai.API
		Model, Path string
	}
	for line, want := range map[string]endpoint{
		"": {"http://127.0.0.1:8000", openai.Completions, "", ""},
		"--base-url http://h:1/v1 --backend openai-chat --model m":   {"http://h:1", openai.Chat, "m", ""},
		"--base-url http://h:1/v1/chat/completions":                  {"http://h:1", openai.Chat, "", ""},
		"--host h --port 1025 --endpoint /v1/chat/completions":       {"http://h:1025", openai.Chat, "", ""},
		"--model /data/Qwen --served-model-name qwen --backend vllm": {"http://127.0.0.1:8000", openai.Completions, "qwen", "/data/Qwen"},
	} {
		_, cfg, err := parsedLine(t, line)
		if got := (endpoint{cfg.Run.URL, cfg.Run.API, cfg.Run.Model, cfg.Run.ModelPath}); err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", line, got, err, want)
		}
	}
}

// The load of a command line of evalscope-perf is the one that it is there.
func TestLoadsOfEvalscope(t *testing.T) {
	c := kingpin.New("accelbench", "").Terminate(nil)
	s := (&program{Application: c, commands: map[string]func(context.Context) (int, error){}}).addEvalscope()
	acceptRepeats(c.GetCommand("evalscope-perf"))
	if _, err := parse(c, strings.Fields("evalscope-perf http://h/v1/chat/completions m d.jsonl --parallels 8 --parallels 16 --n 50 --read-timeout=120 --debug")); err != nil {
		t.Fatal(err)
	}
	steps, err := s.load.steps(false, 0)
	if err != nil || len(steps) != 2 || steps[1].Concurrency != 16 || steps[1].Requests != 50 || steps[1].Timeout != 2*time.Minute {
		t.Errorf("%+v %v", steps, err)
	}
	if s.cfg.Dataset.MaxPromptLength != 256 || string(s.ask.members["stop"]) != `["\u003c|im_end|\u003e"]` {
		t.Errorf("prompts to %d characters, stop %s", s.cfg.Dataset.MaxPromptLength, s.ask.members["stop"])
	}
}

// What the log and every report repeat holds no secret.
func TestShownCommand(t *testing.T) {
	for line, want := range map[string]string{
		"accelbench run --header X-Key=s3cret Y=s3cret --model m": "accelbench run --header <hidden> --header <hidden> --model m",
		"accelbench run --header=X-Key=s3cret":                    "accelbench run --header=<hidden>",
		"accelbench evalscope-perf --wandb_api_key s3cret u m d":  "accelbench evalscope-perf --wandb-api-key <hidden> u m d",
		"accelbench run --base-url http://h/v1?key=s3cret":        "accelbench run --base-url http://h/v1",
		"accelbench run --extra-body={\"k\":1}":                   "accelbench run --extra-body=<hidden>",
		"accelbench compare --bindings serve --repeat 5":          "accelbench compare --bindings <hidden> --repeat 5",
		"accelbench compare --command serve --command=two --json": "accelbench compare --command <hidden> --command=<hidden> --json",
		"accelbench run --api-key-file key":                       "accelbench run --api-key-file key",
	} {
		if got := strings.Join(withoutSecrets(strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %s", line, got)
		}
	}
}

// The help of run is two screens at most.
func TestHelpFitsTwoScreens(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var help strings.Builder
	app := newProgram(nil, &help, io.Discard)
	app.Terminate(func(int) { panic("ended") })
	func() {
		defer func() { _ = recover() }()
		_, _ = app.Parse([]string{"run", "--help"})
	}()
	lines := strings.Split(help.String(), "\n")
	if len(lines) < 50 || len(lines) > 76 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if len([]rune(line)) > 80 {
			t.Errorf("%d columns: %s", len([]rune(line)), line)
		}
	}
}
