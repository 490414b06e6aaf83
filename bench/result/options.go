package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	median = 50
	// usualPercentile is the one to show where none was asked for.
	usualPercentile = 99
)

// Options say how a report is made.
type Options struct {
	// Chosen are percentiles that were asked for, each above 0 and below 100; those of the
	// run or else 99 when empty. Tables show them beside 50 and 90.
	Chosen []float64
	// Goodput is what a good request meets, what the run had when empty.
	Goodput Objectives

	limits      []runlog.Limit // those of the search that chose the steps
	percentiles []float64      // to give: Chosen, those of limits and those of evalscope
}

// settled fills in what was not given from the runs, the first one where they differ.
func (o Options) settled(runs []runlog.Run) Options {
	first := runs[0]
	if len(o.Chosen) == 0 {
		o.Chosen = first.Percentiles
	}
	if len(o.Chosen) == 0 {
		o.Chosen = []float64{usualPercentile}
	}
	if !o.Goodput.Any() && first.Objectives != nil {
		o.Goodput = Objectives(*first.Objectives)
	}
	if len(runs) == 1 && first.Capacity != nil {
		o.limits = first.Capacity.Objectives
	}
	all := slices.Concat([]float64{median, 66, 75, 80, 90, 95, 98, usualPercentile}, o.Chosen)
	for _, l := range o.limits {
		if l.Percentile > 0 {
			all = append(all, l.Percentile)
		}
	}
	slices.SortFunc(all, cmp.Compare[float64])
	o.percentiles = slices.Compact(all)
	return o
}

// Objectives are what a good request meets. A request that has no such sample, such
// as a TPOT of one token, meets the objective, as in vLLM's goodput.
type Objectives runlog.Objectives

// Any reports whether there is an objective at all.
func (o Objectives) Any() bool { return o != Objectives{} }

// String says what a good request meets, empty without objectives.
func (o Objectives) String() string {
	var parts []string
	for _, m := range Main() {
		if most := o.Of(m.Key); most > 0 {
			parts = append(parts, fmt.Sprintf("%s of at most %s", m.Name, most))
		}
	}
	return strings.Join(parts, ", ")
}

// Of is the objective of a measure, 0 for none.
func (o Objectives) Of(key Key) time.Duration {
	return map[Key]time.Duration{TTFT: o.TTFT, TPOT: o.TPOT, ITL: o.ITL, E2E: o.E2E}[key]
}
