package compare

import (
	"math"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// metrics are the columns that a comparison has.
func metrics() []result.Column {
	columns := result.Ordered(
		slices.Concat(result.StepColumns(), result.WindowColumns(), result.MainColumns([]float64{50, 99}), result.CheckColumns()),
		"request_throughput_rps", "output_throughput_tok_s", "request_goodput_rps", "failure_ratio")
	return slices.DeleteFunc(columns, func(c result.Column) bool { return c.Metric == "" })
}

// values are those of the runs that have one.
func values(c result.Column, runs []*result.Step, steady bool) []float64 {
	var values []float64
	for _, s := range runs {
		figures := &s.Whole
		if steady {
			figures = s.Steady
		}
		if v, ok := c.Value(s, figures); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	return values
}
