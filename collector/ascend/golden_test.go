package ascend_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// parserOf tells by a fixture's name which command's output it is.
func parserOf(name string) modeltest.Parse {
	switch kind, _, _ := strings.Cut(name, "-"); kind {
	case "map":
		return ascend.ParseMapping
	case "list":
		return ascend.ParseList
	case "topo":
		return ascend.ParseTopology
	default: // info, odd, none, not
		return ascend.ParseInfo
	}
}

// Each fixture is own text in a layout that has been met, or a way in which
// output goes wrong. The golden file beside it is what a user gets: look at its
// diff before keeping it.
func TestGolden(t *testing.T) { modeltest.Golden(t, *update, parserOf) }
