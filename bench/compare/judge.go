package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// alpha is the probability with which the tests of one figure at one level may find a
// difference where there is none. The confidence of an interval is the rest.
const alpha = 0.05

// Estimate is a median over runs.
type Estimate struct {
	Values []float64 `json:"values"` // one for each run, ascending; see [Compare]
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
	summary := benchmath.AssumeNothing.Summary(s, 1-alpha)
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
	// OneStart is not tested: repeats of one start do not show how starts differ.
	OneStart Finding = "one start of the server each"
	Unpaired Finding = "not measured on both"
)

// Verdict is what can be said about the samples of two sides.
type Verdict struct {
	Finding Finding `json:"finding"`
	// Change is the other side's median over the first's, less 1; for a ratio it is
	// the difference. Not known where the first is 0.
	Change result.Value `json:"change"`
	// P is the probability of so large a difference by chance, by the two-sided Mann-Whitney U
	// test, adjusted by Holm's procedure for the other sides. Not known where it was not tested.
	P result.Value `json:"p,omitzero"`
}

// judge tests whether the values of each other side come from the distribution of base.
// All sides together find a difference where there is none with probability alpha at most:
// Holm, A Simple Sequentially Rejective Multiple Test Procedure, 1979.
func judge(base []float64, others [][]float64, c show.Column) []Verdict {
	// A side with too few runs even for a test of its own does not count in the adjustment.
	family := slices.DeleteFunc(slices.Clone(others), func(side []float64) bool { return criticalRank(len(base), len(side), alpha) < 0 })
	verdicts := make([]Verdict, len(others))
	var tested []*Verdict
	for i, side := range others {
		verdicts[i] = newVerdict(base, side, alpha/float64(max(1, len(family))), c)
		if verdicts[i].P.Known() {
			tested = append(tested, &verdicts[i])
		}
	}
	slices.SortFunc(tested, func(a, b *Verdict) int { return cmp.Compare(a.P, b.P) })
	adjusted := result.Value(0)
	for i, v := range tested {
		adjusted = max(adjusted, min(1, v.P*result.Value(len(tested)-i)))
		v.P = adjusted
		if adjusted >= alpha {
			v.Finding = NoDifference
		}
	}
	return verdicts
}

// newVerdict is on one side alone, tested if P can be below threshold with so many runs.
func newVerdict(base, side []float64, threshold float64, c show.Column) Verdict {
	v := Verdict{Finding: Unpaired, Change: result.Unknown(), P: result.Unknown()}
	if len(base) == 0 || len(side) == 0 {
		return v
	}
	from, to := estimate(base).Median, estimate(side).Median
	switch {
	case c.Unit == show.Share:
		v.Change = result.Value(to - from)
	case from != 0:
		v.Change = result.Value(to/from - 1)
	}
	switch {
	case len(base) == 1 && len(side) == 1:
		v.Finding = OneStart
		return v
	case criticalRank(len(base), len(side), threshold) < 0:
		v.Finding = TooFew
		return v
	case from == to:
		v.Finding = NoDifference
	case (to > from) == c.HigherIsBetter:
		v.Finding = Better
	default:
		v.Finding = Worse
	}
	v.P = result.Value(min(1, benchmath.AssumeNothing.Compare(sample(base), sample(side)).P))
	return v
}

// LeastRuns is how many runs of each of so many sides it takes to find any difference, however large.
func LeastRuns(sides int) int {
	runs := 1
	for criticalRank(runs, runs, alpha/float64(sides-1)) < 0 {
		runs++
	}
	return runs
}

// criticalRank is the greatest U whose P is below a threshold, below 0 where no P can be.
func criticalRank(n1, n2 int, threshold float64) int {
	u := stats.UDist{N1: n1, N2: n2}
	return sort.Search(n1*n2, func(rank int) bool { return 2*u.CDF(float64(rank)) >= threshold }) - 1
}

// interval bounds the true change from base, above 0, to side with a confidence of 1 - threshold:
// the changes between pairs of runs that the test does not exclude, and that of the medians.
func interval(base, side []float64, threshold float64) (low, high float64) {
	var changes []float64
	for _, b := range base {
		for _, s := range side {
			changes = append(changes, s/b-1)
		}
	}
	slices.Sort(changes)
	rank := criticalRank(len(base), len(side), threshold)
	change := estimate(side).Median/estimate(base).Median - 1
	return min(changes[rank], change), max(changes[len(changes)-1-rank], change)
}

// Gate is how much worse than on the first side a figure may be.
type Gate struct {
	openai.Objective        // Limit is a share of the first side's figure, of failures a difference of shares
	text             string // as given
}

// ParseGate reads how much greater a percentile may be (ttft:p90>5%), or by how many points failures may be (failures>0.1%).
func ParseGate(text string) (Gate, error) {
	figure, growth, _ := strings.Cut(strings.ReplaceAll(text, " ", ""), ">")
	o, err := openai.ParseObjective(figure + "<1s")
	if figure == string(openai.Failures) {
		o, err = openai.Objective{Measure: openai.Failures}, nil
	}
	percent, isPercent := strings.CutSuffix(growth, "%")
	limit, errLimit := strconv.ParseFloat(percent, 64)
	if err != nil || errLimit != nil || !isPercent || !(limit >= 0 && limit < math.Inf(1)) {
		return Gate{}, fmt.Errorf("%q: want ttft, tpot, itl or e2el, a percentile and by how much it may grow, such as ttft:p90>5%%, or failures>0.1%%", text)
	}
	o.Limit = limit / 100
	return Gate{o, text}, nil
}

func (g Gate) metric() string {
	if g.Measure == openai.Failures {
		return "failure_ratio"
	}
	return fmt.Sprintf("%s_p%g", g.Measure, g.Percentile)
}

// Check returns, in words, where a figure was found to be worse by more than a gate allows, and where that cannot be told,
// as of a level that a side did not run.
func (c *Comparison) Check(gates []Gate) (worse, undecided []string) {
	if len(gates) > 0 {
		undecided = slices.Clone(c.notRun)
	}
	for _, l := range c.Levels {
		for _, p := range l.Pairs {
			for _, g := range gates {
				at := slices.IndexFunc(p.Rows, func(r Row) bool { return r.Metric == g.metric() })
				about := fmt.Sprintf("%s, side %s against side %s, %s: ", l.Name, p.Side, p.Base, g.text)
				if at < 0 {
					undecided = append(undecided, about+"not measured")
					continue
				}
				switch r := p.Rows[at]; {
				case r.Finding == NoDifference, r.Finding == Better:
				case r.Finding != Worse, !r.Change.Known():
					undecided = append(undecided, about+string(r.Finding))
				case float64(r.Change) > g.Limit:
					worse = append(worse, about+r.text(r.column.Unit))
				}
			}
		}
	}
	return worse, undecided
}

// Bindings is what a level says of the sides where they are bindings of one server.
type Bindings struct {
	Level   string       `json:"level"`
	Verdict string       `json:"verdict"` // on TPOT p50, one sentence
	Rows    []BindingRow `json:"rows"`
}

// BindingRow is one binding, as a table of all has it.
type BindingRow struct {
	Side     string   `json:"side"`
	Binding  string   `json:"binding"`            // in words, such as bound to node 0
	Requests Estimate `json:"request_throughput"` // a second
	Latency  Estimate `json:"latency_mean"`       // s
	Output   Estimate `json:"output_throughput"`  // tokens a second
	TPOT     Estimate `json:"tpot_p50"`           // s
	// Found is what is found in TPOT p50 against the first binding, such as
	// "19.8 % [17.2 %, 21.6 %] faster", with the 95 % confidence interval; empty for the first.
	Found string `json:"found,omitempty"`

	change float64 // of TPOT p50, as a share of the first's; 0 where none is found
}

// addBindings sums each level up where all sides are bindings.
func (c *Comparison) addBindings() {
	if slices.ContainsFunc(c.Sides, func(s About) bool { return s.Binding == "" }) {
		return
	}
	picked := show.Pick(show.Columns(50, 99), "request_throughput", "e2el_mean", "output_throughput", "tpot_p50")
	for _, l := range c.Levels {
		b := Bindings{Level: l.Name}
		for i, s := range c.Sides {
			if len(l.runs[i]) == 0 {
				continue
			}
			row := BindingRow{Side: s.Name, Binding: s.Binding}
			for j, into := range []*Estimate{&row.Requests, &row.Latency, &row.Output, &row.TPOT} {
				*into = estimate(l.values(picked[j], i))
			}
			b.Rows = append(b.Rows, row)
		}
		b.conclude(picked[3])
		c.Bindings = append(c.Bindings, b)
	}
}

// conclude fills in what is found of each binding, and the verdict on all.
func (b *Bindings) conclude(tpot show.Column) {
	base, others := b.Rows[0].TPOT.Values, b.Rows[1:]
	var values [][]float64
	for _, r := range others {
		values = append(values, r.TPOT.Values)
	}
	var tested [][]float64
	for i, v := range judge(base, values, tpot) {
		r := &others[i]
		r.Found = string(v.Finding)
		if v.Finding == TooFew {
			r.Found = fmt.Sprintf("%d runs of each are needed", LeastRuns(len(b.Rows)))
		}
		if !v.P.Known() || !v.Change.Known() {
			continue
		}
		tested = append(tested, values[i])
		low, high := interval(base, values[i], alpha)
		switch v.Finding {
		case Better:
			r.Found = fmt.Sprintf("%.1f %% [%.1f %%, %.1f %%] faster", -100*v.Change, -100*high, -100*low)
		case Worse:
			r.Found = fmt.Sprintf("%.1f %% [%.1f %%, %.1f %%] slower", 100*v.Change, 100*low, 100*high)
		default:
			continue
		}
		r.change = float64(v.Change)
	}
	b.Verdict = b.verdict(tested)
}

// verdict is on the binding that gains most, else on the one that loses most, else that none
// differs; tested are the values of the bindings that were tested.
func (b *Bindings) verdict(tested [][]float64) string {
	byChange := func(x, y BindingRow) int { return cmp.Compare(x.change, y.change) }
	base, best, worst := b.Rows[0], slices.MinFunc(b.Rows, byChange), slices.MaxFunc(b.Rows, byChange)
	none := "no binding"
	if len(tested) < len(b.Rows)-1 {
		none = "no binding with enough runs"
	}
	switch {
	case len(tested) == 0:
		return fmt.Sprintf("too few runs with a TPOT p50 to tell the bindings apart: %d of each are needed", LeastRuns(len(b.Rows)))
	case best.change < 0:
		return fmt.Sprintf("%s is %s in TPOT p50 than %s", best.Binding, best.Found, base.Binding)
	case worst.change > 0:
		return fmt.Sprintf("%s is faster than %s in TPOT p50; %s is %s", none, base.Binding, worst.Binding, worst.Found)
	}
	most := 0.0
	for _, values := range tested {
		// Together these intervals hold the true changes with a probability of 95 %.
		low, high := interval(base.TPOT.Values, values, alpha/float64(len(tested)))
		most = max(most, math.Abs(low), math.Abs(high))
	}
	return fmt.Sprintf("%s differs from %s by more than %.1f %% in TPOT p50", none, base.Binding, 100*most)
}
