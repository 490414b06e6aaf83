package compare

import (
	"fmt"
	"math"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// Of alpha, the recommended binding has so much, since it is what is asked about, and
// all others share the rest: at least one of many would else differ by chance too often.
const recommendedShare = 2.0 / 3

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
}

// bindingOf is how a side's server was bound; empty where it was not started by a
// comparison of bindings.
func bindingOf(s Side) runlog.Server {
	server := s.Reports[0].Runs[0].Server
	if server == nil {
		return runlog.Server{}
	}
	return runlog.Server{Binding: show.Clean(server.Binding), Recommended: server.Recommended}
}

// addBindings sums each level up where all sides are bindings.
func (c *Comparison) addBindings(sides []Side) {
	if slices.ContainsFunc(sides, func(s Side) bool { return bindingOf(s).Binding == "" }) {
		return
	}
	picked := show.Pick(columns(), "request_throughput", "e2el_mean", "output_throughput", "tpot_p50")
	for _, l := range c.Levels {
		b := Bindings{Level: l.Name}
		for i, s := range sides {
			if len(l.runs[i]) == 0 {
				continue
			}
			server := bindingOf(s)
			row := BindingRow{Side: s.Name, Binding: server.Binding, Recommended: server.Recommended}
			for j, into := range []*Estimate{&row.Requests, &row.Latency, &row.Output, &row.TPOT} {
				*into = estimate(l.values(picked[j], i))
			}
			b.Rows = append(b.Rows, row)
		}
		b.Verdict = conclude(b.Rows, picked[3])
		c.Bindings = append(c.Bindings, b)
	}
}

// change is what a binding does to TPOT p50, as a share of that of the first.
type change struct {
	to            string // the binding
	by, low, high float64
}

// conclude is the verdict on all bindings: the one that gains most, else the one that
// loses most, else that none differs. One with too few runs keeps it from no other.
func conclude(rows []BindingRow, tpot show.Column) string {
	base := rows[0]
	var best, worst change
	tested, most := false, 0.0
	for _, r := range rows[1:] {
		v := judge(base.TPOT.Values, r.TPOT.Values, tpot)
		if v.P == nil || v.Change == nil {
			continue
		}
		c := change{to: r.Binding, by: *v.Change}
		c.low, c.high = interval(base.TPOT.Values, r.TPOT.Values, c.by)
		tested, most = true, max(most, math.Abs(c.low), math.Abs(c.high))
		switch found := *v.P < significance(rows[1:], r.Recommended); {
		case found && c.by < best.by:
			best = c
		case found && c.by > worst.by:
			worst = c
		}
	}
	switch {
	case !tested:
		return "too few runs to tell the bindings apart: 4 of each are needed, and 5 are better"
	case best.by < 0:
		return fmt.Sprintf("%s is %.1f %% [%.1f %%, %.1f %%] faster in TPOT p50 than %s", best.to, -100*best.by, -100*best.high, -100*best.low, base.Binding)
	case worst.by > 0:
		return fmt.Sprintf("no binding is faster than %s in TPOT p50; %s is %.1f %% [%.1f %%, %.1f %%] slower", base.Binding, worst.to, 100*worst.by, 100*worst.low, 100*worst.high)
	}
	return fmt.Sprintf("no binding differs from %s by more than %.1f %% in TPOT p50", base.Binding, 100*most)
}

// significance is the share of alpha for the test of one of the bindings that are held
// against the first.
func significance(others []BindingRow, recommended bool) float64 {
	n := float64(len(others))
	among := slices.ContainsFunc(others, func(r BindingRow) bool { return r.Recommended })
	switch {
	case !among || n == 1:
		return alpha / n
	case recommended:
		return alpha * recommendedShare
	}
	return alpha * (1 - recommendedShare) / (n - 1)
}
