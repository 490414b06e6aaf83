// Package capacity searches for the most load that a server carries: it doubles the load
// until a level misses its objectives, then halves the gap, and runs the two levels at
// the edge again, of which the majority decides. It says how long a level is, what a step
// says of its level, and what all of them say together.
package capacity

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
)

// Verdict is what one run at a level says, or all runs of it together.
type Verdict int

// The verdicts. A void run says nothing of the level: the load was not steady, or was
// limited by who put it on.
const (
	Void Verdict = iota
	Met
	Missed
)

// MarshalJSON writes true for met, false for missed and null for void.
func (v Verdict) MarshalJSON() ([]byte, error) {
	return []byte([...]string{Void: "null", Met: "true", Missed: "false"}[v]), nil
}

// maxVoid is after how many void runs a level cannot be judged.
const maxVoid = 2

// Range says where to look, and how closely.
type Range struct {
	From, To float64 // the least and the most load, 0 < From <= To
	Whole    bool    // whether levels are whole numbers, of users
	// Precision is how far off the answer may be, as a share of it, above 0; of whole
	// levels never less than 1.
	Precision float64
	Repeat    int // how often a level at the edge is run at most, at least 1
}

// Trial is one run of the search, at a level above 0.
type Trial struct {
	Level   float64
	Verdict Verdict
	Step    int // that it is in the report
}

// Level is what the runs at one level say together.
type Level struct {
	Level   float64 `json:"level"`
	Verdict Verdict `json:"met"`
	Steps   []int   `json:"steps"` // of the report, that have a say

	settled   bool // another run would not change the verdict
	unanimous bool // no run says another thing
}

// Answer is what is known after some trials.
type Answer struct {
	// Value is the most load that met the objectives below any that missed them, 0 for
	// none.
	Value float64
	// FailedAt is the least load that missed them, 0 for none. VoidAt is the least load
	// that could not be judged where none below FailedAt met them, or above Value, 0 for
	// none.
	FailedAt, VoidAt float64
	// AtLeast is true where the server may carry more than Value: no load missed, or the
	// search is Unfinished.
	AtLeast    bool
	Unfinished bool    // another trial was to come
	Levels     []Level // ascending
	// Low and High are how firm the answer is: all runs at Low and below met the objectives, all
	// at High and above missed them, as far as there are any: Value and FailedAt where repeats agree.
	Low, High float64
}

// At is the level of that load, nil if it was not run, and for 0.
func (a *Answer) At(load float64) *Level {
	if i := slices.IndexFunc(a.Levels, func(l Level) bool { return l.Level == load }); i >= 0 {
		return &a.Levels[i]
	}
	return nil
}

// Search runs levels of r until the edge is known, or until measure fails, and returns
// what was tried.
func Search(ctx context.Context, r Range, measure func(ctx context.Context, level float64) (Verdict, error)) ([]Trial, error) {
	var tried []Trial
	for {
		level, more := r.next(tried)
		if !more {
			return tried, nil
		}
		verdict, err := measure(ctx, level)
		if err != nil {
			return tried, err
		}
		tried = append(tried, Trial{Level: level, Verdict: verdict})
	}
}

// next is the level to run after tried, and whether there is one.
func (r Range) next(tried []Trial) (level float64, more bool) {
	levels := r.levels(tried)
	again := func(l Level) bool { return l.Verdict == Void && len(l.Steps) < maxVoid }
	if i := slices.IndexFunc(levels, again); i >= 0 {
		return levels[i].Level, true
	}
	lower, upper := edge(levels)
	switch {
	case upper == nil && len(levels) == 0:
		return r.From, true
	case upper == nil: // the most so far met, or no level could be judged yet
		most := levels[len(levels)-1].Level
		return min(2*most, r.To), most < r.To
	case lower != nil:
		if middle, ok := r.middle(lower.Level, upper.Level); ok {
			return middle, true
		}
		if !lower.settled {
			return lower.Level, true
		}
	}
	return upper.Level, !upper.settled
}

// Answer is what tried says, by the same rules whoever ran it.
func (r Range) Answer(tried []Trial) Answer {
	a := Answer{Levels: r.levels(tried)}
	lower, upper := edge(a.Levels)
	if lower != nil {
		a.Value = lower.Level
	}
	if upper != nil && upper.Verdict == Missed {
		a.FailedAt = upper.Level
	}
	for _, l := range a.Levels {
		if l.Verdict == Void && l.Level > a.Value && (a.FailedAt == 0 || l.Level < a.FailedAt) {
			a.VoidAt = l.Level
			break
		}
	}
	_, a.Unfinished = r.next(tried)
	a.AtLeast = a.Value > 0 && (a.FailedAt == 0 || a.Unfinished)
	for _, l := range a.Levels {
		if l.Verdict != Met || !l.unanimous {
			break
		}
		a.Low = l.Level
	}
	for _, l := range slices.Backward(a.Levels) {
		if l.Verdict != Missed || !l.unanimous {
			break
		}
		a.High = l.Level
	}
	return a
}

// levels are those that were tried, ascending, each with the verdict of the majority: a
// tie misses.
func (r Range) levels(tried []Trial) []Level {
	var all []Level
	for _, t := range tried {
		n := slices.IndexFunc(all, func(l Level) bool { return l.Level == t.Level })
		if n < 0 {
			n = len(all)
			all = append(all, Level{Level: t.Level})
		}
		all[n].Steps = append(all[n].Steps, t.Step)
	}
	for i := range all {
		l, count := &all[i], [3]int{}
		for _, t := range tried {
			if t.Level == l.Level {
				count[t.Verdict]++
			}
		}
		met, missed := count[Met], count[Missed]
		switch {
		case met > missed:
			l.Verdict = Met
		case missed > 0:
			l.Verdict = Missed
		}
		l.unanimous = met == 0 || missed == 0
		left := r.Repeat - met - missed
		l.settled = left <= 0 || max(met-missed, missed-met) > left || count[Void] >= maxVoid
	}
	slices.SortFunc(all, func(a, b Level) int { return cmp.Compare(a.Level, b.Level) })
	return all
}

// edge is between which levels the answer lies: upper is the least that missed, or that
// could not be judged above one that met; lower is the most below it that met. Each is
// nil for none. A lowest level that could not be judged is passed over.
func edge(levels []Level) (lower, upper *Level) {
	for i := range levels {
		switch l := &levels[i]; {
		case l.Verdict == Met:
			lower = l
		case l.Verdict == Missed || lower != nil:
			return lower, l
		}
	}
	return lower, nil
}

// middle is a level between two others, and whether they are further apart than half
// of the precision: the other half is for what chance does to the verdicts.
func (r Range) middle(lower, upper float64) (float64, bool) {
	if r.Whole {
		return math.Floor((lower + upper) / 2), upper-lower > max(1, r.Precision/2*lower)
	}
	const digits = 5 // of a rate, more than any precision means
	m, err := strconv.ParseFloat(strconv.FormatFloat(math.Sqrt(lower*upper), 'g', digits, 64), 64)
	return m, err == nil && upper > lower*(1+r.Precision/2) && m > lower && m < upper
}
