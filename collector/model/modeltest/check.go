package modeltest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// most is more than any tool can mean.
const most = 1e20

// CheckReport fails where something is in a report twice, a value is none that a card can have, or an error comes with a
// report.
func CheckReport(t testing.TB, r model.Report, err error) {
	t.Helper()
	if diff := cmp.Diff(model.Report{}, r); err != nil && diff != "" {
		t.Errorf("the error %v comes with a report: %s", err, diff)
	}
	c := newChecker(t, r.Devices, r.Slices)
	for _, d := range r.Listed {
		c.once("listed card", d.ID, "")
	}
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
	c := newChecker(t, s.Devices, s.Slices)
	var named []string
	for _, p := range s.Processes {
		c.once("process", p.Device, p.PID)
		named = append(named, p.Device)
	}
	for _, l := range s.Links {
		c.once("link", l.Device, l.Peer)
		named = append(named, l.Device)
	}
	for _, x := range s.Slices {
		named = append(named, x.Device)
	}
	for _, id := range named {
		if !c.seen[[3]string{"card", id, ""}] {
			t.Errorf("card %s is referred to and is not there", id)
		}
	}
	if s.Seen > len(s.Devices) || s.Announced < s.Seen {
		t.Errorf("%d cards seen, %d announced, %d in all", s.Seen, s.Announced, len(s.Devices))
	}
}

// checker fails for what it has seen before.
type checker struct {
	t    testing.TB
	seen map[[3]string]bool
}

func newChecker(t testing.TB, devices []model.Device, all []model.Slice) checker {
	c := checker{t, map[[3]string]bool{}}
	for _, d := range devices {
		c.once("card", d.ID, "")
		c.readings("card "+d.ID, d.Readings)
		if d.Health != nil && d.Health.State == "" {
			t.Errorf("card %s has a health without a word", d.ID)
		}
	}
	for _, s := range all {
		c.once("slice", s.Device, s.ID)
		c.readings("slice "+s.ID+" of card "+s.Device, s.Readings)
	}
	return c
}

func (c checker) once(kind, a, b string) {
	key := [3]string{kind, a, b}
	if a == "" || c.seen[key] {
		c.t.Errorf("%q is there twice or has no name", key)
	}
	c.seen[key] = true
}

func (c checker) readings(owner string, rs model.Readings) {
	for _, r := range rs {
		name := string(r.Metric)
		c.once(owner, name, strings.Join(r.Labels, ","))
		mayBeNegative := strings.HasSuffix(name, "_celsius") || strings.HasSuffix(name, "_decibels")
		switch {
		case strings.HasPrefix(owner, "slice") != r.Metric.IsSliceMetric(),
			!(r.Value > -most && r.Value < most),
			r.Value < 0 && !mayBeNegative,
			r.Value > 1 && strings.HasSuffix(name, "_ratio"):
			c.t.Errorf("%s has a %s of %v", owner, name, r.Value)
		}
	}
}

// Warnings is what a test expects of warnings that all have their text.
func Warnings(texts ...string) model.Warnings {
	return model.Warnings{Texts: texts, Count: len(texts)}
}
