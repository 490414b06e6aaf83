package modeltest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// CheckReport fails where something is in a report twice, a value is none that a card can have, or an error comes with a
// report.
func CheckReport(t testing.TB, r model.Report, err error) {
	t.Helper()
	if diff := cmp.Diff(model.Report{}, r); err != nil && diff != "" {
		t.Errorf("the error %v comes with a report: %s", err, diff)
	}
	seen := map[[3]string]bool{}
	checkDevices(t, seen, r.Devices)
	for _, d := range r.Listed {
		checkOnce(t, seen, "listed card", d.ID, "")
	}
	checkSlices(t, seen, r.Slices)
	for _, p := range r.Processes {
		if p.Device == "" || p.PID == "" || !(p.UsedBytes >= 0 && p.UsedBytes < most) {
			t.Errorf("a process that nothing names, or with no memory: %+v", p)
		}
	}
	if r.Announced < 0 {
		t.Errorf("%d cards are announced", r.Announced)
	}
}

// CheckSnapshot fails where an identity that becomes a series is there twice, or refers to a
// card that the snapshot lacks.
func CheckSnapshot(t testing.TB, s model.Snapshot) {
	t.Helper()
	seen := map[[3]string]bool{}
	checkDevices(t, seen, s.Devices)
	checkSlices(t, seen, s.Slices)
	known := func(id string) {
		t.Helper()
		if !seen[[3]string{"card", id, ""}] {
			t.Errorf("card %s is referred to and is not there", id)
		}
	}
	for _, p := range s.Processes {
		checkOnce(t, seen, "process", p.Device, p.PID)
		known(p.Device)
	}
	for _, l := range s.Links {
		checkOnce(t, seen, "link", l.Device, l.Peer)
		known(l.Device)
	}
	for _, x := range s.Slices {
		known(x.Device)
	}
	if s.Seen > len(s.Devices) || s.Announced < s.Seen {
		t.Errorf("%d cards seen, %d announced, %d in all", s.Seen, s.Announced, len(s.Devices))
	}
}

// most is more than any tool can mean.
const most = 1e20

func checkOnce(t testing.TB, seen map[[3]string]bool, kind, a, b string) {
	t.Helper()
	key := [3]string{kind, a, b}
	if a == "" || seen[key] {
		t.Errorf("%q is there twice or has no name", key)
	}
	seen[key] = true
}

func checkDevices(t testing.TB, seen map[[3]string]bool, devices []model.Device) {
	t.Helper()
	for _, d := range devices {
		checkOnce(t, seen, "card", d.ID, "")
		checkReadings(t, seen, "card "+d.ID, d.Readings)
		if d.Health != nil && d.Health.State == "" {
			t.Errorf("card %s has a health without a word", d.ID)
		}
	}
}

func checkSlices(t testing.TB, seen map[[3]string]bool, all []model.Slice) {
	t.Helper()
	for _, s := range all {
		checkOnce(t, seen, "slice", s.Device, s.ID)
		checkReadings(t, seen, "slice "+s.ID+" of card "+s.Device, s.Readings)
	}
}

func checkReadings(t testing.TB, seen map[[3]string]bool, owner string, rs model.Readings) {
	t.Helper()
	for _, r := range rs {
		name := string(r.Metric)
		checkOnce(t, seen, owner, name, strings.Join(r.Labels, ","))
		mayBeNegative := strings.HasSuffix(name, "_celsius") || strings.HasSuffix(name, "_decibels")
		switch {
		case strings.HasPrefix(owner, "slice") != r.Metric.OfSlice(),
			!(r.Value > -most && r.Value < most),
			r.Value < 0 && !mayBeNegative,
			r.Value > 1 && strings.HasSuffix(name, "_ratio"):
			t.Errorf("%s has a %s of %v", owner, name, r.Value)
		}
	}
}

// Reading is what a test expects of one metric.
func Reading(m model.Metric, v float64, labels ...string) model.Readings {
	return model.Readings{{Metric: m, Labels: labels, Value: v}}
}

// Warnings is what a test expects of warnings that all have their text.
func Warnings(texts ...string) model.Warnings {
	return model.Warnings{Texts: texts, Count: len(texts)}
}
