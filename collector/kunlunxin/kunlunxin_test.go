package kunlunxin_test

import (
	"flag"
	"slices"
	"strings"
	"testing"

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
	modeltest.CheckClasses(t, kunlunxin.Vendor().Classify, map[string]failure.Reason{
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
	})
}

func FuzzParse(f *testing.F) {
	modeltest.FuzzCommands(f, kunlunxin.Vendor(), cards, 0, "../testdata/details/kunlunxin-*.txt")
}
