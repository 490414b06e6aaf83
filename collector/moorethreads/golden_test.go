package moorethreads

import (
	"bytes"
	"flag"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

var update = flag.Bool("update", false, "write the golden files anew")

// captures are outputs of real machines, kept beside the checkout and not in it.
const captures = "../../../shared/captures/mthreads-gmi"

// cards are those that the table showed before the object was asked for. Those of the captured object have no bus in it.
func cards(name string) []model.Device {
	if strings.HasPrefix(name, "query-json-") {
		return []model.Device{{ID: "0"}, {ID: "1"}}
	}
	return []model.Device{{ID: "0", BusID: "00000000:18:00.0"}, {ID: "1", BusID: "00000000:3A:00.0"}}
}

// parsers tells by a text what has printed it.
func parsers(name string, text []byte) []modeltest.Parse {
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		query := func(out []byte) (model.Report, error) { return parseQuery(out, cards(name)) }
		return []modeltest.Parse{query, parseList}
	case strings.HasPrefix(name, "error-"):
		return []modeltest.Parse{parseError}
	}
	return []modeltest.Parse{parseTable}
}

// parseError shows what an operator is told of a text that no parser reads.
func parseError(out []byte) (model.Report, error) {
	report, err := parseTable(out)
	if reason, line, ok := classify(out); ok && err != nil {
		err = failure.Errorf(reason, "%s", line)
	}
	return report, err
}

func TestGolden(t *testing.T)   { modeltest.Golden(t, *update, parsers) }
func TestCaptures(t *testing.T) { modeltest.Captures(t, *update, captures, parsers) }

// An operator acts on the class of a failure, and a version that does not know an option is not to be asked at every poll.
func TestClassify(t *testing.T) {
	modeltest.CheckClasses(t, classify, map[string]failure.Reason{
		"failed to initialize mtml\n":      failure.Driver,
		"Error: No MT GPU device found.\n": failure.NoDevice,
		"mthreads-gmi: error while loading shared libraries: libmtml.so.2: cannot open shared object file\n": failure.Driver,
		"Error: the requested operation is not available on target device\n":                                 failure.Unsupported,
		"mthreads-gmi: unrecognized option '--json'\n":                                                       failure.Unsupported,
		"Usage: mthreads-gmi [options]\n":                                                                    failure.Unsupported,
		"/bin/sh: 1: mthreads-gmi: not found\n":                                                              "",
	})
}

// -r resets a card or reads, by where it stands, and so do others: nobody's card is to depend on it.
func TestOnlyLongOptions(t *testing.T) {
	v := Vendor()
	for _, c := range append(v.Commands, v.Table) {
		for _, args := range c.Args(model.Device{}) {
			for _, arg := range args {
				if !strings.HasPrefix(arg, "--") {
					t.Errorf("%s asks with %q", c.Name, args)
				}
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	modeltest.FuzzCommands(f, Vendor(), func() []model.Device { return cards("") }, 0)
}
