package show

import (
	"math"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

const (
	median          = 50
	usualPercentile = 99 // where none was asked for
)

// tablePercentiles are 50, 90 and those that were asked for, ascending.
func tablePercentiles(r *result.Report) []float64 {
	chosen := r.Chosen
	if len(chosen) == 0 {
		chosen = []float64{usualPercentile}
	}
	all := append([]float64{median, 90}, chosen...)
	slices.Sort(all)
	return slices.Compact(all)
}

// reportColumns are all columns of a report: those of a step, those of the whole of it, and
// the same of its steady part.
func reportColumns(r *result.Report) []Column {
	window := WindowColumns(tablePercentiles(r))
	all := slices.Concat(StepColumns(), window)
	for _, c := range window {
		all = append(all, steadyColumn(c))
	}
	return all
}

// steadyColumn is a column of the steady part.
func steadyColumn(c Column) Column {
	whole := c.Value
	c.Key, c.Head = "steady_"+c.Key, "steady "+c.Head
	c.Value = func(s *result.Step, _ *result.Figures) float64 {
		if s.Steady == nil {
			return math.NaN()
		}
		return whole(s, s.Steady)
	}
	return c
}

// summaryTable has the figures to look at first.
func summaryTable(r *result.Report) Table {
	shown := tablePercentiles(r)
	high := percentileName(shown[len(shown)-1])
	return sweepTable(
		r, "Whole steps, ramp and drain included",
		"attempted", "request_throughput_rps", "output_throughput_tok_s", "failure_ratio", "good_ratio",
		"ttft_p50_ms", "ttft_"+high+"_ms", "tpot_p50_ms", "tpot_"+high+"_ms", "e2el_"+high+"_ms", "energy_joules_per_output_token",
	)
}

// sweepTables have a row for each step: the load and what became of it, the requests
// and tokens a second, and the latencies.
func sweepTables(r *result.Report) []Table {
	return []Table{
		sweepTable(
			r, "Load, of whole steps",
			"achieved_concurrency_whole", "rate_rps", "achieved_rate_rps", "attempted", "succeeded", "failed", "failure_ratio", "canceled",
			"client_lag_p99_ms", "energy_joules_per_output_token",
		),
		sweepTable(
			r, "Throughput, of whole steps and of their steady part",
			"request_throughput_rps", "steady_request_throughput_rps", "output_throughput_tok_s", "steady_output_throughput_tok_s",
			"request_goodput_rps", "good_ratio", "steady_good_ratio", "e2el_mean_ms",
		),
		latencyTable(r),
	}
}

func latencyTable(r *result.Report) Table {
	var keys []string
	for _, m := range result.Measures() {
		if !m.Main && m.Key != "token_itl" {
			continue
		}
		for _, p := range tablePercentiles(r) {
			keys = append(keys, string(m.Key)+"_"+percentileName(p)+"_ms")
		}
	}
	return sweepTable(r, "Latencies, of whole steps", keys...)
}

// sweepTable has a row for each step and those of the columns that some step knows.
func sweepTable(r *result.Report, caption string, keys ...string) Table {
	columns := slices.DeleteFunc(Pick(reportColumns(r), keys...), func(c Column) bool {
		return !slices.ContainsFunc(r.Steps, func(s result.Step) bool { return isKnown(c.Value(&s, &s.Whole)) })
	})
	t := Table{Caption: caption, Head: []string{"step"}}
	for _, c := range columns {
		t.Head = append(t.Head, c.Title())
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		row := []string{clean(s.Name)}
		for _, c := range columns {
			row = append(row, c.Unit.Text(c.Value(s, &s.Whole)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
