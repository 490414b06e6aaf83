package compare

import (
	"fmt"
	"math"
	"slices"

	"golang.org/x/perf/benchmath"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// confidence is that of an interval where there are runs enough for it.
const confidence = 0.95

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
	// Detectable is the smallest true difference, told as Change is, that the test
	// finds in [power] of such comparisons, for the spread of these runs and normal
	// values. Nil where it was not tested, and where Change is nil.
	Detectable *float64 `json:"detectable,omitempty"`
	// P is the probability of so large a difference by chance, by the Mann-Whitney
	// U test, two-sided. Nil where it was not tested.
	P    *float64 `json:"p,omitempty"`
	N1   int      `json:"n1"`
	N2   int      `json:"n2"`
	Text string   `json:"text"` // as a person reads it
}

// judge tests whether the values of two sides come from the same distribution.
// needed is what [detectable] says of so many runs.
func judge(base, side []float64, c result.Column, needed float64) Verdict {
	v := Verdict{N1: len(base), N2: len(side)}
	if v.N1 == 0 || v.N2 == 0 {
		v.Finding, v.Text = Unpaired, "not measured on both"
		return v
	}
	from, to := estimate(base).Median, estimate(side).Median
	least := spread(base, side) * needed
	switch {
	case c.Unit == result.Share:
		v.Change = new(to - from)
	case from != 0:
		v.Change = new(to/from - 1)
		least /= math.Abs(from)
	}
	all := slices.Concat(base, side)
	switch {
	case slices.Min(all) == slices.Max(all):
		v.Finding, v.Text = Equal, fmt.Sprintf("equal in all runs (n=%d+%d)", v.N1, v.N2)
		return v
	case v.N1 == 1 && v.N2 == 1:
		v.Finding, v.Text = TooFew, fmt.Sprintf("no difference can be told: one run a side, %s", seen(from, to, c.Unit))
		return v
	case !enough(v.N1, v.N2):
		v.Finding, v.Text = TooFew, fmt.Sprintf("no difference can be told: %d+%d runs are too few, %s", v.N1, v.N2, seen(from, to, c.Unit))
		return v
	}
	p := min(1, benchmath.AssumeNothing.Compare(sample(base), sample(side)).P)
	v.P = &p
	if v.Change != nil && !math.IsNaN(least) {
		v.Detectable = &least
	}
	evidence := fmt.Sprintf("(%s, n=%d+%d)", chance(p), v.N1, v.N2)
	switch {
	case p >= alpha:
		v.Finding, v.Text = NotTold, "no difference can be told: "+seen(from, to, c.Unit)
		if v.Detectable != nil {
			v.Text += ", " + difference(least, c.Unit) + " needed to tell"
		}
		v.Text += " " + evidence
	case from == to:
		v.Finding, v.Text = Differs, "differs, with equal medians "+evidence
	default:
		v.Finding = Lower
		if to > from {
			v.Finding = Higher
		}
		better := (to > from) == c.HigherIsBetter
		v.Better = &better
		worth := "worse"
		if better {
			worth = "better"
		}
		v.Text = fmt.Sprintf("%s, %s %s", size(from, to, c.Unit, v.Finding), worth, evidence)
	}
	return v
}

// enough reports whether the test can find a difference at all: the least p is that
// of all runs of one side above all of the other, one of the ways in which the
// ranks can fall, either way round.
func enough(n1, n2 int) bool {
	if n1 == 0 || n2 == 0 {
		return false
	}
	ways := 1.0
	for i := 1; i <= n1; i++ {
		ways = ways * float64(n2+i) / float64(i) // a whole number each time: rounded, 39 runs beside 1 would seem enough
	}
	return 2/ways < alpha
}

// size is the difference between two medians in words.
func size(from, to float64, u result.Unit, f Finding) string {
	switch {
	case u == result.Share:
		return difference(math.Abs(to-from), u) + " " + string(f)
	case from == 0:
		return string(f)
	}
	return difference(math.Abs(to/from-1), u) + " " + string(f)
}

// seen is the difference where nothing says that it is more than chance.
func seen(from, to float64, u result.Unit) string {
	switch {
	case to > from:
		return "seen " + size(from, to, u, Higher)
	case to < from:
		return "seen " + size(from, to, u, Lower)
	}
	return "equal medians"
}

// difference is a size as [Verdict.Change] has it, in words.
func difference(size float64, u result.Unit) string {
	if u == result.Share {
		return figure(u.Scale()*size, 2) + " points"
	}
	return figure(100*size, 2) + " %"
}

func chance(p float64) string {
	if p < 0.001 {
		return "p<0.001"
	}
	return fmt.Sprintf("p=%.3f", p)
}
