package compare

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
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
func bindingOf(s Side) (words string, recommended bool) {
	for _, r := range s.Reports {
		for _, run := range r.Runs {
			if run.Server == nil || run.Server.Binding == "" {
				return "", false
			}
			words, recommended = run.Server.Binding, run.Server.Recommended
		}
	}
	return words, recommended
}

// addBindings sums a level up where all sides are bindings.
func (c *Comparison) addBindings(sides []Side, l level, out Level) {
	b := Bindings{Level: l.name}
	for i, s := range sides {
		words, recommended := bindingOf(s)
		if words == "" {
			return
		}
		if len(l.runs[i]) == 0 {
			continue
		}
		of := func(key string) Estimate { return estimate(values(columnOf(key), l.runs[i], l.steady())) }
		b.Rows = append(b.Rows, BindingRow{
			Side: s.Name, Binding: words, Recommended: recommended, Requests: of("request_throughput_rps"),
			Latency: of("latency_s"), Output: of("output_throughput_tok_s"), TPOT: of("tpot_p50_ms"),
		})
	}
	judged, without := c.judged(b.Rows)
	b.Metric, b.Verdict = conclude(judged, out.Pairs)
	if len(without) > 0 {
		b.Verdict += "; not started: " + strings.Join(without, ", ")
	}
	c.Bindings = append(c.Bindings, b)
}

// judged are the bindings that the verdict is about, and without those that were given up
// with too few runs to tell anything: they do not keep it from the others.
func (c *Comparison) judged(rows []BindingRow) (judged []BindingRow, without []string) {
	judged = slices.Clone(rows)
	for _, n := range c.NotStarted {
		at := slices.IndexFunc(judged, func(r BindingRow) bool { return r.Side == n.Side })
		if at >= 0 && enough(len(rows[0].Requests.Values), len(judged[at].Requests.Values)) {
			continue
		}
		without = append(without, n.Binding)
		if at >= 0 {
			judged = slices.Delete(judged, at, at+1)
		}
	}
	return judged, without
}

// columnOf is a column of a report by its key.
func columnOf(key string) result.Column {
	columns := slices.Concat(result.WindowColumns(), result.MainColumns([]float64{50}))
	return columns[slices.IndexFunc(columns, func(c result.Column) bool { return c.Key == key })]
}

// gain is what a binding does beside the first side.
type gain struct {
	to       string  // the binding
	by       float64 // how much faster, below 0 for slower, as a share
	low      float64 // of the 95 % interval of by
	high     float64
	told     bool // more than chance
	doubtful bool
	few      bool // too few runs to tell anything
}

// conclude is the verdict on all bindings, by the first metric that all have.
func conclude(rows []BindingRow, pairs []Pair) (metric, verdict string) {
	if len(rows) < 2 {
		return "", "no binding can be judged: too few runs of any"
	}
	for _, metric := range []string{"tpot_p50", "e2el_p50", "output_throughput"} {
		if gains, label := gainsOf(metric, rows, pairs); len(gains) > 0 {
			return metric, sentence(gains, rows[0].Binding, label)
		}
	}
	return "", "no binding can be judged: the sides have neither latencies nor throughput in common"
}

// gainsOf is what each binding does to one metric, none where a side lacks it.
func gainsOf(metric string, rows []BindingRow, pairs []Pair) (gains []gain, label string) {
	level := func(recommended bool) float64 {
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
	for _, p := range pairs {
		at := slices.IndexFunc(p.Rows, func(r Row) bool { return r.Metric == metric })
		side := slices.IndexFunc(rows, func(r BindingRow) bool { return r.Side == p.Side })
		if side < 0 {
			continue // not judged
		}
		if at < 0 || p.Rows[at].Finding == Unpaired || p.Rows[at].Change == nil {
			return nil, ""
		}
		row := p.Rows[at]
		g := gain{to: rows[side].Binding, by: *row.Change, doubtful: p.Doubtful, few: row.Finding == TooFew}
		g.low, g.high = interval(row.Base.Values, row.Side.Values, g.by)
		if metric != "output_throughput" { // the lower the better
			g.by, g.low, g.high = -g.by, -g.high, -g.low
		}
		g.told = row.P != nil && *row.P < level(rows[side].Recommended) && g.by != 0
		gains = append(gains, g)
		label, _, _ = strings.Cut(row.label, ",")
	}
	return gains, label
}

// interval bounds the true change from base to side with 95 % confidence: the changes
// that the Mann-Whitney test does not exclude, of those between all pairs of runs. It
// holds the change that is told.
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
	low, high = changes[0], changes[len(changes)-1]
	if enough(len(base), len(side)) {
		k := critical(len(base), len(side))
		low, high = changes[len(changes)-k], changes[k-1]
	}
	return min(low, change), max(high, change)
}

// sentence is the verdict: the binding that gains most, else those that lose, else that
// none differs.
func sentence(gains []gain, base, label string) string {
	if slices.ContainsFunc(gains, func(g gain) bool { return g.few }) {
		return "too few runs to tell the bindings apart: 4 of each are needed, and 5 are better"
	}
	best, worst, most := -1, -1, 0.0
	for i, g := range gains {
		most = max(most, math.Abs(g.low), math.Abs(g.high))
		switch {
		case !g.told:
		case g.by > 0 && (best < 0 || g.by > gains[best].by):
			best = i
		case g.by < 0 && (worst < 0 || g.by < gains[worst].by):
			worst = i
		}
	}
	switch {
	case best >= 0:
		return gains[best].text("faster", base, label)
	case worst >= 0:
		return fmt.Sprintf("no binding is faster than %s in %s; ", base, label) + gains[worst].text("slower", base, label)
	}
	return fmt.Sprintf("no binding differs from %s by more than %s %% in %s", base, figure(100*most, 2), label)
}

// text is one binding's gain or loss, with its interval.
func (g gain) text(word, base, label string) string {
	by, low, high := g.by, g.low, g.high
	if by < 0 {
		by, low, high = -by, -high, -low
	}
	text := fmt.Sprintf("%s is %s %% [%s %%, %s %%] %s in %s than %s", g.to, figure(100*by, 2), figure(100*low, 2), figure(100*high, 2), word, label, base)
	if g.doubtful {
		text += ", but the two were not under the same load or settings: read the warnings"
	}
	return text
}
