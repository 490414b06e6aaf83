package compare

import (
	"math"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
)

// metrics are the columns that a comparison has.
func metrics() []report.Column {
	columns := report.Ordered(
		slices.Concat(report.StepColumns(), report.WindowColumns(), report.MainColumns([]float64{50, 99}), report.CheckColumns()),
		"request_throughput_rps", "output_throughput_tok_s", "request_goodput_rps", "failure_ratio")
	return slices.DeleteFunc(columns, func(c report.Column) bool { return c.Metric == "" })
}

// values are those of the runs that have one.
func values(c report.Column, runs []*report.Step, steady bool) []float64 {
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
