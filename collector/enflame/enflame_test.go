package enflame

import (
	"bytes"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
	for text, want := range map[string]failure.Reason{
		"efsmi: error while loading shared libraries: libefml.so: cannot open shared object file\n": failure.Driver,
		"EFML: driver not loaded\n":                                   failure.Driver,
		"open /dev/gcuctl: Permission denied\n":                       failure.Permission,
		"efsmi: unrecognized option '--x'\nUsage: efsmi [options]\n":  failure.Unsupported,
		"efsmi: invalid option -- 'q'\n":                              failure.Unsupported,
		"No devices found\n":                                          failure.NoDevice,
		"|EFSMI    V1.2.0.301       Driver Ver: 1.2.0.301     |\n":    "",
		"    Driver Info\n        Ver                     : 1.5\n":    "",
		"        GCU Usage               : 0.0 %\nSegmentation fault": "",
	} {
		if got, line, _ := classify([]byte(text)); got != want || (want != "") != (line != "") {
			t.Errorf("%q is %q by the line %q, want %q", text, got, line, want)
		}
	}
}

// FuzzParse holds of each command that no bytes make its parser panic, nothing is there twice, every value is in its
// range, and what is cut off the end changes no card before the last.
func FuzzParse(f *testing.F) {
	v := Vendor()
	commands := slices.Concat([]model.Command{v.Table}, v.Commands)
	for _, name := range modeltest.Glob(f, "testdata/*.txt") {
		for i := range commands {
			f.Add(modeltest.Read(f, name), uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, out []byte, which uint8) {
		c := commands[int(which)%len(commands)]
		whole, err := c.Parse(out, nil)
		modeltest.CheckReport(t, whole, err)
		if err != nil {
			return
		}
		modeltest.CheckSnapshot(t, model.Merge(model.Report{Devices: []model.Device{{ID: "0"}, {ID: "1"}}}, []model.Report{whole}, v.Resolve))
		half, err := c.Parse(out[:bytes.LastIndexByte(out[:len(out)/2], '\n')+1], nil)
		if n := len(half.Devices) - 1; err == nil && n > 0 && (n > len(whole.Devices) || !cmp.Equal(whole.Devices[:n], half.Devices[:n])) {
			t.Fatalf("the first half has other cards:\n%s", cmp.Diff(whole.Devices, half.Devices))
		}
	})
}
