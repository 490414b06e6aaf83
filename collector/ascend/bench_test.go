package ascend_test

import (
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// BenchmarkParseInfo reads 910B chips with processes. The aim is 50 MB/s on one core.
func BenchmarkParseInfo(b *testing.B) {
	out := modeltest.Read(b, "testdata/info-910b-23.0.txt")
	b.SetBytes(int64(len(out)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ascend.ParseInfo(out); err != nil {
			b.Fatal(err)
		}
	}
}
