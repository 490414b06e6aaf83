package chart

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// Panel is one set of axes: one figure over the level of load.
type Panel struct {
	title  string
	unit   string
	axis   loadAxis
	series []series
	// bars are the labels of bars, one for each level, where the one series is
	// drawn so. A level without a bar has none.
	bars       []string
	objectives []objective
	// answer is the level that a search for the capacity ended on, 0 for none.
	answer     float64
	answerName string
}

// objective is what the series should stay below, in the panel's unit: 0 where it is
// too far above to be drawn.
type objective struct {
	value float64
	name  string
}

// series are the samples of one line: for each level of the axis those of its
// repeats. A level without samples is a gap.
type series struct {
	name   string
	values [][]float64
}

// values are the samples of all levels; what is no finite number is left out.
func (a *loadAxis) values(of func(*result.Step) float64) [][]float64 {
	all := make([][]float64, len(a.levels))
	for i, l := range a.levels {
		for _, s := range l.steps {
			if v := of(s); !math.IsNaN(v) && !math.IsInf(v, 0) {
				all[i] = append(all[i], v)
			}
		}
	}
	return all
}

// at is the mean of the samples at a level, and whether there are any.
func (s series) at(i int) (float64, bool) {
	if len(s.values[i]) == 0 {
		return 0, false
	}
	return stat.Mean(s.values[i], nil), true
}

func (s series) empty() bool {
	return !slices.ContainsFunc(s.values, func(samples []float64) bool { return len(samples) > 0 })
}

func (p *Panel) largest() float64 {
	most := 0.0
	for _, s := range p.series {
		most = max(most, slices.Max(append(slices.Concat(s.values...), 0)))
	}
	return most
}

// addObjective takes an objective, 0 for none. suffix says what of a request it is
// about. One of more than twice the largest value is not drawn: the series would be
// flat at the ground.
func (p *Panel) addObjective(most time.Duration, suffix string) {
	if most <= 0 {
		return
	}
	o := objective{most.Seconds(), "objective " + most.String() + suffix}
	if p.unit == milliseconds {
		o.value *= 1000
	}
	if o.value > 2*p.largest() {
		o = objective{name: o.name + " (off the scale)"}
	}
	p.objectives = append(p.objectives, o)
}

// top is the most that the panel has to show.
func (p *Panel) top() float64 {
	most := p.largest()
	for _, o := range p.objectives {
		most = max(most, o.value)
	}
	return most
}

// note is what stands in a panel without marks.
func (p *Panel) note() string {
	switch {
	case !slices.ContainsFunc(p.series, func(s series) bool { return !s.empty() }):
		return "no samples"
	case p.bars != nil && p.largest() == 0:
		return "no request failed"
	}
	return ""
}

// description says in words what the panel shows, for those who cannot see it:
// the first and the last value of each line.
func (p *Panel) description() string {
	var parts []string
	for _, s := range p.series {
		if !s.empty() {
			parts = append(parts, strings.TrimSpace(s.name+" "+p.ends(s)))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "no samples")
	}
	for _, o := range p.objectives {
		parts = append(parts, o.name)
	}
	if p.answer > 0 {
		parts = append(parts, p.answerName)
	}
	return p.title + " (" + p.unit + ") over " + p.axis.label + ": " + strings.Join(parts, "; ") + "."
}

// ends are the first and the last value of a series that has one.
func (p *Panel) ends(s series) string {
	var points []string
	for i, l := range p.axis.levels {
		if v, ok := s.at(i); ok {
			points = append(points, strconv.FormatFloat(v, 'g', 4, 64)+" at "+l.name)
		}
	}
	if len(points) > 1 {
		return points[0] + " to " + points[len(points)-1]
	}
	return points[0]
}
