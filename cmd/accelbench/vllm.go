package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// ignoredFlags are those of vLLM's tool that change neither the load nor the figures. The
// bool says whether a flag takes a value.
var ignoredFlags = map[string]bool{
	"trust-remote-code":              false,
	"tokenizer":                      true, // the server counts the tokens
	"tokenizer-mode":                 true,
	"skip-tokenizer-init":            false,
	"disable-tqdm":                   false,
	"profile":                        false,
	"no-stream":                      false, // of loading a data set
	"skip-chat-template":             false, // a prompt of the completions API is sent as it is
	"enable-multimodal-chat":         false,
	"custom-ensure-client-side-data": false,
	"label":                          true,
	"save-detailed":                  false, // every request is in traces.jsonl
	"request-id-prefix":              true,
	"plot-timeline":                  false,
	"timeline-itl-thresholds":        true,
	"plot-dataset-stats":             false,
}

// refusedFlags are those of vLLM's tool that would change the load and are not built: the
// flags that take a value, those that take none, and why.
var refusedFlags = []struct{ values, switches, why string }{
	{
		values: "top-k min-p frequency-penalty presence-penalty repetition-penalty logprobs chat-template-kwargs",
		why:    "give it as a member of --extra-body",
	},
	{values: "lora-modules lora-assignment", why: "all requests ask for one model"},
	{values: "ramp-up-strategy ramp-up-start-rps ramp-up-end-rps", why: "give a list of rates to --request-rate"},
	{values: "probe-request-rate", why: "probes beside a load are accelerator_exporter's"},
	{switches: "use-beam-search", why: "the answer of a beam search is not streamed"},
	{switches: "no-oversample", why: "a file is begun again at its end: ask for no more --num-prompts than it has records"},
	{switches: "append-result", why: "each result has a file of its own"},
	{
		values: "timed-trace-label-timestamp timed-trace-label-input-length timed-trace-label-output-length timed-trace-label-hash-ids",
		why:    "rename the keys in the file",
	},
	{
		values: "hf-subset hf-split hf-name hf-output-len bfcl-categories blazedit-min-distance blazedit-max-distance " +
			"asr-max-audio-len-sec asr-min-audio-len-sec random-batch-size random-mm-base-items-per-request " +
			"random-mm-num-mm-items-range-ratio random-mm-limit-mm-per-prompt random-mm-bucket-config spec-bench-output-len " +
			"spec-bench-category speed-bench-dataset-subset speed-bench-output-len speed-bench-category",
		switches: "no-reranker",
		why:      "it belongs to a data set that is not built",
	},
}

// registerIgnored adds flags without effect, hidden from help; the bool says whether one
// takes a value. given are those on the command line.
func registerIgnored(c *kingpin.CmdClause, flags map[string]bool) (given *[]string) {
	given = new([]string)
	for name, takesValue := range flags {
		registerHidden(c, name, takesValue, func(*kingpin.ParseContext) error {
			if !slices.Contains(*given, "--"+name) {
				*given = append(*given, "--"+name)
			}
			return nil
		})
	}
	return given
}

// registerRefused adds the flags that are refused.
func registerRefused(c *kingpin.CmdClause) {
	for _, f := range refusedFlags {
		for _, name := range strings.Fields(f.values + " " + f.switches) {
			registerHidden(c, name, !strings.Contains(f.switches, name), func(*kingpin.ParseContext) error {
				return fmt.Errorf("--%s is refused: %s", name, f.why)
			})
		}
	}
}

// registerHidden adds a flag that does nothing but call given.
func registerHidden(c *kingpin.CmdClause, name string, takesValue bool, given kingpin.Action) {
	f := c.Flag(name, "").Hidden().PreAction(given)
	if takesValue {
		f.String()
	} else {
		f.Bool()
	}
}
