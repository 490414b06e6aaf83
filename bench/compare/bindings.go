package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// Bindings is what a level says of the sides where they are bindings of one server.
type Bindings struct {
	Level   string       `json:"level"`
	Verdict string       `json:"verdict"` // on TPOT p50, one sentence
	Rows    []BindingRow `json:"rows"`
}

// BindingRow is one binding, as a table of all has it.
type BindingRow struct {
	Side        string   `json:"side"`
	Binding     string   `json:"binding"`            // in words, such as bound to node 0
	Requests    Estimate `json:"request_throughput"` // a second
	Latency     Estimate `json:"latency_mean"`       // s
	Output      Estimate `json:"output_throughput"`  // tokens a second
	TPOT        Estimate `json:"tpot_p50"`           // s
	Recommended bool     `json:"recommended,omitempty"`
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
			row := BindingRow{Side: s.Name, Binding: s.Binding, Recommended: s.recommended}
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
