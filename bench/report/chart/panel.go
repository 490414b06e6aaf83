package chart

import (
	"math"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
)

// Panel is one set of axes: one figure over the level of load.
type Panel struct {
	title  string
	unit   string
	axis   loadAxis
	series []series
	bars   []bar // one for each level, instead of series
	goal   *goal // nil without an objective
}

// goal is an objective that the series are held against, in the panel's unit.
type goal struct {
	value float64
	name  string
}

// farGoal is how many times the largest value an objective may be and still be drawn:
// beyond it the series would be flat at the ground.
const farGoal = 2

// drawn reports whether the panel has a line for its objective.
func (p *Panel) drawn() bool {
	return p.goal != nil && len(p.shown()) > 0 && p.goal.value <= farGoal*p.largest()
}

// goalName is the objective as the legend has it, empty without one.
func (p *Panel) goalName() string {
	switch {
	case p.goal == nil:
		return ""
	case p.drawn():
		return p.goal.name
	}
	return p.goal.name + " (off the scale)"
}

// series are the samples of one line: for each level of the axis those of its
// repeats. A level without samples is a gap.
type series struct {
	name   string
	nth    int // of the panel, which gives it its looks
	values [][]float64
}

// bar is the height at one level and which share of all it is.
type bar struct{ height, share float64 }

// values are the samples of all levels; what is no finite number is left out.
func (a *loadAxis) values(of func(*report.Step) float64) [][]float64 {
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
func (s *series) at(i int) (float64, bool) {
	if len(s.values[i]) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, v := range s.values[i] {
		sum += v
	}
	return sum / float64(len(s.values[i])), true
}

func (s *series) empty() bool {
	for i := range s.values {
		if len(s.values[i]) > 0 {
			return false
		}
	}
	return true
}

func (p *Panel) largest() float64 {
	most := 0.0
	for _, b := range p.bars {
		most = max(most, b.height)
	}
	for _, s := range p.series {
		for _, samples := range s.values {
			for _, v := range samples {
				most = max(most, v)
			}
		}
	}
	return most
}

// shown are the series that have a sample.
func (p *Panel) shown() []series {
	var all []series
	for i, s := range p.series {
		if s.nth = i; !s.empty() {
			all = append(all, s)
		}
	}
	return all
}

// description says in words what the panel shows, for those who cannot see it:
// the first and the last value of each line.
func (p *Panel) description() string {
	var lines []string
	for _, s := range p.shown() {
		lines = append(lines, s.name+" "+p.ends(s.at))
	}
	if len(p.bars) > 0 {
		lines = append(lines, p.ends(func(i int) (float64, bool) { return p.bars[i].height, true }))
	}
	if len(lines) == 0 {
		lines = append(lines, "no samples")
	}
	if name := p.goalName(); name != "" {
		lines = append(lines, name)
	}
	return p.title + " (" + p.unit + ") over " + p.axis.label + ": " + strings.Join(lines, "; ") + "."
}

func (p *Panel) ends(at func(int) (float64, bool)) string {
	var points []string
	for i, l := range p.axis.levels {
		if v, ok := at(i); ok {
			points = append(points, strconv.FormatFloat(v, 'g', 4, 64)+" at "+l.label)
		}
	}
	if len(points) > 1 {
		return points[0] + " to " + points[len(points)-1]
	}
	return points[0]
}
