package hygon_test

import (
	"bytes"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/hygon"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

var update = flag.Bool("update", false, "write the golden files anew")

// cards are those that the main table showed before the others were asked.
func cards() (all []model.Device) {
	for i := range 8 {
		all = append(all, model.Device{ID: fmt.Sprint(i)})
	}
	return all
}

// parsers finds the command whose output a text is: its name begins with the command's flag.
func parsers(name string, _ []byte) []modeltest.Parse {
	v := hygon.Vendor()
	kind, _, _ := strings.Cut(name, "-")
	for _, c := range append(v.Commands, v.Table) {
		if args := c.Args(model.Device{})[0]; len(args) == 0 || args[0] == "--"+kind {
			return []modeltest.Parse{func(out []byte) (model.Report, error) { return c.Parse(out, cards()) }}
		}
	}
	return nil
}

func TestGolden(t *testing.T) { modeltest.Golden(t, *update, parsers) }

func TestCaptures(t *testing.T) {
	modeltest.Captures(t, *update, "../../../shared/captures/hy-smi", parsers)
}

// An operator acts on the class of a failure, and would look for a broken card where the driver is not loaded.
func TestClassify(t *testing.T) {
	for text, want := range map[string]failure.Reason{
		"hy-smi: error while loading shared libraries: librocm_smi64.so.2: cannot open shared object file\n": failure.Driver,
		"ERROR: 1 Driver not initialized (hycu not found in modules)\n":                                      failure.Driver,
		"Unable to open /dev/kfd\n":                                     failure.Driver,
		"PermissionError: [Errno 13] Permission denied: '/dev/kfd'\n":   failure.Permission,
		"usage: hy-smi [-h]\nerror: unrecognized arguments: --showpids": failure.Unsupported,
		"could not open process directory\n":                            failure.Unsupported,
		"Segmentation fault\n":                                          "",
	} {
		if got, line, _ := hygon.Classify([]byte(text)); got != want || (want != "") != (line != "") {
			t.Errorf("%q is %q by the line %q, want %q", text, got, line, want)
		}
	}
}

// FuzzParse holds of each command that no bytes make its parser panic, nothing is there twice, every value is in its
// range, and the end of a table changes no card before it.
func FuzzParse(f *testing.F) {
	v := hygon.Vendor()
	commands := slices.Concat([]model.Command{v.Table}, v.Commands)
	for _, name := range modeltest.Glob(f, "testdata/*.txt") {
		for i := range commands {
			f.Add(modeltest.Read(f, name), uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, out []byte, which uint8) {
		c := commands[int(which)%len(commands)]
		whole, err := c.Parse(out, cards())
		modeltest.CheckReport(t, whole, err)
		if err != nil {
			return
		}
		table := whole
		if c.Name != "table" {
			table = model.Report{Devices: cards()}
			table.Join(whole)
		}
		modeltest.CheckSnapshot(t, model.Merge(table, []model.Report{whole}, v.Resolve))
		half, err := c.Parse(out[:bytes.LastIndexByte(out[:len(out)/2], '\n')+1], cards())
		if n := len(half.Devices); err == nil && c.Name == "table" && (n > len(whole.Devices) || !cmp.Equal(whole.Devices[:n], half.Devices)) {
			t.Fatalf("the first half has other cards:\n%s", cmp.Diff(whole.Devices, half.Devices))
		}
	})
}
