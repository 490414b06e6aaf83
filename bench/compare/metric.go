package compare

import (
	"math"

	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
)

// metric is one figure of a run.
type metric struct {
	name  string
	label string // as shown, with the unit
	unit  string
	scale float64 // from unit to what is shown
	// more is true when more of it is better.
	more bool
	// points is true when differences are told in percentage points.
	points bool
	of     func(s *report.Step, f *report.Figures) (float64, bool)
}

func metrics() []metric {
	all := []metric{
		{
			name: "request_throughput", label: "requests/s", unit: "req/s", scale: 1, more: true,
			of: func(_ *report.Step, f *report.Figures) (float64, bool) { return f.RequestThroughput, true },
		},
		{
			name: "output_throughput", label: "output tokens/s", unit: "tok/s", scale: 1, more: true,
			of: func(_ *report.Step, f *report.Figures) (float64, bool) { return f.OutputThroughput, true },
		},
		{
			name: "goodput", label: "good requests/s", unit: "req/s", scale: 1, more: true,
			of: func(_ *report.Step, f *report.Figures) (float64, bool) {
				if f.Goodput == nil {
					return 0, false
				}
				return *f.Goodput, true
			},
		},
		{
			name: "failure_ratio", label: "failures, %", unit: "ratio", scale: 100, points: true,
			of: func(s *report.Step, _ *report.Figures) (float64, bool) { return s.Account.FailureRatio(), true },
		},
	}
	for _, latency := range []struct {
		name, label string
		of          func(f *report.Figures) report.Distribution
	}{
		{"ttft", "TTFT", func(f *report.Figures) report.Distribution { return f.Of(report.TTFT) }},
		{"tpot", "TPOT", func(f *report.Figures) report.Distribution { return f.Of(report.TPOT) }},
		{"itl", "ITL", func(f *report.Figures) report.Distribution { return f.Of(report.ITL) }},
		{"e2el", "E2E", func(f *report.Figures) report.Distribution { return f.Of(report.E2E) }},
	} {
		for _, p := range []struct {
			p    float64
			name string
		}{{50, "p50"}, {99, "p99"}} {
			all = append(all, metric{
				name: latency.name + "_" + p.name, label: latency.label + " " + p.name + ", ms", unit: "s", scale: 1000,
				of: func(_ *report.Step, f *report.Figures) (float64, bool) {
					d := latency.of(f)
					v, ok := d.At(p.p)
					return v, ok && d.Count > 0
				},
			})
		}
	}
	return append(all, metric{
		name: "joules_per_output_token", label: "J/output token", unit: "J", scale: 1,
		of: func(s *report.Step, _ *report.Figures) (float64, bool) {
			if s.Joules == nil || s.Whole.OutputTokens <= 0 {
				return 0, false
			}
			return *s.Joules / float64(s.Whole.OutputTokens), true
		},
	})
}

// values are the metric's values of the runs that have one.
func (m metric) values(runs []*report.Step, steady bool) []float64 {
	var values []float64
	for _, s := range runs {
		figures := &s.Whole
		if steady {
			figures = s.Steady
		}
		if v, ok := m.of(s, figures); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	return values
}
