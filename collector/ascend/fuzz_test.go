package ascend_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// The number of a chip depends on all chips.
func FuzzParseInfo(f *testing.F) {
	modeltest.AddFixtures(f, "info-", "odd-", "none-", "not-")
	modeltest.FuzzTable(f, ascend.ParseInfo, ascend.Vendor().Resolve, cmpopts.IgnoreFields(model.Device{}, "ID"))
}

func FuzzParseMapping(f *testing.F) {
	modeltest.AddFixtures(f, "map-", "list-")
	f.Fuzz(func(t *testing.T, out []byte) {
		if r, err := ascend.ParseMapping(out); err == nil {
			modeltest.CheckReport(t, r, nil)
			if lines := bytes.Count(out, []byte("\n")); r.Announced > lines {
				t.Fatalf("announces %d chips in %d lines", r.Announced, lines)
			}
		}
		if r, err := ascend.ParseList(out); err == nil {
			modeltest.CheckReport(t, r, nil)
		}
	})
}

func FuzzMerge(f *testing.F) {
	modeltest.FuzzMerge(f, ascend.Vendor().Resolve, [3]modeltest.Parse{ascend.ParseInfo, ascend.ParseMapping, parseTopology},
		[3]string{"info-a3-25.2", "map-a3", "topo-a3"}, [3]string{"odd-numbers-missing", "map-cut", "topo-nics"})
}
