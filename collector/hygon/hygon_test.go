package hygon_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

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
	modeltest.CheckClasses(t, hygon.Classify, map[string]failure.Reason{
		"hy-smi: error while loading shared libraries: librocm_smi64.so.2: cannot open shared object file\n": failure.Driver,
		"ERROR: 1 Driver not initialized (hycu not found in modules)\n":                                      failure.Driver,
		"Unable to open /dev/kfd\n":                                     failure.Driver,
		"PermissionError: [Errno 13] Permission denied: '/dev/kfd'\n":   failure.Permission,
		"usage: hy-smi [-h]\nerror: unrecognized arguments: --showpids": failure.Unsupported,
		"could not open process directory\n":                            failure.Unsupported,
		"Segmentation fault\n":                                          "",
	})
}

func FuzzParse(f *testing.F) { modeltest.FuzzCommands(f, hygon.Vendor(), cards, 0) }
