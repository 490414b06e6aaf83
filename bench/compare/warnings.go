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

// likeness is a figure in which two sides must be alike, and why.
type likeness struct {
	column show.Column
	why    string
}

// likenesses are those for steps that arrive in a way: the load generator holds the
// requests in flight under a bound, else their rate.
func likenesses(arrival runlog.Arrival) []likeness {
	load := "achieved_rate_rps"
	if arrival == runlog.ArrivalClosed {
		load = "achieved_concurrency"
	}
	picked := show.Pick(show.StepColumns(), load, "failure_ratio", "prefix_cache_hit_ratio")
	return []likeness{
		{picked[0], "Throughput and latency are of different loads."},
		{picked[1], "Latencies are of the requests that succeeded, which are not the same share."},
		{picked[2], "The fuller cache flatters TTFT and throughput."},
		{lengthColumn("prompt tokens, mean", result.PromptLength), "Latency and requests/s follow the length."},
		{lengthColumn("output tokens, mean", result.OutputLength), "Latency and requests/s follow the length."},
	}
}

func lengthColumn(head string, key result.Key) show.Column {
	return show.Column{Head: head, Value: func(_ *result.Step, f *result.Figures) float64 { return f.Of(key).Mean }}
}

// warnings are why the runs of two sides at one level cannot be compared as they
// stand.
func warnings(base, side []*result.Step) []string {
	var found []string
	for _, l := range likenesses(base[0].Arrival) {
		x, y := medianOf(l.column, base), medianOf(l.column, side)
		if alike(x, y, l.column.Unit) {
			continue
		}
		found = append(found, fmt.Sprintf("%s: %s beside %s. %s", l.column.Title(), l.column.Unit.Text(x), l.column.Unit.Text(y), l.why))
	}
	isEarly := func(s *result.Step) bool { return s.Stop == "" || s.Stop.Early() }
	if slices.ContainsFunc(slices.Concat(base, side), isEarly) {
		found = append(found, "Some runs were cut short: killed, interrupted, too many failures, or the server gone.")
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
