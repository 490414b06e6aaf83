package show

import (
	"math"
	"slices"
	"strings"

	"github.com/aclements/go-moremath/stats"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// overLoad draws what evalscope-perf does, of whole steps, then the latencies, of the steady part where there is one.
func overLoad(r *result.Report) charts {
	steps := byLoad(r.Steps)
	if steps[0].Rate > 0 { // an infinite rate has no place on an axis of rates
		steps = slices.DeleteFunc(steps, func(s result.Step) bool { return s.Rate == 0 })
	}
	all := charts{Axis: steps[0].Label.Unit}
	for i := range steps {
		all.X = append(all.X, steps[i].Level())
	}
	all.X = slices.Compact(all.X)
	all.IsLog = all.X[0] > 0 && all.X[len(all.X)-1] >= 8*all.X[0]
	for _, c := range Pick(Columns(), "request_throughput", "e2el_mean", "output_throughput", "failure_ratio") {
		all.Charts = append(all.Charts, chart{
			Title: c.Title(), Lines: []line{c.line(steps, wholePart, all.X)}, Limits: limits(r, c.Key, c.Unit),
		})
	}
	percentiles := tablePercentiles(r.Percentiles)
	for _, m := range result.Main() {
		c := chart{Title: m.Name + " (ms)", Limits: limits(r, string(m.Key), Milliseconds), Mark: answerMark(r)}
		for _, p := range percentiles {
			column := Pick(measureColumns(m, percentiles), string(m.Key)+"_"+percentileName(p))[0]
			c.Lines = append(c.Lines, column.line(steps, (*result.Step).SteadyOrWhole, all.X))
		}
		all.Charts = append(all.Charts, c)
	}
	return all
}

// answerMark is the load that a search ended on, nil where there is none.
func answerMark(r *result.Report) *mark {
	c := capacity.FromReport(r)
	if c == nil || c.Value == 0 {
		return nil
	}
	text := "carries "
	if c.AtLeast {
		text += "at least "
	}
	return &mark{text + number(c.Value), float64(c.Value)}
}

// line is the column over the loads, of a load that was repeated the mean.
func (c Column) line(steps []result.Step, window func(*result.Step) *result.Figures, loads []float64) line {
	l := line{Name: c.Head}
	for _, load := range loads {
		var repeats []float64
		for i := range steps {
			s := &steps[i]
			if v := c.Unit.scaled(c.Value(s, window(s))); s.Level() == load && !math.IsNaN(v) {
				repeats = append(repeats, v)
			}
		}
		low, high := stats.Bounds(repeats)
		l.Values, l.Low, l.High = append(l.Values, stats.Mean(repeats)), append(l.Low, low), append(l.High, high)
	}
	return l
}

// limits are the objectives of a measure, or of the share of failures.
func limits(r *result.Report, column string, unit Unit) []mark {
	var all []mark
	objectives := slices.Clone(r.Objectives)
	for _, o := range r.Steps[0].Objectives {
		objectives = append(objectives, o.Objective)
	}
	for _, o := range objectives {
		measure, _, _ := strings.Cut(string(o.Measure), "_")
		if measure == column || o.Measure == openai.Failures && column == "failure_ratio" {
			all = append(all, mark{objectiveText(o), unit.scaled(o.Limit)})
		}
	}
	return all
}
