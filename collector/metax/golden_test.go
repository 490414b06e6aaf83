package metax_test

import (
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func parseTopology(out []byte) (model.Report, error) {
	commands := metax.Vendor().Commands
	return commands[slices.IndexFunc(commands, func(c model.Command) bool { return c.Name == "topology" })].Parse(out, nil)
}

// parsers tells by a fixture's name which command's output it is.
func parsers(name string, _ []byte) []modeltest.Parse {
	switch kind, _, _ := strings.Cut(name, "-"); kind {
	case "list":
		return []modeltest.Parse{metax.ParseList}
	case "topo":
		return []modeltest.Parse{parseTopology}
	default: // table, odd, none, not
		return []modeltest.Parse{metax.ParseTable}
	}
}

func TestGolden(t *testing.T) { modeltest.Golden(t, *update, parsers) }

// captures are outputs of real machines, kept beside the checkout and not in it.
const captures = "../../../shared/captures"

// captured are the parsers by what their captures' names begin with. Details are read in the tests of the collector.
func captured() map[string]modeltest.Parse {
	return map[string]modeltest.Parse{"default-": metax.ParseTable, "list-": metax.ParseList, "topo-": parseTopology}
}

func TestCaptures(t *testing.T) {
	modeltest.Captures(t, *update, filepath.Join(captures, "mx-smi"), func(name string, _ []byte) []modeltest.Parse {
		kind, _, _ := strings.Cut(name, "-")
		if parse, ok := captured()[kind+"-"]; ok {
			return []modeltest.Parse{parse}
		}
		return nil
	})
}

// What answers another question must never become cards.
func TestOtherCapturesAreRefused(t *testing.T) {
	for _, file := range modeltest.Glob(t, filepath.Join(captures, "*", "*-*")) {
		name, text := filepath.Base(file), modeltest.Read(t, file)
		for prefix, parse := range captured() {
			isAnswer := strings.HasPrefix(name, prefix) && strings.Contains(file, "mx-smi") || prefix == "topo-" && strings.Contains(name, "topo")
			if r, err := parse(text); err == nil && !isAnswer {
				t.Errorf("%s read as %s* gives %d cards", file, prefix, len(r.Devices))
			}
		}
	}
}
