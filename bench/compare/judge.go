package compare

import (
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
	// Low and High bound the interval that holds the true median with a probability of
	// 0.95 or more from 6 runs on; with fewer they are the least and the most seen.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func estimate(values []float64) Estimate {
	if len(values) == 0 {
		return Estimate{}
	}
	s := sample(values)
	summary := benchmath.AssumeNothing.Summary(s, confidence)
	least, most := s.Values[0], s.Values[len(s.Values)-1]
	// With few runs the interval has no bounds.
	return Estimate{Values: s.Values, Median: summary.Center, Low: max(summary.Lo, least), High: min(summary.Hi, most)}
}

func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

// Finding is what a test found, as a person reads it.
type Finding string

// The findings.
const (
	Better       Finding = "better" // than the first side
	Worse        Finding = "worse"
	NoDifference Finding = "no difference found"
	TooFew       Finding = "too few runs" // to find any difference, however large
	Unpaired     Finding = "not measured on both"
)

// Verdict is what can be said about two samples.
type Verdict struct {
	Finding Finding `json:"finding"`
	// Change is the other side's median over the first's, less 1; for a ratio it is
	// the difference. Nil where there is none, because the first is 0.
	Change *float64 `json:"change"`
	// P is the probability of so large a difference by chance, by the Mann-Whitney
	// U test, two-sided. Nil where it was not tested.
	P *float64 `json:"p,omitempty"`
}

// judge tests whether the values of two sides come from the same distribution.
func judge(base, side []float64, c show.Column) Verdict {
	v := Verdict{Finding: Unpaired}
	if len(base) == 0 || len(side) == 0 {
		return v
	}
	from, to := estimate(base).Median, estimate(side).Median
	switch {
	case c.Unit == show.Share:
		v.Change = new(to - from)
	case from != 0:
		v.Change = new(to/from - 1)
	}
	if criticalRank(len(base), len(side)) < 0 {
		v.Finding = TooFew
		return v
	}
	v.P = new(min(1, benchmath.AssumeNothing.Compare(sample(base), sample(side)).P))
	switch {
	case *v.P >= alpha || from == to:
		v.Finding = NoDifference
	case (to > from) == c.HigherIsBetter:
		v.Finding = Better
	default:
		v.Finding = Worse
	}
	return v
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
	if slices.Min(base) <= 0 {
		return change, change
	}
	var changes []float64
	for _, b := range base {
		for _, s := range side {
			changes = append(changes, s/b-1)
		}
	}
	slices.Sort(changes)
	rank := max(0, criticalRank(len(base), len(side)))
	return min(changes[rank], change), max(changes[len(changes)-1-rank], change)
}
