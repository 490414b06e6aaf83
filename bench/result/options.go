package result

import (
	"cmp"
	"math"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	median = 50
	// usualPercentile is the one to show where none was asked for.
	usualPercentile = 99
)

// Options say how a report is made.
type Options struct {
	// Percentiles are those that were asked for, each above 0 and below 100; those of the
	// run or else 99 when empty. Tables show them beside 50 and 90.
	Percentiles []float64
	// Goodput is what each good request meets, what the run had when empty.
	Goodput runlog.Objectives

	objectives []openai.Objective // those of the search that chose the steps
	computed   []float64          // percentiles: those asked for, of objectives and of evalscope
}

// withDefaults fills in what was not given from the runs, the first one where they differ.
func (o Options) withDefaults(runs []runlog.Run) Options {
	first := runs[0]
	if len(o.Percentiles) == 0 {
		o.Percentiles = first.Percentiles
	}
	if len(o.Percentiles) == 0 {
		o.Percentiles = []float64{usualPercentile}
	}
	if len(o.Goodput) == 0 {
		o.Goodput = first.Objectives
	}
	if len(runs) == 1 && first.Capacity != nil {
		o.objectives = first.Capacity.Objectives
	}
	all := slices.Concat([]float64{median, 66, 75, 80, 90, 95, 98, usualPercentile}, o.Percentiles)
	for _, objective := range o.objectives {
		if objective.Percentile > 0 {
			all = append(all, objective.Percentile)
		}
	}
	slices.SortFunc(all, cmp.Compare[float64])
	o.computed = slices.Compact(all)
	return o
}

// ObjectiveResult is a figure of a step that has an objective.
type ObjectiveResult struct {
	openai.Objective
	Value Value // in seconds, of failures a share
	// AtLeast is true where Value falls among requests that were still waiting when they ended.
	AtLeast bool
	Error   Value // half of the 95 % confidence interval
}

// Excess is the figure over its limit: more than 1 is a miss. It is infinite where requests
// never got what the objective bounds, however short they waited.
func (r ObjectiveResult) Excess() float64 {
	if r.AtLeast {
		return math.Inf(1)
	}
	return float64(r.Value) / r.Limit
}

// objectiveResults are the figures of a window that have objectives.
func objectiveResults(objectives []openai.Objective, f *Figures) []ObjectiveResult {
	var all []ObjectiveResult
	for _, o := range objectives {
		r := ObjectiveResult{Objective: o, Value: unknown(), Error: unknown()}
		if n := float64(f.Account.Succeeded + f.Account.Failures()); o.Measure == openai.Failures && n > 0 {
			share := f.Account.FailureRatio()
			r.Value, r.Error = Value(share), Value(confidence*math.Sqrt(share*(1-share)/n))
		} else if p, ok := f.Of(o.Measure).At(o.Percentile); ok {
			r.Value, r.AtLeast, r.Error = Value(p.Value), p.AtLeast, p.Error
		}
		all = append(all, r)
	}
	return all
}
