// Package capacity searches for the most load that a server carries. It is arithmetic
// on outcomes: it has no clock, runs nothing and keeps no state, so that the same
// outcomes give the same answer whenever it is asked.
package capacity

import (
	"math"
)

// Verdict is what one run at a level says.
type Verdict int

// The verdicts. A void run says nothing of the level: the load was not steady, or was
// limited by who put it on.
const (
	Void Verdict = iota
	Met
	Missed
)

// Outcome is one run at a level.
type Outcome struct {
	Verdict Verdict
	// Near is true where the verdict lies within what chance does to one run, so that
	// another may tell otherwise.
	Near bool
	// Final is true of a void run where no other at the level can be better.
	Final bool
}

// Trial is one run of the search, at a level above 0.
type Trial struct {
	Level float64
	Outcome
}

// Search says where to look, and how closely.
type Search struct {
	// From and To are the least and the most load, 0 < From <= To.
	From, To float64
	// Whole is true where levels are whole numbers, of users.
	Whole bool
	// Precision is how far off the answer may be, as a share of it, above 0; of whole
	// levels never less than 1.
	Precision float64
	// Repeat is how often a level near the edge is run, at least 1.
	Repeat int
}

// Bounds of a search that a server leads in circles.
const (
	maxVoid   = 3   // void runs of a level, after which it cannot be judged
	maxAgain  = 2   // runs of a level beyond Repeat, to see whether it is what it was
	maxTrials = 200 // runs in all
)

// Answer is what is known after some trials.
type Answer struct {
	// Value is the most load that met the objectives below any that missed them, 0 for
	// none.
	Value float64
	// FailedAt is the least load that missed them, 0 for none. VoidAt is the least load
	// that could not be judged where no load at or below it missed, 0 for none.
	FailedAt, VoidAt float64
	// Done is true when the search is over. Before that, Value is the most that is known.
	Done bool
	// AtLeast is true where the server may carry more than Value: no load missed, the
	// next one could not be judged, or the search is not over.
	AtLeast bool
	// Changed is the last level whose clear verdict another one contradicted later, 0
	// for none: the server is not what it was.
	Changed float64
	Levels  []Level // ascending
}

// Level is what the runs at one level say together.
type Level struct {
	Level   float64
	Verdict Verdict
	Settled bool  // no more runs are needed
	Changed bool  // a clear verdict was contradicted by a later clear one
	Trials  []int // numbers in what was tried

	void      int // runs
	changedAt int // the trial that contradicted
}

// Next is the level to run after tried, and whether there is one.
func (s Search) Next(tried []Trial) (level float64, more bool) {
	levels := s.levels(tried)
	b := bracketOf(levels)
	switch {
	case len(tried) >= maxTrials:
		return 0, false
	case b.open != nil:
		return b.open.Level, true
	case b.upper != nil:
		return s.within(b, len(tried))
	case b.lower == nil:
		return s.From, true
	case b.lower.Level >= s.To:
		return 0, false
	}
	return min(2*b.lower.Level, s.To), true
}

// within is the next level where the edge is bracketed: the middle, or where that is
// done the end of the bracket that was run first, once more. A server that changed
// meanwhile does not agree with itself then.
func (s Search) within(b bracket, tried int) (level float64, more bool) {
	switch {
	case b.lower == nil && b.upper.Level > s.From:
		return s.From, true
	case b.lower == nil:
		return 0, false
	}
	if m, ok := s.middle(b.lower.Level, b.upper.Level); ok {
		return m, true
	}
	first, second := b.lower, b.upper
	if first.Trials[0] > second.Trials[0] {
		first, second = second, first
	}
	stale := first.Trials[len(first.Trials)-1] < second.Trials[0]
	if stale && first.Verdict != Void && b.upper.Verdict != Void && len(first.Trials) < s.repeat()+maxAgain && tried < maxTrials {
		return first.Level, true
	}
	return 0, false
}

// Answer is what tried says.
func (s Search) Answer(tried []Trial) Answer {
	a := Answer{Levels: s.levels(tried)}
	b := bracketOf(a.Levels)
	if b.lower != nil {
		a.Value = b.lower.Level
	}
	switch {
	case b.upper == nil:
	case b.upper.Verdict == Missed:
		a.FailedAt = b.upper.Level
	default:
		a.VoidAt = b.upper.Level
	}
	last := -1
	for _, l := range a.Levels {
		if l.Changed && l.changedAt > last {
			a.Changed, last = l.Level, l.changedAt
		}
	}
	_, more := s.Next(tried)
	a.Done = !more
	a.AtLeast = a.Value > 0 && (!a.Done || a.FailedAt == 0)
	return a
}

// Left is how many further levels the search runs at most, if no level contradicts
// another; a level near the edge may be run Repeat times.
func (s Search) Left(tried []Trial) int {
	b := bracketOf(s.levels(tried))
	n, lower, upper := 0, 0.0, s.To
	if b.open != nil {
		n++
		lower = b.open.Level
	}
	if b.lower != nil {
		lower = max(lower, b.lower.Level)
	}
	if b.upper != nil {
		if b.open != nil && b.lower != nil {
			lower = b.lower.Level // it may miss, or meet: the wider half counts
			if b.upper.Level-b.open.Level > b.open.Level-lower {
				lower = b.open.Level
			}
		}
		return n + s.halvings(lower, b.upper.Level)
	}
	if lower == 0 {
		n, lower = n+1, s.From
	}
	for lower < upper {
		if 2*lower >= upper {
			return n + 1 + s.halvings(lower, upper)
		}
		n, lower = n+1, 2*lower
	}
	return n
}

// halvings is how many middles there are at most, with one run of an end once more.
func (s Search) halvings(lower, upper float64) int {
	if lower == 0 {
		return 0
	}
	n := 1
	for {
		m, ok := s.middle(lower, upper)
		if !ok {
			return n
		}
		n++
		if m-lower > upper-m {
			upper = m
		} else {
			lower = m
		}
	}
}

// middle is a level between two others, and whether they are further apart than half
// of the precision: the other half is for what chance does to the verdicts.
func (s Search) middle(lower, upper float64) (float64, bool) {
	if s.Whole {
		if upper-lower <= max(1, s.Precision/2*lower) {
			return 0, false
		}
		return math.Floor((lower + upper) / 2), true
	}
	m := round(math.Sqrt(lower*upper), s.digits())
	return m, upper > lower*(1+s.Precision/2) && m > lower && m < upper
}

// digits are those of a rate: no more than the precision means.
func (s Search) digits() int {
	return 1 + max(1, int(math.Ceil(-math.Log10(s.Precision/2))))
}

// round keeps so many digits of v.
func round(v float64, digits int) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(v))-float64(digits-1))
	if unit < 1 { // dividing by a whole number keeps 4.2 what it is
		whole := math.Round(1 / unit)
		return math.Round(v*whole) / whole
	}
	return math.Round(v/unit) * unit
}

func (s Search) repeat() int { return max(1, s.Repeat) }
