package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

// Of alpha, the recommended binding has so much, since it is what is asked about, and
// all others share the rest: at least one of many would else differ by chance too often.
const recommendedShare = 2.0 / 3

// Bindings is what a level says of the sides where they are bindings of one server.
type Bindings struct {
	Level   string       `json:"level"`
	Metric  string       `json:"metric"`  // that the verdict is about, such as tpot_p50
	Verdict string       `json:"verdict"` // one sentence
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

// bindingOf is what a side was bound to, and whether that was recommended; empty where
// its server was not started by a comparison of bindings.
func bindingOf(s Side) (binding string, recommended bool) {
	for _, r := range s.Reports {
		for _, run := range r.Runs {
			if run.Server != nil {
				return run.Server.Binding, run.Server.Recommended
			}
		}
	}
	return "", false
}

// addBindings sums each level up where all sides are bindings.
func (c *Comparison) addBindings(sides []Side) {
	for _, s := range sides {
		if binding, _ := bindingOf(s); binding == "" {
			return
		}
	}
	picked := show.Pick(columns(), "request_throughput", "e2el_mean", "output_throughput", "tpot_p50")
	for _, l := range c.Levels {
		b := Bindings{Level: l.Name}
		for i, s := range sides {
			if len(l.runs[i]) == 0 {
				continue
			}
			row := BindingRow{Side: s.Name}
			row.Binding, row.Recommended = bindingOf(s)
			for j, into := range []*Estimate{&row.Requests, &row.Latency, &row.Output, &row.TPOT} {
				*into = estimate(l.values(picked[j], i))
			}
			b.Rows = append(b.Rows, row)
		}
		b.Metric, b.Verdict = c.conclude(b.Rows, l.Pairs)
		c.Bindings = append(c.Bindings, b)
	}
}

// gain is what a binding does beside the first side.
type gain struct {
	to         string  // the binding
	by         float64 // how much faster, below 0 for slower, as a share
	low, high  float64 // of the 95 % interval of by
	found      bool    // more than chance
	otherLoads bool
}

// conclude is the verdict on all bindings, by the first metric that all have.
func (c *Comparison) conclude(rows []BindingRow, pairs []Pair) (metric, verdict string) {
	var without []string
	for _, n := range c.NotStarted {
		without = append(without, n.Binding)
	}
	suffix := ""
	if len(without) > 0 {
		suffix = "; not started: " + strings.Join(without, ", ")
	}
	for _, metric := range []string{"tpot_p50", "e2el_p50", "output_throughput"} {
		gains, label, enough := c.gains(metric, rows, pairs)
		switch {
		case !enough:
			return metric, "too few runs to tell the bindings apart: 4 of each are needed, and 5 are better" + suffix
		case len(gains) > 0:
			return metric, sentence(gains, rows[0].Binding, label) + suffix
		}
	}
	return "", "no binding can be judged: the sides have neither latencies nor throughput in common" + suffix
}

// gains are what each binding does to one metric, none where a side lacks it; enough is
// false where there are too few runs. A side that was given up with too few runs keeps
// the verdict from no other.
func (c *Comparison) gains(metric string, rows []BindingRow, pairs []Pair) (gains []gain, label string, enough bool) {
	for _, p := range pairs {
		at := slices.IndexFunc(p.Rows, func(r Row) bool { return r.Metric == metric })
		if at < 0 || p.Rows[at].Change == nil {
			return nil, "", true
		}
		row := p.Rows[at]
		if row.Finding == TooFew {
			if slices.ContainsFunc(c.NotStarted, func(n NotStarted) bool { return n.Side == p.Side }) {
				continue
			}
			return nil, "", false
		}
		binding := rows[slices.IndexFunc(rows, func(r BindingRow) bool { return r.Side == p.Side })]
		g := gain{to: binding.Binding, by: *row.Change, otherLoads: len(p.Warnings) > 0}
		g.low, g.high = interval(row.Base.Values, row.Side.Values, g.by)
		if !row.column.HigherIsBetter {
			g.by, g.low, g.high = -g.by, -g.high, -g.low
		}
		g.found = row.P != nil && *row.P < significance(rows, binding.Recommended) && g.by != 0
		gains = append(gains, g)
		label = row.column.Head
	}
	return gains, label, true
}

// significance is the share of alpha for the test of one binding.
func significance(rows []BindingRow, recommended bool) float64 {
	others := 0
	for _, r := range rows[1:] {
		if !r.Recommended {
			others++
		}
	}
	switch {
	case recommended:
		return alpha * recommendedShare
	case others == len(rows)-1: // none is recommended
		return alpha / float64(others)
	}
	return alpha * (1 - recommendedShare) / float64(others)
}

// sentence is the verdict: the binding that gains most, else the one that loses most,
// else that none differs.
func sentence(gains []gain, base, label string) string {
	var best, worst gain
	most := 0.0
	for _, g := range gains {
		most = max(most, math.Abs(g.low), math.Abs(g.high))
		if g.found && g.by > best.by {
			best = g
		}
		if g.found && g.by < worst.by {
			worst = g
		}
	}
	const change = "%s is %.1f %% [%.1f %%, %.1f %%] %s in %s than %s%s"
	switch {
	case best.found:
		return fmt.Sprintf(change, best.to, 100*best.by, 100*best.low, 100*best.high, "faster", label, base, best.caution())
	case worst.found:
		return fmt.Sprintf("no binding is faster than %s in %s; "+change, base, label,
			worst.to, -100*worst.by, -100*worst.high, -100*worst.low, "slower", label, base, worst.caution())
	}
	return fmt.Sprintf("no binding differs from %s by more than %.1f %% in %s", base, 100*most, label)
}

// caution ends the verdict on sides that were not under the same load.
func (g gain) caution() string {
	if g.otherLoads {
		return ", but the two were not under the same load: read the warnings"
	}
	return ""
}
