package show

import (
	"math"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// overLoad draws the pictures of a report, nothing where there is but one load.
func overLoad(r *result.Report) charts {
	var all charts
	for _, p := range Pictures(r) {
		all.Axis, all.X = p.steps[0].Label.Unit, nil
		for i := range p.steps {
			all.X = append(all.X, p.steps[i].Level())
		}
		if all.X = slices.Compact(all.X); len(all.X) < 2 {
			return charts{}
		}
		for _, n := range p.panels {
			c := chart{Title: n.title, Limits: limits(r, n.lines[0].Key)}
			for _, column := range n.lines {
				c.Lines = append(c.Lines, p.line(column, all.X))
			}
			if p.capacity != nil && p.capacity.Value > 0 {
				c.Mark = &mark{p.carried(), float64(p.capacity.Value)}
			}
			all.Charts = append(all.Charts, c)
		}
	}
	all.IsLog = all.X[0] > 0 && all.X[len(all.X)-1] >= 8*all.X[0]
	return all
}

// line is a column over the loads, of a load that was repeated the mean.
func (p *Picture) line(c Column, loads []float64) line {
	l := line{Name: c.Head}
	for _, load := range loads {
		sum, n, low, high := 0.0, 0.0, math.NaN(), math.NaN()
		for i := range p.steps {
			s := &p.steps[i]
			if v := c.Unit.scaled(c.Value(s, p.window(s))); s.Level() == load && !math.IsNaN(v) {
				if n == 0 {
					low, high = v, v
				}
				sum, n, low, high = sum+v, n+1, min(low, v), max(high, v)
			}
		}
		l.Values, l.Low, l.High = append(l.Values, sum/n), append(l.Low, low), append(l.High, high)
	}
	return l
}

// limits are the objectives of what a column shows.
func limits(r *result.Report, column string) []mark {
	var all []mark
	objectives := slices.Clone(r.Objectives)
	for _, o := range r.Steps[0].Objectives {
		objectives = append(objectives, o.Objective)
	}
	shown, _, _ := strings.Cut(column, "_p") // of a percentile its measure
	for _, o := range objectives {
		measure, _, _ := strings.Cut(string(o.Measure), "_")
		switch {
		case measure == shown:
			all = append(all, mark{objectiveText(o), Milliseconds.scaled(o.Limit)})
		case o.Measure == openai.Failures && shown == "failure_ratio":
			all = append(all, mark{objectiveText(o), Share.scaled(o.Limit)})
		}
	}
	return all
}
