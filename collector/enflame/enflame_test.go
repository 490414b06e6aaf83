package enflame

import (
	"flag"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

var update = flag.Bool("update", false, "write the golden files anew")

// parsers tells by the name of a text what has printed it. The drawn table is asked for its title too.
func parsers(name string, _ []byte) []modeltest.Parse {
	switch kind, _, _ := strings.Cut(name, "-"); kind {
	case "list":
		return []modeltest.Parse{parseList}
	case "topo":
		return []modeltest.Parse{parseTopology}
	case "default", "table":
		return []modeltest.Parse{parseTable, parseVersion}
	}
	return []modeltest.Parse{parseTable}
}

func TestGolden(t *testing.T) { modeltest.Golden(t, *update, parsers) }

func TestCaptures(t *testing.T) {
	modeltest.Captures(t, *update, "../../../shared/captures/efsmi", parsers)
}

// A user would act on the health and power of a card of which half was printed. Cut anywhere, a text has no other values
// than the whole, and of the cards before the last all of them.
func TestCutText(t *testing.T) {
	for _, name := range []string{"query-1.5", "query-1.7", "query-1.2", "table-1.2", "table-1.20"} {
		out := modeltest.Read(t, "testdata/"+name+".txt")
		whole, _ := parseTable(out)
		for n := 0; n < len(out); n += 19 {
			cut, err := parseTable(out[:n])
			for i, d := range cut.Devices {
				isWhole := i < len(cut.Devices)-1 || strings.HasPrefix(name, "table")
				for _, r := range whole.Devices[i].Readings {
					if got, ok := d.Readings.Get(r.Metric, r.Labels...); ok && got != r.Value || !ok && isWhole {
						t.Fatalf("%s cut at byte %d: card %s has %s %v, %t; the whole text %v", name, n, d.ID, r.Metric, got, ok, r.Value)
					}
				}
			}
			if reason := failure.ReasonOf(err); err != nil && reason != failure.Parse && reason != failure.NoDevice {
				t.Fatalf("%s cut at byte %d: %v", name, n, err)
			}
		}
	}
}

// An operator acts on the class of a failure, and would reload a driver whose version is all that a text says of it.
func TestClassify(t *testing.T) {
	modeltest.CheckClasses(t, classify, map[string]failure.Reason{
		"efsmi: error while loading shared libraries: libefml.so: cannot open shared object file\n": failure.Driver,
		"EFML: driver not loaded\n":                                   failure.Driver,
		"open /dev/gcuctl: Permission denied\n":                       failure.Permission,
		"efsmi: unrecognized option '--x'\nUsage: efsmi [options]\n":  failure.Unsupported,
		"efsmi: invalid option -- 'q'\n":                              failure.Unsupported,
		"No devices found\n":                                          failure.NoDevice,
		"|EFSMI    V1.2.0.301       Driver Ver: 1.2.0.301     |\n":    "",
		"    Driver Info\n        Ver                     : 1.5\n":    "",
		"        GCU Usage               : 0.0 %\nSegmentation fault": "",
	})
}

// cards are those that the main table showed before the others were asked.
func cards() []model.Device { return []model.Device{{ID: "0"}, {ID: "1"}} }

// Of what is cut the last card is not whole.
func FuzzParse(f *testing.F) { modeltest.FuzzCommands(f, Vendor(), cards, 1) }
