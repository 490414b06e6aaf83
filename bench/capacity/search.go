// Package capacity searches for the most load that a server carries: it doubles the load until a level misses its
// objectives, then halves the gap, and runs the two levels at the edge again, of which the majority decides. It
// says how long a level is, what a step says of its level, and what all of them say together.
package capacity

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Verdict is what one run at a level says, or all runs of it together.
type Verdict int

// The verdicts. A void run says nothing of the level: the load was not steady, or was limited by who put it on.
const (
	Void Verdict = iota
	Met
	Missed
)

// MarshalJSON writes true for met, false for missed and null for void.
func (v Verdict) MarshalJSON() ([]byte, error) {
	return []byte([...]string{Void: "null", Met: "true", Missed: "false"}[v]), nil
}

// Load is users or requests a second, 0 for none.
type Load float64

// MarshalJSON writes null for none.
func (l Load) MarshalJSON() ([]byte, error) {
	if l == 0 {
		return []byte("null"), nil
	}
	return result.Value(l).MarshalJSON()
}

// maxVoid is after how many void runs a level cannot be judged.
const maxVoid = 2

// Trial is one run of the search, at a level above 0.
type Trial struct {
	Level   float64
	Verdict Verdict
	Step    int // that it is in the report
}

// Level is what the runs at one level say together.
type Level struct {
	Level   Load    `json:"level"`
	Verdict Verdict `json:"met"`
	Steps   []int   `json:"steps"` // of the report, that have a say

	count   [3]int // of runs, by verdict
	last    [3]int // of Steps, by verdict
	settled bool   // another run would not change the verdict
}

// next is the level to run after tried, and whether there is one.
func next(c *runlog.Capacity, tried []Trial) (level float64, more bool) {
	levels := groupByLevel(tried, c.Repeat)
	again := func(l Level) bool { return l.Verdict == Void && len(l.Steps) < maxVoid }
	if i := slices.IndexFunc(levels, again); i >= 0 {
		return float64(levels[i].Level), true
	}
	lower, upper := bracket(levels)
	switch {
	case upper == nil && len(levels) == 0:
		return c.From, true
	case upper == nil: // the most so far met, or no level could be judged yet
		most := float64(levels[len(levels)-1].Level)
		return min(2*most, c.To), most < c.To
	case lower != nil:
		if middle, ok := middle(c, float64(lower.Level), float64(upper.Level)); ok {
			return middle, true
		}
		if !lower.settled {
			return float64(lower.Level), true
		}
	}
	return float64(upper.Level), !upper.settled
}

// newResult is what tried says, by the same rules whoever ran it.
func newResult(c *runlog.Capacity, tried []Trial) *Result {
	a := &Result{Search: c, Variable: c.Variable, Levels: groupByLevel(tried, c.Repeat)}
	lower, upper := bracket(a.Levels)
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
	_, more := next(c, tried)
	a.Finished, a.AtLeast = !more, a.Value > 0 && (a.FailedAt == 0 || more)
	for _, l := range a.Levels {
		if l.count[Met] == 0 || l.count[Missed] > 0 {
			break
		}
		a.Low = l.Level
	}
	for _, l := range slices.Backward(a.Levels) {
		if l.count[Missed] == 0 || l.count[Met] > 0 {
			break
		}
		a.High = l.Level
	}
	return a
}

// groupByLevel returns the levels that were tried, ascending, judged by the majority of up to repeat runs each: a tie misses.
func groupByLevel(tried []Trial, repeat int) []Level {
	tried = slices.Clone(tried)
	slices.SortStableFunc(tried, func(a, b Trial) int { return cmp.Compare(a.Level, b.Level) })
	var all []Level
	for i, t := range tried {
		if i == 0 || t.Level != tried[i-1].Level {
			all = append(all, Level{Level: Load(t.Level)})
		}
		l := &all[len(all)-1]
		l.Steps = append(l.Steps, t.Step)
		l.count[t.Verdict]++
		l.last[t.Verdict] = t.Step
	}
	for i := range all {
		l := &all[i]
		met, missed := l.count[Met], l.count[Missed]
		switch {
		case met > missed:
			l.Verdict = Met
		case missed > 0:
			l.Verdict = Missed
		}
		left := repeat - met - missed
		l.settled = left <= 0 || max(met-missed, missed-met) > left || l.count[Void] >= maxVoid
	}
	return all
}

// bracket returns the levels between which the answer lies: upper is the least that missed, or that could not be
// judged above one that met; lower is the most below it that met. Each is nil for none.
func bracket(levels []Level) (lower, upper *Level) {
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
func middle(c *runlog.Capacity, lower, upper float64) (float64, bool) {
	if c.Variable == runlog.VariableConcurrency {
		return math.Floor((lower + upper) / 2), upper-lower > max(1, c.Precision/2*lower)
	}
	const digits = 5 // of a rate, more than any precision means
	m, err := strconv.ParseFloat(strconv.FormatFloat(math.Sqrt(lower*upper), 'g', digits, 64), 64)
	return m, err == nil && upper > lower*(1+c.Precision/2) && m > lower && m < upper
}
