package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// hiddenFlags are flags of another tool that help does not show: those that take a value,
// and those that take none.
type hiddenFlags struct{ values, switches string }

// ignoredFlags are those of vLLM's tool that change neither the load nor the figures: the
// server counts the tokens, and every request is in traces.jsonl.
var ignoredFlags = hiddenFlags{
	values: "tokenizer tokenizer-mode label request-id-prefix timeline-itl-thresholds",
	switches: "trust-remote-code skip-tokenizer-init disable-tqdm profile no-stream skip-chat-template enable-multimodal-chat " +
		"custom-ensure-client-side-data save-detailed plot-timeline plot-dataset-stats",
}

// refusedFlags are those of vLLM's tool that would change the load and are not built, and
// why.
var refusedFlags = []struct {
	hiddenFlags
	why string
}{
	{
		hiddenFlags{values: "top-k min-p frequency-penalty presence-penalty repetition-penalty logprobs chat-template-kwargs"},
		"give it as a member of --extra-body",
	},
	{hiddenFlags{values: "lora-modules lora-assignment"}, "all requests ask for one model"},
	{hiddenFlags{values: "ramp-up-strategy ramp-up-start-rps ramp-up-end-rps"}, "give a list of rates to --request-rate"},
	{hiddenFlags{values: "probe-request-rate"}, "probes beside a load are accelerator_exporter's"},
	{hiddenFlags{switches: "use-beam-search"}, "the answer of a beam search is not streamed"},
	{hiddenFlags{switches: "no-oversample"}, "a file is begun again at its end: ask for no more --num-prompts than it has records"},
	{hiddenFlags{switches: "append-result"}, "each result has a file of its own"},
	{
		hiddenFlags{values: "timed-trace-label-timestamp timed-trace-label-input-length timed-trace-label-output-length timed-trace-label-hash-ids"},
		"rename the keys in the file",
	},
	{
		hiddenFlags{switches: "no-reranker", values: "hf-subset hf-split hf-name hf-output-len bfcl-categories blazedit-min-distance blazedit-max-distance " +
			"asr-max-audio-len-sec asr-min-audio-len-sec random-batch-size random-mm-base-items-per-request " +
			"random-mm-num-mm-items-range-ratio random-mm-limit-mm-per-prompt random-mm-bucket-config spec-bench-output-len " +
			"spec-bench-category speed-bench-dataset-subset speed-bench-output-len speed-bench-category"},
		"it belongs to a data set that is not built",
	},
}

// registerIgnored adds flags without effect. given are those on the command line.
func registerIgnored(c *kingpin.CmdClause, flags hiddenFlags) (given *[]string) {
	given = new([]string)
	flags.register(c, func(name string) error {
		if !slices.Contains(*given, name) {
			*given = append(*given, name)
		}
		return nil
	})
	return given
}

// registerRefused adds the flags that are refused.
func registerRefused(c *kingpin.CmdClause) {
	for _, f := range refusedFlags {
		f.register(c, func(name string) error { return fmt.Errorf("%s is refused: %s", name, f.why) })
	}
}

// register adds the flags, which do nothing but call given with their name.
func (h hiddenFlags) register(c *kingpin.CmdClause, given func(name string) error) {
	for _, name := range strings.Fields(h.values + " " + h.switches) {
		f := c.Flag(name, "").Hidden().PreAction(func(*kingpin.ParseContext) error { return given("--" + name) })
		if slices.Contains(strings.Fields(h.values), name) {
			f.String()
		} else {
			f.Bool()
		}
	}
}
