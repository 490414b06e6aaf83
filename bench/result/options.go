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
	// usualPercentile is the one to give where none was asked for.
	usualPercentile = 99
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
	first := runs[0]
	if len(o.Chosen) == 0 {
		o.Chosen = first.Percentiles
	}
	if !o.Goodput.Any() && first.Objectives != nil {
		o.Goodput = Objectives(*first.Objectives)
	}
	if len(runs) == 1 && first.Capacity != nil {
		o.limits = first.Capacity.Objectives
	}
	if len(o.Percentiles) == 0 {
		o.Percentiles = []float64{90, 95, usualPercentile}
	}
	all := slices.Concat([]float64{median}, o.Percentiles, o.Chosen, percentilesOf(o.limits))
	for _, p := range all {
		if !(p > 0 && p < 100) {
			return Options{}, fmt.Errorf("percentile %v: give one above 0 and below 100", p)
		}
	}
	slices.SortFunc(all, cmp.Compare[float64])
	o.Percentiles = slices.Compact(all)
	if len(o.Chosen) == 0 {
		o.Chosen = []float64{usualPercentile}
	}
	return o, nil
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
