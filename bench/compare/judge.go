package compare

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"

	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

const (
	// alpha is the share of tests that may find a difference where there is none.
	alpha = 0.05
	// confidence is that of an interval where there are runs enough for it.
	confidence = 0.95
)

// Estimate is a median over runs.
type Estimate struct {
	Values []float64 `json:"values"` // one for each run, ascending
	Median float64   `json:"median"` // 0 without values
	// Low and High bound the interval that holds the true median with the
	// probability Confidence: 0.95 or more from 6 runs on; with 2 to 5 runs all
	// that was seen, whose confidence is less (0.94 for 5); 0 with one.
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"`
}

func estimate(values []float64) Estimate {
	if len(values) == 0 {
		return Estimate{}
	}
	s := sample(values)
	summary := benchmath.AssumeNothing.Summary(s, confidence)
	e := Estimate{Values: s.Values, Median: summary.Center, Low: summary.Lo, High: summary.Hi, Confidence: summary.Confidence}
	if math.IsInf(e.Low, 0) || math.IsInf(e.High, 0) {
		// The median lies outside of n values only when all are on one side of it.
		e.Low, e.High = s.Values[0], s.Values[len(s.Values)-1]
		e.Confidence = 1 - 2*math.Pow(0.5, float64(len(values)))
	}
	return e
}

func sample(values []float64) *benchmath.Sample {
	thresholds := benchmath.DefaultThresholds
	thresholds.CompareAlpha = alpha
	return benchmath.NewSample(slices.Clone(values), &thresholds)
}

// Finding is what a test found.
type Finding string

// The findings.
const (
	Higher   Finding = "higher" // than the first side
	Lower    Finding = "lower"
	Differs  Finding = "differs" // but the medians are equal
	Equal    Finding = "equal"   // in every run
	NotTold  Finding = "not_told"
	TooFew   Finding = "too_few_runs" // to find any difference, however large
	Unpaired Finding = "no_values"    // on one of the sides
)

// Verdict is what can be said about two samples.
type Verdict struct {
	Finding Finding `json:"finding"`
	// Change is the other side's median over the first's, less 1; for a ratio it is
	// the difference. Nil where there is none, because the first is 0.
	Change *float64 `json:"change"`
	Better *bool    `json:"better,omitempty"` // only where a difference was found
	// P is the probability of so large a difference by chance, by the Mann-Whitney
	// U test, two-sided. Nil where it was not tested.
	P    *float64 `json:"p,omitempty"`
	N1   int      `json:"n1"`
	N2   int      `json:"n2"`
	Text string   `json:"text"` // as a person reads it
}

// judge tests whether the values of two sides come from the same distribution.
func judge(base, side []float64, c show.Column) Verdict {
	v := Verdict{N1: len(base), N2: len(side)}
	if v.N1 == 0 || v.N2 == 0 {
		v.Finding, v.Text = Unpaired, "not measured on both"
		return v
	}
	from, to := estimate(base).Median, estimate(side).Median
	switch {
	case c.Unit == show.Share:
		v.Change = new(to - from)
	case from != 0:
		v.Change = new(to/from - 1)
	}
	all := slices.Concat(base, side)
	switch {
	case slices.Min(all) == slices.Max(all):
		v.Finding, v.Text = Equal, fmt.Sprintf("equal in all runs (n=%d+%d)", v.N1, v.N2)
		return v
	case criticalRank(v.N1, v.N2) < 0:
		v.Finding, v.Text = TooFew, fmt.Sprintf("too few runs: %s (n=%d+%d)", v.change(c), v.N1, v.N2)
		return v
	}
	v.P = new(min(1, benchmath.AssumeNothing.Compare(sample(base), sample(side)).P))
	evidence := fmt.Sprintf("%s (p=%.2g, n=%d+%d)", v.change(c), *v.P, v.N1, v.N2)
	switch {
	case *v.P >= alpha:
		v.Finding, v.Text = NotTold, "no difference found: "+evidence
	case from == to:
		v.Finding, v.Text = Differs, "differs, with equal medians: "+evidence
	case (to > from) == c.HigherIsBetter:
		v.Better, v.Text = new(true), "better: "+evidence
	default:
		v.Better, v.Text = new(false), "worse: "+evidence
	}
	if v.Better != nil {
		v.Finding = Lower
		if to > from {
			v.Finding = Higher
		}
	}
	return v
}

// change is how much higher or lower the other side is, with its sign.
func (v Verdict) change(c show.Column) string {
	switch {
	case v.Change == nil:
		return "from 0"
	case c.Unit == show.Share:
		return fmt.Sprintf("%+.2f points", 100**v.Change)
	}
	return fmt.Sprintf("%+.1f %%", 100**v.Change)
}

// criticalRank is the greatest U that the test takes for a difference at alpha, below 0
// where there are too few runs for any.
func criticalRank(n1, n2 int) int {
	u := stats.UDist{N1: n1, N2: n2}
	return sort.Search(n1*n2, func(rank int) bool { return 2*u.CDF(float64(rank)) >= alpha }) - 1
}

// interval bounds the true change from base to side with 95 % confidence: the changes
// that the Mann-Whitney test does not exclude, of those between all pairs of runs. It
// holds the change that is said.
func interval(base, side []float64, change float64) (low, high float64) {
	var changes []float64
	for _, b := range base {
		for _, s := range side {
			if b > 0 {
				changes = append(changes, s/b-1)
			}
		}
	}
	if len(changes) < len(base)*len(side) || len(changes) == 0 {
		return change, change
	}
	slices.Sort(changes)
	rank := max(0, criticalRank(len(base), len(side)))
	return min(changes[rank], change), max(changes[len(changes)-1-rank], change)
}
