package model_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// A broken table has a warning for each row: all are counted and few are kept, also
// when many reports are joined, and joining leaves the reports as they were.
func TestWarningsAreBounded(t *testing.T) {
	var a, b model.Warnings
	for i := range 100_000 {
		a.Add("a %d", i)
		b.Add("b %d", i)
	}
	few := model.Warnings{}
	few.Add("alone")
	all := few
	all.Join(a)
	all.Join(b)
	if all.Count != 200_001 || len(all.Texts) != 20 || all.Texts[0] != "alone" || all.Texts[19] != "a 18" {
		t.Errorf("%d warnings, of which are kept %q", all.Count, all.Texts)
	}
	if few.Count != 1 || len(few.Texts) != 1 || a.Count != 100_000 || a.Texts[0] != "a 0" || b.Texts[0] != "b 0" {
		t.Error("joining changed what was joined")
	}
	r := model.Report{}
	for i := range 1000 {
		r.Processes = append(r.Processes, model.Process{Device: "5", PID: fmt.Sprint(i)})
	}
	if s := model.Merge(r, nil, byNumber); s.Warnings.Count != 1000 || len(s.Warnings.Texts) != 20 {
		t.Errorf("merging gives %d warnings with %d texts", s.Warnings.Count, len(s.Warnings.Texts))
	}
}

// A user would notice ten thousand series that a tool made up, and the process that
// fills a card left out because others were printed before it.
func TestLimit(t *testing.T) {
	var r model.Report
	for i := range 10_000 {
		id := fmt.Sprint(i)
		r.Devices = append(r.Devices, model.Device{ID: id})
		r.Listed = append(r.Listed, model.Device{ID: id})
		r.Slices = append(r.Slices, model.Slice{Device: "0", ID: id})
		r.Processes = append(r.Processes, model.Process{Device: "0", PID: id, UsedBytes: float64(i / 2)})
		r.Links = append(r.Links, model.Link{Device: "0", Peer: id})
		r.Affinities = append(r.Affinities, model.Affinity{Name: id})
	}
	r.Limit()
	got := map[string]int{
		"cards": len(r.Devices), "listed": len(r.Listed), "slices": len(r.Slices), "processes": len(r.Processes), "links": len(r.Links), "rows": len(r.Affinities),
	}
	want := map[string]int{
		"cards": model.MaxDevices, "listed": model.MaxDevices, "slices": model.MaxSlices, "processes": model.MaxProcesses, "links": model.MaxLinks, "rows": model.MaxDevices,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-) and got (+) differ:\n%s", diff)
	}
	if first, last := r.Processes[0], r.Processes[model.MaxProcesses-1]; first.PID != "9998" || last.PID != "8977" || r.Devices[127].ID != "127" {
		t.Errorf("the largest processes are said to be %v to %v, the last card %s", first, last, r.Devices[127].ID)
	}
	wantTexts := []string{
		"9872 cards are left out: more than 128", "9872 listed cards are left out: more than 128", "9488 slices are left out: more than 512",
		"9872 rows of the topology are left out: more than 128", "5904 links are left out: more than 4096", "8976 processes are left out: more than 1024",
	}
	if diff := cmp.Diff(wantTexts, r.Warnings.Texts); diff != "" {
		t.Errorf("warnings wanted (-) and got (+) differ:\n%s", diff)
	}
	// The largest host met, with more of everything than it can have.
	var host model.Report
	for i := range 32 {
		id := fmt.Sprint(i)
		host.Devices = append(host.Devices, model.Device{ID: id})
		for j := range 16 {
			host.Slices = append(host.Slices, model.Slice{Device: id, ID: fmt.Sprint(j)})
			host.Processes = append(host.Processes, model.Process{Device: id, PID: fmt.Sprint(j)}, model.Process{Device: id, PID: fmt.Sprint(100 + j)})
		}
		for j := range 32 + 16 {
			host.Links = append(host.Links, model.Link{Device: id, Peer: fmt.Sprint(j)})
		}
	}
	if host.Limit(); host.Warnings.Count > 0 {
		t.Errorf("a large host: %q", host.Warnings.Texts)
	}
}
