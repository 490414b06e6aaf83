package kunlunxin_test

import (
	"bytes"
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/kunlunxin"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

var update = flag.Bool("update", false, "write the golden files anew")

// cards are those that the main table showed before the others were asked: of the fixtures, and of the captures.
func cards() []model.Device {
	return []model.Device{
		{ID: "0", BusID: "0000:08:00.0"},
		{ID: "1", BusID: "0000:09:00.0"},
		{ID: "2", BusID: "00000000:01:00.0"},
		{ID: "3", BusID: "00000000:21:00.0"},
		{ID: "4", BusID: "00000000:4E:00.0"},
		{ID: "5", BusID: "00000000:03:00.0"},
		{ID: "6", BusID: "00000000:16:00.0"},
		{ID: "7", BusID: "00000000:3C:00.0"},
	}
}

func parse(c model.Command) modeltest.Parse {
	return func(out []byte) (model.Report, error) { return c.Parse(out, cards()) }
}

// parsers tells by the name of a text what has printed it. The lines of -m are read as the table too.
func parsers(name string, _ []byte) []modeltest.Parse {
	v := kunlunxin.Vendor()
	kind, _, _ := strings.Cut(name, "-")
	kind = strings.Replace(kind, "topo", "topology", 1)
	i := slices.IndexFunc(v.Commands, func(c model.Command) bool { return c.Name == kind })
	switch {
	case i < 0:
		return []modeltest.Parse{parse(v.Table)}
	case kind == "machine":
		return []modeltest.Parse{parse(v.Table), parse(v.Commands[i])}
	}
	return []modeltest.Parse{parse(v.Commands[i])}
}

func TestGolden(t *testing.T) { modeltest.Golden(t, *update, parsers) }

func TestCaptures(t *testing.T) {
	modeltest.Captures(t, *update, "../../../shared/captures/xpu_smi", parsers)
}

// An operator acts on the class of a failure, and would look at the driver where a table was cut or Intel's tool is asked.
func TestClassify(t *testing.T) {
	for text, want := range map[string]failure.Reason{
		"xpu_smi: error while loading shared libraries: libxpuml.so.1: cannot open shared object file: No such file\n": failure.Driver,
		"XPU runtime not properly inited\n":                                            failure.Driver,
		"Failed to open /dev/xpuctrl, is the driver loaded?\n":                         failure.Driver,
		"open /dev/xpuctrl: Permission denied\n":                                       failure.Permission,
		"No devices were found\n":                                                      failure.NoDevice,
		"not found any device\n":                                                       failure.NoDevice,
		"Resource busy\n":                                                              failure.Busy,
		"Operation not supported\n":                                                    failure.Unsupported,
		"xpu_smi: invalid option -- 'm'\nUsage: xpu_smi [options]\n":                   failure.Unsupported,
		string(modeltest.Read(t, "testdata/not-intel-help.txt")):                       failure.Parse,
		"| XPU-SMI               Driver Version: 5.0.21.21    XPU-RT Version: 5.2.0\n": "",
		"Segmentation fault\n":                                                         "",
	} {
		if got, line, _ := kunlunxin.Vendor().Classify([]byte(text)); got != want || (want != "") != (line != "") {
			t.Errorf("%q is %q by the line %q, want %q", text, got, line, want)
		}
	}
}

// FuzzParse holds of each command that no bytes make its parser panic, nothing is there twice, every value is in its
// range, and the end of a table changes no card before it.
func FuzzParse(f *testing.F) {
	v := kunlunxin.Vendor()
	commands := slices.Concat([]model.Command{v.Table}, v.Commands)
	for _, name := range slices.Concat(modeltest.Glob(f, "testdata/*.txt"), modeltest.Glob(f, "../testdata/details/kunlunxin-*.txt")) {
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
