package main

import (
	"fmt"
	"strings"
)

// evalscope translates the command lines of evalscope-perf 1.0.0, which are known by
// their arguments URL MODEL DATASET.
func evalscope() otherTool {
	const (
		noLog     = "there is no such log"
		noTracker = "nothing is sent to a tracker"
	)
	return otherTool{imply: implyEvalscope, flags: []otherFlag{
		{name: "parallels", ours: "concurrency"},
		{name: "parallel", ours: "concurrency"},
		{name: "n", ours: "requests"},
		{name: "number", ours: "requests"},
		{name: "warmup-num", ours: "warmup-requests"},
		{name: "read-timeout", ours: "timeout"},
		{name: "tokenizer-path", value: true, because: noTokenizer},
		{name: "debug", because: noLog},
		{name: "log-every-n-query", value: true, because: noLog},
		{name: "connect-timeout", value: true, because: "--timeout bounds connecting too"},
		{name: "wandb-api-key", value: true, secret: true, because: noTracker},
		{name: "name", value: true, because: noTracker},
		{name: "stream", because: "answers are always streamed"},
		{name: "query-template", value: true, because: "add members to the body with --extra-body", refused: always},
	}}
}

// implyEvalscope makes flags of the arguments, and adds the defaults of evalscope-perf,
// its summary and its files.
func implyEvalscope(t *translation) error {
	if t.value("api") == "openai" { // which says nothing here
		t.drop("api")
	}
	arguments := t.arguments()
	if len(arguments) == 0 || isVLLM(t) && !isURL(arguments[0]) {
		return nil
	}
	if len(arguments) == 2 && strings.Contains(arguments[1], ".json") {
		return fmt.Errorf("%s is a file: the model is missing between the URL and the data set", arguments[1])
	}
	t.drop("")
	for i, name := range []string{"url", "model", "dataset-path"}[:len(arguments)] {
		if !t.add(name, arguments[i]) {
			return fmt.Errorf("two %s are given, one of them as --%s", []string{"endpoints", "models", "data sets"}[i], name)
		}
	}
	var taken []string
	for _, f := range []struct{ flag, value, told string }{
		{"max-prompt-length", "256", "--max-prompt-length 256"},
		{"timeout", "30", "--read-timeout 30"},
		{"stop", "<|im_end|>", "--stop '<|im_end|>'"},
	} {
		if t.add(f.flag, f.value) {
			taken = append(taken, f.told)
		}
	}
	t.add("format", "head,evalscope,checks,table")
	if !t.has("save-evalscope") {
		t.words = append(t.words, word{"save-evalscope", "true", true})
	}
	t.notes = append(t.notes, `the figures differ from evalscope-perf's in what they mean: see "What differs from evalscope-perf" in docs/accelbench.md`)
	if len(taken) > 0 {
		t.notes = append(t.notes, "defaults of evalscope-perf used: "+strings.Join(taken, ", "))
	}
	return nil
}

func always(*translation, string) bool { return true }
