package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// level is one load and the steps that put it on.
type level struct {
	name string
	runs [][]*result.Step // by side
}

// match groups the steps of all sides by their load, in the order of the first
// side that ran it.
func match(sides []Side) []level {
	var levels []level
	for i, s := range sides {
		for _, r := range s.Reports {
			for j := range r.Steps {
				step := &r.Steps[j]
				name := levelName(step.Step)
				at := slices.IndexFunc(levels, func(l level) bool { return l.name == name })
				if at < 0 {
					at = len(levels)
					levels = append(levels, level{name: name, runs: make([][]*result.Step, len(sides))})
				}
				levels[at].runs[i] = append(levels[at].runs[i], step)
			}
		}
	}
	return levels
}

// levelName is the load of a step. Steps of one name are repeats: how long they
// ran and when they gave up is no part of it.
func levelName(s runlog.Step) string {
	s.Repeat = 0
	switch s.Arrival {
	case runlog.ArrivalClosed:
		return "concurrency " + s.Name()
	case runlog.ArrivalBurst:
		if s.MaxConcurrency == 0 {
			return "all at once"
		}
		return fmt.Sprintf("all at once, %d in flight", s.MaxConcurrency)
	case runlog.ArrivalReplay:
		return s.Name()
	}
	rate, bound, bounded := strings.Cut(s.Name(), " max ")
	name := rate
	if bounded {
		name = fmt.Sprintf("%s, at most %s in flight", rate, bound)
	}
	name += ", " + string(s.Arrival)
	if s.Arrival == runlog.ArrivalGamma {
		name += fmt.Sprintf(" of burstiness %g", s.Burstiness)
	}
	return name
}

// shared reports whether the first side and another ran the level.
func (l level) shared() bool {
	return len(l.runs[0]) > 0 && slices.ContainsFunc(l.runs[1:], func(runs []*result.Step) bool { return len(runs) > 0 })
}

// missing says which sides did not run the level, nothing when all did.
func (l level) missing(sides []Side) string {
	var without words.List
	for i, runs := range l.runs {
		without.If(len(runs) == 0, "%s", sideNamed(sides[i].Name))
	}
	switch {
	case len(without) == 0:
		return ""
	case l.shared():
		return fmt.Sprintf("%s: not run on %s.", l.name, strings.Join(without, " and "))
	}
	return fmt.Sprintf("%s: not compared, as it was not run on %s.", l.name, strings.Join(without, " and "))
}

func (l level) steady() bool {
	for _, runs := range l.runs {
		if slices.ContainsFunc(runs, func(s *result.Step) bool { return s.Steady == nil }) {
			return false
		}
	}
	return true
}
