package metax_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

func addFixtures(f *testing.F, prefixes ...string) {
	f.Helper()
	for _, prefix := range prefixes {
		for _, name := range modeltest.Glob(f, "testdata/"+prefix+"*.txt") {
			f.Add(modeltest.Read(f, name))
		}
	}
}

// FuzzParseTable holds that no bytes make the parser panic, nothing is there twice, every
// value is in its range, and the end of the output changes no card before it.
func FuzzParseTable(f *testing.F) {
	addFixtures(f, "table-", "odd-", "none-", "not-")
	f.Fuzz(func(t *testing.T, out []byte) {
		whole, err := metax.ParseTable(out)
		modeltest.CheckReport(t, whole, err)
		if err != nil {
			return
		}
		modeltest.CheckSnapshot(t, model.Merge(whole, nil, metax.Vendor().Resolve))
		half, err := metax.ParseTable(out[:bytes.LastIndexByte(out[:len(out)/2], '\n')+1])
		if err != nil {
			return
		}
		if n := len(half.Devices); n > len(whole.Devices) || !cmp.Equal(whole.Devices[:n], half.Devices) {
			t.Fatalf("the first half has other cards:\n%s", cmp.Diff(whole.Devices, half.Devices))
		}
	})
}

func FuzzParseList(f *testing.F) {
	addFixtures(f, "list-")
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

// FuzzMerge joins whatever the three commands print.
func FuzzMerge(f *testing.F) {
	for _, names := range [][3]string{{"table-2.2.9", "list-failed", "topo-n-nics"}, {"odd-not-printed", "list-container", "topo-m-four"}} {
		f.Add(modeltest.Read(f, "testdata/"+names[0]+".txt"), modeltest.Read(f, "testdata/"+names[1]+".txt"), modeltest.Read(f, "testdata/"+names[2]+".txt"))
	}
	f.Fuzz(func(t *testing.T, table, list, topo []byte) {
		main, err := metax.ParseTable(table)
		if err != nil {
			return
		}
		var sides []model.Report
		if r, err := metax.ParseList(list); err == nil {
			sides = append(sides, r)
		}
		if r, err := parseTopology(topo); err == nil {
			sides = append(sides, r)
		}
		modeltest.CheckSnapshot(t, model.Merge(main, sides, metax.Vendor().Resolve))
	})
}
