package metax_test

import (
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// BenchmarkParseTable reads cards of the newest layout with processes. The aim is 50 MB/s
// on one core.
func BenchmarkParseTable(b *testing.B) {
	out := modeltest.Read(b, "testdata/table-2.2.9.txt")
	b.SetBytes(int64(len(out)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := metax.ParseTable(out); err != nil {
			b.Fatal(err)
		}
	}
}
