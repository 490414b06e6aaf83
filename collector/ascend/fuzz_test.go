package ascend_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// output is what the stand-in tool prints in one layout, by command.
type output struct{ info, mapping, list, topology []byte }

func printed(t testing.TB) map[string]output {
	t.Helper()
	all := map[string]output{}
	for _, layout := range fakesmi.AscendLayouts() {
		for _, chips := range []int{1, 2} {
			load := fakesmi.Load{Busy: 0.7, Cache: 0.4, PID: 4711, Process: "VLLM::EngineCor"}
			r := layout.Reduce(fakesmi.AscendMachine(layout.Version, chips, load))
			var info, mapping, list, topology bytes.Buffer
			for _, err := range []error{
				layout.Print(&info, r), layout.PrintMapping(&mapping, r), layout.PrintList(&list, r), layout.PrintTopology(&topology, r),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			name := map[int]string{1: layout.Name, 2: layout.Name + " two dies"}[chips]
			all[name] = output{info.Bytes(), mapping.Bytes(), list.Bytes(), topology.Bytes()}
		}
	}
	return all
}

// addFixtures adds the fixtures whose names begin so, each with a cut in its middle.
func addFixtures(f *testing.F, prefixes ...string) {
	f.Helper()
	for _, prefix := range prefixes {
		for _, name := range modeltest.Glob(f, "testdata/"+prefix+"*.txt") {
			text := modeltest.Read(f, name)
			f.Add(text, len(text)/2)
		}
	}
}

// FuzzParseInfo holds that no bytes make the parser panic, nothing is there twice,
// every value is in its range, and what was read before a cut stays as it was,
// but for a chip's number, which depends on all the others.
func FuzzParseInfo(f *testing.F) {
	addFixtures(f, "info-", "odd-", "none-", "not-")
	for _, out := range printed(f) {
		f.Add(out.info, len(out.info)*2/3)
	}
	f.Fuzz(func(t *testing.T, out []byte, cut int) {
		whole, err := ascend.ParseInfo(out)
		if err != nil {
			if diff := cmp.Diff(model.Report{}, whole); diff != "" {
				t.Fatalf("an error comes with a report: %s", diff)
			}
			return
		}
		modeltest.CheckReport(t, whole)
		modeltest.CheckSnapshot(t, model.Merge(whole, nil, ascend.Vendor().Resolve))
		if bars := bytes.Count(out, []byte("|")); 4*len(whole.Devices)+2*len(whole.Processes) > bars {
			t.Fatalf("%d chips and %d processes from %d bars", len(whole.Devices), len(whole.Processes), bars)
		}
		part, err := ascend.ParseInfo(modeltest.WholeLines(out, cut))
		if err != nil {
			return
		}
		modeltest.MustAgree(t, unnumbered(whole.Devices), unnumbered(part.Devices))
	})
}

func unnumbered(devices []model.Device) []model.Device {
	var all []model.Device
	for _, d := range devices {
		d.ID = ""
		all = append(all, d)
	}
	return all
}

func FuzzParseMapping(f *testing.F) {
	addFixtures(f, "map-")
	for _, out := range printed(f) {
		f.Add(out.mapping, len(out.mapping)/2)
	}
	f.Fuzz(func(t *testing.T, out []byte, cut int) { checkCount(t, ascend.ParseMapping, out, cut) })
}

func FuzzParseList(f *testing.F) {
	addFixtures(f, "list-")
	for _, out := range printed(f) {
		f.Add(out.list, len(out.list)/2)
	}
	f.Fuzz(func(t *testing.T, out []byte, cut int) {
		if r, err := ascend.ParseList(out); err == nil {
			modeltest.CheckReport(t, r)
		}
		_, _ = ascend.ParseList(out[:max(0, min(cut, len(out)))])
	})
}

// checkCount holds that a cut announces no more chips than the whole, nor the
// whole more than it has lines.
func checkCount(t *testing.T, parse modeltest.Parse, out []byte, cut int) {
	whole, err := parse(out)
	if err != nil {
		return
	}
	modeltest.CheckReport(t, whole)
	if lines := bytes.Count(out, []byte("\n")); whole.Announced > lines || len(whole.Devices) > 0 {
		t.Fatalf("announces %d chips in %d lines", whole.Announced, lines)
	}
	part, _ := parse(out[:max(0, min(cut, len(out)))])
	if part.Announced > whole.Announced {
		t.Fatalf("announces %d chips before the cut, %d in all", part.Announced, whole.Announced)
	}
}

// FuzzMerge joins whatever the commands print.
func FuzzMerge(f *testing.F) {
	for _, out := range printed(f) {
		f.Add(out.info, out.mapping, out.topology)
	}
	f.Add(modeltest.Read(f, "testdata/info-a3-25.2.txt"), modeltest.Read(f, "testdata/map-a3.txt"), modeltest.Read(f, "testdata/topo-a3.txt"))
	f.Add(modeltest.Read(f, "testdata/odd-numbers-missing.txt"), modeltest.Read(f, "testdata/map-cut.txt"), modeltest.Read(f, "testdata/topo-nics.txt"))
	f.Fuzz(func(t *testing.T, info, mapping, topo []byte) {
		table, err := ascend.ParseInfo(info)
		if err != nil {
			return
		}
		var sides []model.Report
		for _, side := range []struct {
			parse modeltest.Parse
			text  []byte
		}{{ascend.ParseMapping, mapping}, {ascend.ParseTopology, topo}} {
			if r, err := side.parse(side.text); err == nil {
				modeltest.CheckReport(t, r)
				sides = append(sides, r)
			}
		}
		modeltest.CheckSnapshot(t, model.Merge(table, sides, ascend.Vendor().Resolve))
	})
}
