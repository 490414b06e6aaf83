package ascend_test

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func parseTopology(out []byte) (model.Report, error) {
	commands := ascend.Vendor().Commands
	return commands[slices.IndexFunc(commands, func(c model.Command) bool { return c.Name == "topology" })].Parse(out, nil)
}

// parsers tells by a fixture's name which command's output it is.
func parsers(name string, _ []byte) []modeltest.Parse {
	switch kind, _, _ := strings.Cut(name, "-"); kind {
	case "map":
		return []modeltest.Parse{ascend.ParseMapping}
	case "list":
		return []modeltest.Parse{ascend.ParseList}
	case "topo":
		return []modeltest.Parse{parseTopology}
	default: // info, odd, none, not
		return []modeltest.Parse{ascend.ParseInfo}
	}
}

func TestGolden(t *testing.T) { modeltest.Golden(t, *update, parsers) }

// captures are outputs of real machines and vendors' samples, kept beside the checkout and not in it.
const captures = "../../../shared/captures"

// captured are the parsers by what their captures' names begin with. Details are read in the tests of the collector.
func captured() map[string]modeltest.Parse {
	return map[string]modeltest.Parse{
		"info-": ascend.ParseInfo, "map-": ascend.ParseMapping, "list-": ascend.ParseList, "topo-": parseTopology,
	}
}

func TestCaptures(t *testing.T) {
	modeltest.Captures(t, *update, filepath.Join(captures, "npu-smi"), func(name string, _ []byte) []modeltest.Parse {
		kind, _, _ := strings.Cut(name, "-")
		if parse, ok := captured()[kind+"-"]; ok {
			return []modeltest.Parse{parse}
		}
		return nil
	})
}

// What answers another question must never become chips. Lists are told apart by what asks for them alone.
func TestOtherCapturesAreRefused(t *testing.T) {
	for _, file := range modeltest.Glob(t, filepath.Join(captures, "*", "*-*")) {
		name, text := filepath.Base(file), modeltest.Read(t, file)
		for prefix, parse := range captured() {
			isAnswer := strings.HasPrefix(name, prefix) && strings.Contains(file, "npu-smi") || prefix == "topo-" && strings.Contains(name, "topo")
			if r, err := parse(text); err == nil && !isAnswer && prefix != "list-" {
				t.Errorf("%s read as %s* gives %d cards", file, prefix, len(r.Devices))
			}
		}
	}
}

// A tool's errors are told apart by what it prints.
func TestCapturedErrorsHaveAReason(t *testing.T) {
	reasons := map[string]string{
		"error-dcmi-8005.txt": "driver", "error-missing-lib-libc_sec.txt": "driver",
		"error-not-supported-spod-950.txt": "unsupported", "error-board-invalid-card-23.0.7-910a.txt": "no_device",
		"error-src-must-input-chip.txt": "unsupported", "error-src-hccs-bw-no-time.txt": "unsupported",
	}
	for _, file := range modeltest.Glob(t, filepath.Join(captures, "npu-smi", "error-*.txt")) {
		reason, line, _ := ascend.Classify(modeltest.Read(t, file))
		if want := reasons[filepath.Base(file)]; string(reason) != want || line == "" {
			t.Errorf("%s is %q (%q), want %q", file, reason, line, want)
		}
	}
}
