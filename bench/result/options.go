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

// settled are the options with what the runs tell, the first one where they differ, and
// nobody gave.
func (o Options) settled(runs []runlog.Run) (Options, error) {
	first, err := runs[0], error(nil)
	if len(o.Chosen) == 0 {
		o.Chosen = first.Percentiles
	}
	if !o.Goodput.Any() && first.Objectives != nil {
		o.Goodput = Objectives(*first.Objectives)
	}
	if len(runs) == 1 && first.Capacity != nil {
		o.limits = first.Capacity.Objectives
	}
	o.Percentiles, err = percentiles(o.Percentiles, slices.Concat(o.Chosen, percentilesOf(o.limits)))
	if len(o.Chosen) == 0 {
		o.Chosen = []float64{usualPercentile}
	}
	return o, err
}
