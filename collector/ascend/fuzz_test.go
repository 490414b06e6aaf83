package ascend_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
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

// FuzzParseInfo holds that no bytes make the parser panic, nothing is there twice, every
// value is in its range, and the end of the output changes no chip before it but for its
// number, which depends on all chips.
func FuzzParseInfo(f *testing.F) {
	addFixtures(f, "info-", "odd-", "none-", "not-")
	f.Fuzz(func(t *testing.T, out []byte) {
		whole, err := ascend.ParseInfo(out)
		modeltest.CheckReport(t, whole, err)
		if err != nil {
			return
		}
		modeltest.CheckSnapshot(t, model.Merge(whole, nil, ascend.Vendor().Resolve))
		half, err := ascend.ParseInfo(out[:bytes.LastIndexByte(out[:len(out)/2], '\n')+1])
		if err != nil {
			return
		}
		anyID := cmpopts.IgnoreFields(model.Device{}, "ID")
		if n := len(half.Devices); n > len(whole.Devices) || !cmp.Equal(whole.Devices[:n], half.Devices, anyID) {
			t.Fatalf("the first half has other chips:\n%s", cmp.Diff(whole.Devices, half.Devices, anyID))
		}
	})
}

func FuzzParseMapping(f *testing.F) {
	addFixtures(f, "map-", "list-")
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

// FuzzMerge joins whatever the commands print.
func FuzzMerge(f *testing.F) {
	for _, names := range [][3]string{{"info-a3-25.2", "map-a3", "topo-a3"}, {"odd-numbers-missing", "map-cut", "topo-nics"}} {
		f.Add(modeltest.Read(f, "testdata/"+names[0]+".txt"), modeltest.Read(f, "testdata/"+names[1]+".txt"), modeltest.Read(f, "testdata/"+names[2]+".txt"))
	}
	f.Fuzz(func(t *testing.T, info, mapping, topo []byte) {
		table, err := ascend.ParseInfo(info)
		if err != nil {
			return
		}
		var sides []model.Report
		if r, err := ascend.ParseMapping(mapping); err == nil {
			sides = append(sides, r)
		}
		if r, err := parseTopology(topo); err == nil {
			sides = append(sides, r)
		}
		modeltest.CheckSnapshot(t, model.Merge(table, sides, ascend.Vendor().Resolve))
	})
}
