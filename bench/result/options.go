package result

import (
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Options say how a report is made.
type Options struct {
	// Percentiles to give, each above 0 and below 100; 50, 90, 95, 99 when empty.
	// The median is always among them.
	Percentiles []float64
	// Chosen are percentiles that were asked for, those of the run or else 99 when empty:
	// tables show them beside 50 and 90. They need not be among Percentiles.
	Chosen []float64
	// Goodput is what a good request meets, what the run had when empty.
	Goodput Objectives

	limits []runlog.Limit // those of the search that chose the steps
}

// settled are the options with what the runs tell and nobody gave; differ is true where
// the runs had different objectives, which are then none.
func (o Options) settled(runs []runlog.Run) (all Options, differ bool, err error) {
	if len(o.Chosen) == 0 {
		o.Chosen = runs[0].Percentiles
	}
	if !o.Goodput.Any() {
		o.Goodput, differ = objectivesOf(runs)
	}
	if len(runs) == 1 && runs[0].Capacity != nil {
		o.limits = runs[0].Capacity.Objectives
	}
	o.Percentiles, err = percentiles(o.Percentiles, slices.Concat(o.Chosen, percentilesOf(o.limits)))
	if len(o.Chosen) == 0 {
		o.Chosen = []float64{usualPercentile}
	}
	return o, differ, err
}

// objectivesOf are those that all runs had, none where they differ.
func objectivesOf(runs []runlog.Run) (all Objectives, differ bool) {
	of := func(r runlog.Run) Objectives {
		if r.Objectives == nil {
			return Objectives{}
		}
		return Objectives(*r.Objectives)
	}
	for _, r := range runs[1:] {
		if of(r) != of(runs[0]) {
			return Objectives{}, true
		}
	}
	return of(runs[0]), false
}
