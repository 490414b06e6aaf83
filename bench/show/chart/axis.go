package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
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
	scale   plot.Normalizer // linear or logarithmic
}

// level is one level of load with all its repeats.
type level struct {
	x     float64
	name  string
	steps []*result.Step
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
}

func loadOf(s *result.Step) load {
	l := load{kind: kindNone, bound: s.MaxConcurrency, burstiness: s.Burstiness, arrival: s.Arrival}
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
func newLoadAxis(steps []result.Step) loadAxis {
	var loads []load
	repeats := map[load][]*result.Step{}
	for i := range steps {
		l := loadOf(&steps[i])
		if repeats[l] == nil {
			loads = append(loads, l)
		}
		repeats[l] = append(repeats[l], &steps[i])
	}
	a := loadAxis{label: string(kindNone), numeric: oneKind(loads), scale: plot.LinearScale{}}
	for i, l := range loads {
		v := level{x: float64(i + 1), name: repeats[l][0].Name, steps: repeats[l]}
		if a.numeric {
			v.x, v.name = l.value, strconv.FormatFloat(l.value, 'g', 6, 64)
		}
		a.levels = append(a.levels, v)
	}
	if !a.numeric {
		return a
	}
	a.label = string(loads[0].kind)
	slices.SortFunc(a.levels, func(p, q level) int { return cmp.Compare(p.x, q.x) })
	// Levels such as 1, 2, 4, … 512 would stick together on a linear axis.
	log := a
	log.label, log.scale = a.label+", log scale", plot.LogScale{}
	if linear := a.closest(); linear < closestLinear && log.closest() > linear {
		return log
	}
	return a
}

// oneKind reports whether every load has a number, of one kind, and none twice.
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

// closest is the least distance of two levels, as a part of that of the
// outermost.
func (a *loadAxis) closest() float64 {
	least := 1.0
	for i := 1; i < len(a.levels); i++ {
		low, high := a.levels[0].x, a.levels[len(a.levels)-1].x
		least = min(least, a.scale.Normalize(low, high, a.levels[i].x)-a.scale.Normalize(low, high, a.levels[i-1].x))
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
	if low == high {
		return low - 1, high + 1
	}
	if _, log := a.scale.(plot.LogScale); log {
		f := math.Pow(high/low, room)
		return low / f, high * f
	}
	pad := (high - low) * room
	return low - pad, high + pad
}

func (a *loadAxis) names() []string {
	names := make([]string, len(a.levels))
	for i, l := range a.levels {
		names[i] = l.name
	}
	return names
}
