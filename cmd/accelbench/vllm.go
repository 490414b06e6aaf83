package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// hiddenFlags are flags of another tool that help does not show: those that take a value,
// and those that take none. They are refused for why, or without effect where it is empty.
type hiddenFlags struct{ why, values, switches string }

// vllmFlags are those of vLLM's tool that change neither the load nor the figures, as the
// server counts the tokens and every request is in traces.jsonl; then those that would
// change the load and are not built.
var vllmFlags = []hiddenFlags{
	{
		"",
		"tokenizer tokenizer-mode label request-id-prefix timeline-itl-thresholds",
		"trust-remote-code skip-tokenizer-init disable-tqdm profile no-stream enable-multimodal-chat " +
			"custom-ensure-client-side-data save-detailed plot-timeline plot-dataset-stats",
	},
	{"all requests ask for one model", "lora-modules lora-assignment", ""},
	{"give a list of rates to --request-rate", "ramp-up-strategy ramp-up-start-rps ramp-up-end-rps", ""},
	{"probes beside a load are accelerator_exporter's", "probe-request-rate", ""},
	{"the answer of a beam search is not streamed", "", "use-beam-search"},
	{"rename the keys in the file", "timed-trace-label-timestamp timed-trace-label-input-length timed-trace-label-output-length timed-trace-label-hash-ids", ""},
	{
		"it belongs to a data set that is not built",
		"hf-subset hf-split hf-name hf-output-len bfcl-categories blazedit-min-distance blazedit-max-distance " +
			"asr-max-audio-len-sec asr-min-audio-len-sec random-batch-size random-mm-base-items-per-request " +
			"random-mm-num-mm-items-range-ratio random-mm-limit-mm-per-prompt random-mm-bucket-config spec-bench-output-len " +
			"spec-bench-category speed-bench-dataset-subset speed-bench-output-len speed-bench-category",
		"no-reranker",
	},
}

// register adds the flags; ignored gets those without effect that are given.
func (h hiddenFlags) register(c *kingpin.CmdClause, ignored *[]string) {
	for _, name := range strings.Fields(h.values + " " + h.switches) {
		f := c.Flag(name, "").Hidden().PreAction(func(*kingpin.ParseContext) error {
			if h.why != "" {
				return fmt.Errorf("--%s is refused: %s", name, h.why)
			}
			*ignored = append(*ignored, "--"+name)
			return nil
		})
		if slices.Contains(strings.Fields(h.values), name) {
			f.String()
		} else {
			f.Bool()
		}
	}
}
