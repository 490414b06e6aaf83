package show

import (
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

const median = 50

// tablePercentiles are 50, 90 and those that were asked for, ascending.
func tablePercentiles(chosen []float64) []float64 {
	all := append([]float64{median, 90}, chosen...)
	slices.Sort(all)
	return slices.Compact(all)
}

// highest is the percentile that users who wait long see.
func highest(chosen []float64) float64 { return slices.Max(tablePercentiles(chosen)) }

func wholePart(s *result.Step) *result.Figures { return &s.Whole }

func steadyPart(s *result.Step) *result.Figures { return s.Steady }

// summaryTable has the figures to look at first.
func summaryTable(r *result.Report) Table {
	keys := append([]string{"attempted", "failure_ratio"}, windowKeys(r)...)
	return sweepTable(r, "Whole steps, ramp and drain included", wholePart, append(keys, "joules_per_output_token"))
}

func windowKeys(r *result.Report) []string {
	high := percentileName(highest(r.Chosen))
	return []string{
		"request_throughput", "output_throughput", "good_ratio",
		"ttft_p50", "ttft_" + high, "tpot_p50", "tpot_" + high, "e2el_" + high,
	}
}

// sweepTable has a row for each step and those of the columns that some step knows.
func sweepTable(r *result.Report, caption string, window func(*result.Step) *result.Figures, keys []string) Table {
	all := append(StepColumns(), WindowColumns(tablePercentiles(r.Chosen))...)
	columns := slices.DeleteFunc(Pick(all, keys...), func(c Column) bool {
		return !slices.ContainsFunc(r.Steps, func(s result.Step) bool { return c.text(&s, window(&s)) != unknown })
	})
	t := Table{Caption: caption, Head: []string{"step"}}
	for _, c := range columns {
		t.Head = append(t.Head, c.Title())
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		row := []string{clean(s.Name)}
		for _, c := range columns {
			row = append(row, c.text(s, window(s)))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
