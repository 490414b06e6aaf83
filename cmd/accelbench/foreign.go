package main

import (
	"fmt"
	"io"
	"strconv"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
)

// foreignFlag is a flag of another tool that has no counterpart here. It is taken so
// that commands written for that tool run; one that would make the load or the
// figures others than that tool's is refused.
type foreignFlag struct {
	name  string
	value bool // it takes one
	// because is why it changes nothing here, or why it is refused.
	because string
	// refused reports whether the flag asks for something that is not done. Nil is
	// never.
	refused func(text string, asked foreignCase) bool

	given bool
	text  string // the value; false after --no-
}

// foreignCase is what else a command line asks for.
type foreignCase struct {
	kind dataset.Kind
	vllm bool
}

// foreignFlags are all of them: of vLLM's tool from benchmark_serving.py to 0.33, and
// of evalscope.
func foreignFlags() []foreignFlag {
	const (
		noTokenizer = "no tokenizer is loaded"
		noShuffle   = "the records of a file are taken in their own order"
		noPlots     = "the report has pictures of its own"
		noTracker   = "nothing is sent to a tracker"
	)
	flag := func(name, because string) foreignFlag { return foreignFlag{name: name, because: because} }
	with := func(name, because string) foreignFlag { return foreignFlag{name: name, because: because, value: true} }
	flags := []foreignFlag{
		flag("trust-remote-code", noTokenizer),
		flag("skip-tokenizer-init", noTokenizer),
		with("tokenizer-mode", noTokenizer),
		with("tokenizer-path", noTokenizer),
		flag("disable-tqdm", "progress goes to standard error; --quiet shows none"),
		flag("profile", "the server is not told to profile itself"),
		flag("debug", "there is no such log"),
		with("log-every-n-query", "there is no such log"),
		with("connect-timeout", "--timeout bounds connecting too"),
		with("wandb-api-key", noTracker),
		with("name", noTracker),
		flag("disable-shuffle", noShuffle),
		flag("skip-chat-template", "prompts are sent as they are"),
		flag("enable-multimodal-chat", "there are no prompts with pictures or sound"),
		flag("custom-ensure-client-side-data", "there are no prompts with pictures or sound"),
		flag("plot-timeline", noPlots),
		with("timeline-itl-thresholds", noPlots),
		flag("plot-dataset-stats", noPlots),
		{
			name: "no-stream", because: "answers are always streamed: without that there is no TTFT and no ITL",
			// vLLM's flag of this name is about how a data set is loaded.
			refused: func(_ string, asked foreignCase) bool { return !asked.vllm },
		},
		{
			name: "stream", because: "answers are always streamed",
			refused: func(text string, _ foreignCase) bool { return text == "false" },
		},
		{
			name: "self-timed", because: "a replay keeps the times of its trace, and nothing else has any",
			refused: func(text string, asked foreignCase) bool { return (asked.kind == dataset.Replay) == (text == "false") },
		},
		{name: "use-beam-search", because: "a server does not stream the answer of a beam search, so that there is no TTFT and no ITL", refused: whenOn},
		{name: "no-oversample", because: "a file is begun again at its end: ask for no more --requests than it has records", refused: whenOn},
		{name: "probe-request-rate", value: true, because: "probes beside the load are accelerator_exporter's (--probe.target)", refused: unlessNumber(0)},
		{name: "best-of", value: true, because: "one answer is asked for, and streamed", refused: unlessNumber(1)},
		{name: "query-template", value: true, because: "add members to the body with --extra-body", refused: always},
	}
	for _, set := range foreignDatasets() {
		for _, name := range set.flags {
			flags = append(flags, with(name, "it belongs to the data set "+set.name+", which there is none of"))
		}
	}
	return append(flags, flag("no-reranker", "it belongs to the data set random-rerank, which there is none of"))
}

// foreignDatasets are the data sets of vLLM's tool that accelbench does not have, with
// the flags that are theirs alone. --dataset-name refuses the sets themselves.
func foreignDatasets() []struct {
	name  string
	flags []string
} {
	return []struct {
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
	}
}

func always(string, foreignCase) bool { return true }

// whenOn is for a flag that --no- takes back.
func whenOn(text string, _ foreignCase) bool { return text != "false" }

// unlessNumber refuses every value but one.
func unlessNumber(harmless float64) func(string, foreignCase) bool {
	return func(text string, _ foreignCase) bool {
		n, err := strconv.ParseFloat(text, 64)
		return err != nil || n != harmless
	}
}

// register adds the flag to c, where help does not show it.
func (f *foreignFlag) register(c *kingpin.CmdClause) {
	flag := c.Flag(f.name, "Of another tool.").Hidden().IsSetByUser(&f.given)
	if f.value {
		flag.SetValue((*lastText)(&f.text))
	} else {
		flag.SetValue((*onOff)(&f.text))
	}
}

// spelled is the flag as it was given.
func (f *foreignFlag) spelled() string {
	if !f.value && f.text == "false" {
		return "--no-" + f.name
	}
	return "--" + f.name
}

// takeForeign refuses the flags of other tools that ask for what is not done, and tells
// of the others that they change nothing.
func (s *runSettings) takeForeign(kind dataset.Kind, stderr io.Writer) error {
	asked := foreignCase{kind: kind, vllm: s.vllm()}
	for i := range s.foreign {
		f := &s.foreign[i]
		switch {
		case !f.given:
		case f.refused != nil && f.refused(f.text, asked):
			return fmt.Errorf("%s is refused: %s", f.spelled(), f.because)
		}
	}
	for i := range s.foreign {
		if f := &s.foreign[i]; f.given {
			fmt.Fprintf(stderr, "accelbench: %s is accepted, and without effect: %s\n", f.spelled(), f.because)
		}
	}
	return nil
}

// lastText is a value that may be given more than once: some of these flags take
// several words.
type lastText string

func (l *lastText) String() string { return string(*l) }

func (l *lastText) Set(text string) error {
	*l = lastText(text)
	return nil
}

// IsCumulative lets the flag be repeated.
func (l *lastText) IsCumulative() bool { return true }

// onOff is the text of a flag without a value: true, or false after --no-.
type onOff string

func (o *onOff) String() string { return string(*o) }

func (o *onOff) Set(text string) error {
	*o = onOff(text)
	return nil
}

// IsBoolFlag says that no value follows.
func (o *onOff) IsBoolFlag() bool { return true }
