package metax_test

import (
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

func FuzzParseTable(f *testing.F) {
	modeltest.AddFixtures(f, "table-", "odd-", "none-", "not-")
	modeltest.FuzzTable(f, metax.ParseTable, metax.Vendor().Resolve)
}

func FuzzParseList(f *testing.F) {
	modeltest.AddFixtures(f, "list-")
	f.Fuzz(func(t *testing.T, out []byte) {
		whole, err := metax.ParseList(out)
		if err != nil {
			return
		}
		modeltest.CheckReport(t, whole, nil)
		if whole.Announced != len(whole.Listed) || len(whole.Devices) > 0 {
			t.Fatalf("announces %d of %d cards", whole.Announced, len(whole.Listed))
		}
	})
}

func FuzzMerge(f *testing.F) {
	modeltest.FuzzMerge(f, metax.Vendor().Resolve, [3]modeltest.Parse{metax.ParseTable, metax.ParseList, parseTopology},
		[3]string{"table-2.2.9", "list-failed", "topo-n-nics"}, [3]string{"odd-not-printed", "list-container", "topo-m-four"})
}
