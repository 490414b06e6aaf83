package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

const (
	// maxDifference is the relative difference from which two loads, or the lengths of
	// their texts, are not the same, and maxShareDifference that of shares.
	maxDifference      = 0.05
	maxShareDifference = 0.01
)

// likenesses are the figures in which two sides must be alike, for steps that arrive in a
// way: the load generator holds the requests in flight under a bound, else their rate.
func likenesses(arrival runlog.Arrival) []show.Column {
	load := "achieved_rate"
	if arrival == runlog.ArrivalClosed {
		load = "achieved_concurrency"
	}
	length := func(head string, key result.Key) show.Column {
		return show.Column{Head: head, Value: func(_ *result.Step, f *result.Figures) float64 { return f.Of(key).Mean }}
	}
	return append(show.Pick(show.StepColumns(), load, "failure_ratio", "prefix_cache_hit_ratio"),
		length("prompt tokens, mean", result.PromptLength), length("output tokens, mean", result.OutputLength))
}

// warnings are why the runs of two sides at one level cannot be compared as they
// stand.
func warnings(base, side []*result.Step) []string {
	var found []string
	for _, c := range likenesses(base[0].Arrival) {
		if x, y := medianOf(c, base), medianOf(c, side); !alike(x, y, c.Unit) {
			found = append(found, fmt.Sprintf("not alike: %s, %s and %s", c.Title(), c.Unit.Text(x), c.Unit.Text(y)))
		}
	}
	isEarly := func(s *result.Step) bool { return s.Stop == "" || s.Stop.Early() }
	if slices.ContainsFunc(slices.Concat(base, side), isEarly) {
		found = append(found, "some runs were cut short: killed, interrupted, too many failures, or the server gone")
	}
	return found
}

// medianOf is the median of a column over runs, whole steps, NaN where none has it.
func medianOf(c show.Column, runs []*result.Step) float64 {
	var values []float64
	for _, s := range runs {
		if v := c.Value(s, &s.Whole); !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return math.NaN()
	}
	return estimate(values).Median
}

// alike reports whether two values are the same but for little; what is not known is
// like everything.
func alike(x, y float64, unit show.Unit) bool {
	switch {
	case math.IsNaN(x) || math.IsNaN(y):
		return true
	case unit == show.Share:
		return math.Abs(x-y) <= maxShareDifference
	case x <= 0 || y <= 0:
		return true
	}
	return max(x, y)/min(x, y) <= 1+maxDifference
}
