package result

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// advice ends the errors of logs that are not one load.
const advice = "give one run, or several that were one load; accelbench compare sets others side by side"

// joined is one step of the report.
type joined struct {
	step  runlog.Step // summed over the machines
	parts []*section
}

// joinable says why the logs are not one load, nil when they are.
func joinable(logs []*outline) error {
	ids := map[string]string{}
	for _, o := range logs {
		if other, seen := ids[o.run.ID]; seen {
			return fmt.Errorf("%s and %s hold the same run: give it once", other, o.name)
		}
		ids[o.run.ID] = o.name
	}
	first := logs[0]
	for _, o := range logs[1:] {
		if err := sameTarget(first.run, o.run); err != nil {
			return fmt.Errorf("%s and %s are not one load: %w: %s", first.name, o.name, err, advice)
		}
	}
	return overlap(logs)
}

func sameTarget(a, b runlog.Run) error {
	switch {
	case a.Side != b.Side:
		return fmt.Errorf("one is of side %q, the other of side %q", a.Side, b.Side)
	case a.Model != b.Model:
		return fmt.Errorf("one is of model %q, the other of model %q", a.Model, b.Model)
	case a.URL != b.URL:
		return fmt.Errorf("one is of %s, the other of %s", a.URL, b.URL)
	case a.API != b.API:
		return fmt.Errorf("one is of the %s API, the other of the %s API", a.API, b.API)
	}
	return nil
}

// overlap fails when a run began after all that began before it were over.
func overlap(logs []*outline) error {
	byStart := slices.Clone(logs)
	slices.SortStableFunc(byStart, func(a, b *outline) int { return a.run.Started.Compare(b.run.Started) })
	latest := byStart[0]
	for _, o := range byStart[1:] {
		if over := latest.over(); o.run.Started.After(over) {
			return fmt.Errorf("%s and %s are not one load: one was over at %s, the other began at %s: %s",
				latest.name, o.name, over.UTC().Format(time.RFC3339), o.run.Started.UTC().Format(time.RFC3339), advice)
		}
		if o.over().After(latest.over()) {
			latest = o
		}
	}
	return nil
}

// over is the last instant known of the run.
func (o *outline) over() time.Time {
	last := o.run.Started
	for _, s := range o.sections {
		last = slices.MaxFunc([]time.Time{last, time.Unix(0, s.over), s.step.Started}, time.Time.Compare)
	}
	return last
}

// join puts the steps of the logs together by their index.
func join(logs []*outline) ([]*joined, error) {
	byIndex := map[int]*joined{}
	var steps []*joined
	for _, o := range logs {
		for _, s := range o.sections {
			j := byIndex[s.step.Index]
			if j == nil {
				j = &joined{step: s.step, parts: []*section{s}}
				byIndex[s.step.Index], steps = j, append(steps, j)
				continue
			}
			if err := sameLevel(j.parts[0].step, s.step); err != nil {
				return nil, fmt.Errorf("%s and %s are not one load: step %d: %w: %s",
					j.parts[0].log.name, o.name, s.step.Index, err, advice)
			}
			j.add(s)
		}
	}
	slices.SortFunc(steps, func(a, b *joined) int { return cmp.Compare(a.step.Index, b.step.Index) })
	return steps, nil
}

func sameLevel(a, b runlog.Step) error {
	switch {
	case a.Arrival != b.Arrival:
		return fmt.Errorf("one is %s, the other %s", a.Arrival, b.Arrival)
	case a.Concurrency != b.Concurrency || a.MaxConcurrency != b.MaxConcurrency:
		return errors.New("they differ in concurrency")
	case a.Rate != b.Rate || a.Burstiness != b.Burstiness:
		return errors.New("they differ in rate")
	case a.Repeat != b.Repeat:
		return errors.New("they are different repeats")
	}
	return nil
}

// planSize is how many of the first requests are looked at to tell whether two
// machines sent at the same instants, and samePlan how many it takes.
const (
	planSize = 20
	samePlan = 5
)

// sameArrivals reports whether two machines drew the same gaps between their requests.
func (j *joined) sameArrivals() bool {
	if j.step.Arrival != runlog.ArrivalPoisson && j.step.Arrival != runlog.ArrivalGamma {
		return false // nothing is drawn
	}
	for i, p := range j.parts {
		if slices.ContainsFunc(j.parts[:i], func(o *section) bool { return sameGaps(&o.plan, &p.plan) }) {
			return true
		}
	}
	return false
}

// sameGaps reports whether requests were due alike, since the first that both plans have:
// the machines' clocks and starts are not the same.
func sameGaps(a, b *[planSize]int64) bool {
	common, offset := 0, int64(0)
	for i := range a {
		if a[i] == 0 || b[i] == 0 {
			continue
		}
		if common++; common == 1 {
			offset = a[i] - b[i]
		}
		if d := a[i] - b[i] - offset; max(d, -d) > int64(time.Microsecond) {
			return false
		}
	}
	return common >= samePlan
}

func (j *joined) add(p *section) {
	j.parts = append(j.parts, p)
	j.step.Concurrency += p.step.Concurrency
	j.step.MaxConcurrency += p.step.MaxConcurrency
	j.step.Rate += p.step.Rate
	j.step.Requests += p.step.Requests
	if p.step.Started.Before(j.step.Started) {
		j.step.Started = p.step.Started
	}
}
