package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// closestLinear is the smallest part of the axis between two levels at which
// the axis stays linear.
const closestLinear = 1.0 / 30

// loadAxis is the horizontal axis: the levels of load, in ascending order.
type loadAxis struct {
	label  string
	levels []level
	// numeric is false where levels stand beside each other without a scale.
	numeric bool
	log     bool
}

// level is one level of load with all its repeats.
type level struct {
	x     float64
	label string
	steps []*report.Step
}

// loadKind says which number is the level of a step.
type loadKind string

const (
	kindUsers loadKind = "concurrent requests"
	kindRate  loadKind = "request rate (req/s)"
	kindBound loadKind = "maximum concurrency" // all requests at once under a bound
	kindNone  loadKind = "load"                // no number: a burst, a replay
)

// load is what repeats have in common.
type load struct {
	kind       loadKind
	value      float64
	bound      int
	burstiness float64
	arrival    runlog.Arrival
	rise       runlog.Rise
}

func loadOf(s *report.Step) load {
	l := load{kind: kindNone, bound: s.MaxConcurrency, burstiness: s.Burstiness, arrival: s.Arrival, rise: s.Rise}
	switch {
	case s.Concurrency > 0:
		l.kind, l.value = kindUsers, float64(s.Concurrency)
	case s.Rate > 0:
		l.kind, l.value = kindRate, s.Rate
	case s.Arrival == runlog.ArrivalBurst && s.MaxConcurrency > 0:
		l.kind, l.value = kindBound, float64(s.MaxConcurrency)
	}
	return l
}

// newLoadAxis places steps by their number where all have one of the same
// kind, else beside each other in the order in which they were run.
func newLoadAxis(steps []report.Step) loadAxis {
	var loads []load
	groups := map[load][]*report.Step{}
	for i := range steps {
		l := loadOf(&steps[i])
		if groups[l] == nil {
			loads = append(loads, l)
		}
		groups[l] = append(groups[l], &steps[i])
	}
	a := loadAxis{label: string(kindNone), numeric: oneKind(loads)}
	for i, l := range loads {
		v := level{x: float64(i + 1), label: groups[l][0].Name, steps: groups[l]}
		if a.numeric {
			v.x, v.label = l.value, strconv.FormatFloat(l.value, 'g', 6, 64)
		}
		a.levels = append(a.levels, v)
	}
	if !a.numeric {
		return a
	}
	a.label = string(loads[0].kind)
	slices.SortFunc(a.levels, func(p, q level) int { return cmp.Compare(p.x, q.x) })
	if a.log = a.wantsLog(); a.log {
		a.label += ", log scale"
	}
	return a
}

// oneKind says whether every load has a number, of one kind, and none twice.
func oneKind(loads []load) bool {
	seen := map[float64]bool{}
	for _, l := range loads {
		if l.kind == kindNone || l.kind != loads[0].kind || seen[l.value] {
			return false
		}
		seen[l.value] = true
	}
	return len(loads) > 0
}

// wantsLog says whether the levels, such as 1, 2, 4, … 512, would stick
// together on a linear axis.
func (a *loadAxis) wantsLog() bool {
	same := func(x float64) float64 { return x }
	linear := a.closest(same)
	return linear < closestLinear && a.closest(math.Log) > linear
}

// closest is the least distance of two levels, as a part of the axis.
func (a *loadAxis) closest(scale func(float64) float64) float64 {
	least := 1.0
	if len(a.levels) < 2 {
		return least
	}
	span := scale(a.levels[len(a.levels)-1].x) - scale(a.levels[0].x)
	for i, l := range a.levels[1:] {
		least = min(least, (scale(l.x)-scale(a.levels[i].x))/span)
	}
	return least
}

// limits are the ends of the axis, with some room beside the outermost levels.
func (a *loadAxis) limits() (low, high float64) {
	if len(a.levels) == 0 {
		return 0, 1
	}
	const room = 0.04
	low, high = a.levels[0].x, a.levels[len(a.levels)-1].x
	switch {
	case low == high:
		return low - 1, high + 1
	case a.log:
		f := math.Pow(high/low, room)
		return low / f, high * f
	}
	pad := (high - low) * room
	return low - pad, high + pad
}
