package main

import (
	"fmt"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

const noTokenizer = "no tokenizer is loaded"

// vllm translates the command lines of vLLM's tool, from benchmark_serving.py to vllm
// bench serve of 0.33, which are known by --backend, --dataset-name or --num-prompts.
func vllm() otherTool {
	const (
		noPlots = "the report has pictures of its own"
		noMedia = "there are no prompts with pictures or sound"
	)
	flags := []otherFlag{
		{name: "base-url", ours: "url"},
		{name: "endpoint-type", ours: "backend"},
		{name: "dataset-name", ours: "dataset"},
		{name: "random-input-len", ours: "input-len"},
		{name: "num-prompts", ours: "requests"},
		{name: "num-warmups", ours: "warmup-requests"},
		{name: "ready-check-timeout-sec", ours: "ready-timeout"},
		{name: "trust-remote-code", because: noTokenizer},
		{name: "tokenizer", value: true, because: noTokenizer},
		{name: "request-id-prefix", value: true, because: "request ids are random, and kept in traces.jsonl"},
		{name: "label", value: true, because: "--metadata keeps one"},
		{name: "save-detailed", because: "every request is kept in traces.jsonl"},
		{name: "skip-tokenizer-init", because: noTokenizer},
		{name: "tokenizer-mode", value: true, because: noTokenizer},
		{name: "disable-tqdm", because: "progress goes to standard error; --quiet shows none"},
		{name: "profile", because: "the server is not told to profile itself"},
		{name: "skip-chat-template", because: "prompts are sent as they are"},
		{name: "enable-multimodal-chat", because: noMedia},
		{name: "custom-ensure-client-side-data", because: noMedia},
		{name: "plot-timeline", because: noPlots},
		{name: "timeline-itl-thresholds", value: true, because: noPlots},
		{name: "plot-dataset-stats", because: noPlots},
		{
			name: "no-stream", because: "answers are always streamed: without that there is no TTFT and no ITL",
			// vLLM's flag of this name is about how a data set is loaded.
			refused: func(t *translation, _ string) bool { return !isVLLM(t) },
		},
		{name: "use-beam-search", because: "a server does not stream the answer of a beam search, so that there is no TTFT and no ITL", refused: whenOn},
		{name: "no-oversample", because: "a file is begun again at its end: ask for no more --requests than it has records", refused: whenOn},
		{name: "probe-request-rate", value: true, because: "probes beside the load are accelerator_exporter's (--probe.target)", refused: unlessNumber(0)},
		{name: "best-of", value: true, because: "one answer is asked for, and streamed", refused: unlessNumber(1)},
		{name: "no-reranker", because: noDataset("random-rerank")},
	}
	// The data sets that accelbench does not have, which --dataset refuses.
	for _, set := range []struct {
		name  string
		flags []string
	}{
		{"hf", []string{
			"hf-subset", "hf-split", "hf-name", "hf-output-len", "blazedit-min-distance", "blazedit-max-distance",
			"asr-max-audio-len-sec", "asr-min-audio-len-sec", "bfcl-categories",
		}},
		{"random-mm", []string{
			"random-mm-base-items-per-request", "random-mm-num-mm-items-range-ratio", "random-mm-limit-mm-per-prompt", "random-mm-bucket-config",
		}},
		{"random-rerank", []string{"random-batch-size"}},
		{"spec_bench", []string{"spec-bench-output-len", "spec-bench-category"}},
		{"speed_bench", []string{"speed-bench-dataset-subset", "speed-bench-output-len", "speed-bench-category"}},
		{"sonnet", []string{"sonnet-input-len", "sonnet-output-len", "sonnet-prefix-len"}},
	} {
		for _, name := range set.flags {
			flags = append(flags, otherFlag{name: name, value: true, because: noDataset(set.name)})
		}
	}
	return otherTool{flags: flags, imply: implyVLLM}
}

func noDataset(name string) string {
	return "it belongs to the data set " + name + ", which there is none of"
}

// isVLLM reports whether a command line is one of vLLM's tool.
func isVLLM(t *translation) bool {
	return t.wasTyped("backend", "endpoint-type", "dataset-name", "num-prompts")
}

// implyVLLM adds the defaults of vLLM's tool, and the output that it prints.
func implyVLLM(t *translation) error {
	name := t.value("dataset")
	if !isVLLM(t) {
		return nil
	}
	if stray := t.arguments(); len(stray) > 0 {
		return fmt.Errorf("%q belongs to no flag: quote a value with blanks, and give the endpoint as --base-url", stray[0])
	}
	kind, _ := dataset.ParseKind(name) // an unknown one is told when it is used
	if !t.has("api", "backend") {
		t.add("api", "completions")
	}
	if !t.has("concurrency", "max-concurrency", "request-rate") && kind != dataset.Replay {
		t.add("request-rate", "inf")
	}
	if kind == dataset.Custom && t.wasTyped("dataset-name") {
		t.add("custom-output-len", "256")
	}
	t.add("format", "head,vllm,checks,table")
	return nil
}

// backendAPI is the API of one of vLLM's backends, chat where none is named.
func backendAPI(backend string) (openai.API, error) {
	switch backend {
	case "", "openai-chat":
		return openai.Chat, nil
	case "vllm", "openai", "vllm-rlhf", "lmdeploy", "sglang", "scalellm", "llama.cpp":
		return openai.Completions, nil
	}
	return "", fmt.Errorf("the backend %q asks for neither chat nor completions, or is not known (known: vllm, openai, openai-chat, sglang, lmdeploy, scalellm)", backend)
}

// whenOn reports whether a flag that --no- takes back is on.
func whenOn(_ *translation, value string) bool { return value != "false" }

// unlessNumber refuses every value but one.
func unlessNumber(harmless float64) func(*translation, string) bool {
	return func(_ *translation, value string) bool {
		n, err := strconv.ParseFloat(value, 64)
		return err != nil || n != harmless
	}
}
