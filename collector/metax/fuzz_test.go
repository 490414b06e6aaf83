package metax_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// printed is what the stand-in tool prints, in every layout, for every command.
func printed(t testing.TB) (tables, lists, topologies [][]byte) {
	t.Helper()
	load := fakesmi.Load{Busy: 0.7, Cache: 0.4, PID: 4711, Process: "VLLM::EngineCor"}
	at := time.Unix(1767225600, 0).UTC()
	for _, layout := range fakesmi.MetaXLayouts() {
		r := layout.Reduce(fakesmi.MetaXMachine(layout.Version, load))
		var table, list, topology bytes.Buffer
		for _, err := range []error{
			layout.Print(&table, r, at), layout.PrintList(&list, r), layout.PrintTopology(&topology, r, []string{"mlx5_0"}, at),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		tables, lists, topologies = append(tables, table.Bytes()), append(lists, list.Bytes()), append(topologies, topology.Bytes())
	}
	return tables, lists, topologies
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

// FuzzParseTable holds that no bytes make the parser panic, nothing is there
// twice, every value is in its range, and what was read before a cut stays as it
// was: the rest of the output only adds.
func FuzzParseTable(f *testing.F) {
	addFixtures(f, "table-", "odd-", "none-", "not-")
	tables, _, _ := printed(f)
	for _, text := range tables {
		f.Add(text, len(text)*2/3)
	}
	f.Fuzz(func(t *testing.T, out []byte, cut int) {
		whole, err := metax.ParseTable(out)
		if err != nil {
			if diff := cmp.Diff(model.Report{}, whole); diff != "" {
				t.Fatalf("an error comes with a report: %s", diff)
			}
			return
		}
		modeltest.CheckReport(t, whole)
		modeltest.CheckSnapshot(t, model.Merge(whole, nil, metax.Vendor().Resolve))
		if bars := bytes.Count(out, []byte("|")); 4*len(whole.Devices)+2*len(whole.Processes)+2*len(whole.Slices) > bars {
			t.Fatalf("%d cards, %d processes and %d slices from %d bars", len(whole.Devices), len(whole.Processes), len(whole.Slices), bars)
		}
		part, err := metax.ParseTable(modeltest.WholeLines(out, cut))
		if err != nil {
			return
		}
		modeltest.MustAgree(t, whole.Devices, part.Devices)
		modeltest.MustBegin(t, "slices", whole.Slices, part.Slices)
		modeltest.MustBegin(t, "processes", whole.Processes, part.Processes)
	})
}

func FuzzParseList(f *testing.F) {
	addFixtures(f, "list-")
	_, lists, _ := printed(f)
	for _, text := range lists {
		f.Add(text, len(text)/3)
	}
	f.Fuzz(func(t *testing.T, out []byte, cut int) {
		whole, err := metax.ParseList(out)
		if err != nil {
			return
		}
		modeltest.CheckReport(t, whole)
		if whole.Announced != len(whole.Listed) || len(whole.Devices) > 0 {
			t.Fatalf("announces %d of %d cards", whole.Announced, len(whole.Listed))
		}
		modeltest.CheckSnapshot(t, model.Merge(model.Report{Devices: whole.Listed}, []model.Report{whole}, metax.Vendor().Resolve))
		part, _ := metax.ParseList(modeltest.WholeLines(out, cut))
		modeltest.MustBegin(t, "cards", whole.Listed, part.Listed)
	})
}

// FuzzMerge joins whatever the three commands print.
func FuzzMerge(f *testing.F) {
	tables, lists, topologies := printed(f)
	for i := range tables {
		f.Add(tables[i], lists[i], topologies[i])
	}
	f.Add(modeltest.Read(f, "testdata/table-2.2.9.txt"), modeltest.Read(f, "testdata/list-failed.txt"), modeltest.Read(f, "testdata/topo-n-nics.txt"))
	f.Add(modeltest.Read(f, "testdata/odd-not-printed.txt"), modeltest.Read(f, "testdata/list-container.txt"), modeltest.Read(f, "testdata/topo-m-four.txt"))
	f.Fuzz(func(t *testing.T, table, list, topo []byte) {
		main, err := metax.ParseTable(table)
		if err != nil {
			return
		}
		var sides []model.Report
		for _, side := range []struct {
			p    modeltest.Parse
			text []byte
		}{{metax.ParseList, list}, {metax.ParseTopology, topo}} {
			if r, err := side.p(side.text); err == nil {
				modeltest.CheckReport(t, r)
				sides = append(sides, r)
			}
		}
		modeltest.CheckSnapshot(t, model.Merge(main, sides, metax.Vendor().Resolve))
	})
}
