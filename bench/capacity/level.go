package capacity

import (
	"cmp"
	"slices"
)

// levels are those that were tried, ascending, each with its verdict.
func (s Search) levels(tried []Trial) []Level {
	var all []Level
	for i, t := range tried {
		n := slices.IndexFunc(all, func(l Level) bool { return l.Level == t.Level })
		if n < 0 {
			n = len(all)
			all = append(all, Level{Level: t.Level})
		}
		all[n].Trials = append(all[n].Trials, i)
	}
	for i := range all {
		s.judge(&all[i], tried)
	}
	slices.SortFunc(all, func(a, b Level) int { return cmp.Compare(a.Level, b.Level) })
	return all
}

// judge finds the verdict of a level. A run that is clear decides. Where two that are
// clear contradict each other the server changed between them, and only what came from
// the later one on counts. Where all are near the edge the majority decides, once the
// runs that are left cannot turn it; a tie misses.
func (s Search) judge(l *Level, tried []Trial) {
	met, missed, last, final := 0, 0, Void, false // last is the last clear verdict
	for _, i := range l.Trials {
		t := tried[i]
		if t.Verdict == Void {
			l.void, final = l.void+1, final || t.Final
			continue
		}
		if !t.Near {
			if last != Void && last != t.Verdict {
				l.Changed, l.changedAt, met, missed = true, i, 0, 0
			}
			last = t.Verdict
		}
		if t.Verdict == Met {
			met++
		} else {
			missed++
		}
	}
	counted := met + missed
	lead, left := max(met-missed, missed-met), s.repeat()-counted
	switch {
	case counted == 0:
		l.Settled = l.void >= maxVoid || final
		return
	case last != Void:
		l.Verdict, l.Settled = last, true
		return
	case met > missed:
		l.Verdict = Met
	default:
		l.Verdict = Missed
	}
	l.Settled = lead > left || left <= 0 || l.void >= maxVoid
}

// bracket is between which levels the edge lies: upper is the least that missed or
// cannot be judged, lower the most below it that met. open is a level that takes
// another run. Each is nil for none.
type bracket struct{ lower, upper, open *Level }

func bracketOf(levels []Level) bracket {
	var b bracket
	for i := range levels {
		switch l := &levels[i]; {
		case !l.Settled:
			if b.open == nil {
				b.open = l
			}
		case b.upper != nil:
		case l.Verdict == Met:
			b.lower = l
		default:
			b.upper = l
		}
	}
	return b
}
