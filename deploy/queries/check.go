package queries

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// window stands for every range of an expression.
const window = 5 * time.Minute

// check evaluates an expression part by part. What is evaluated is not quite what is written, so that labels decide and
// not values or time: comparisons keep every series, "unless" and topk drop none, windows are short, and labels whose
// values are open take one that the golden series have.
type check struct {
	golden   *Golden
	problems []string
}

// part is a part of an expression: what is evaluated for it, and what that returns.
type part struct {
	expr   parser.Expr
	series promql.Vector // of a range, those at its end; none of a scalar
	broken bool          // by a problem that is noted: nothing is known of what is made of it
}

// Problems returns what is wrong with an expression, nil when nothing is. The labels are those that somebody takes from
// its result.
func (g *Golden) Problems(expr string, names ...string) []string {
	_, problems := g.evaluate(expr, names...)
	return problems
}

// evaluate returns the result of an expression too, none where there are problems.
func (g *Golden) evaluate(expr string, names ...string) (promql.Vector, []string) {
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return nil, []string{fmt.Sprintf("not PromQL: %v", err)}
	}
	c := &check{golden: g}
	result := c.part(e)
	has := labelNames(result.series)
	for _, name := range names {
		if !has[name] && !result.broken {
			c.problem("the result has no label %s, but %s", name, list(has))
		}
	}
	slices.Sort(c.problems)
	if len(c.problems) > 0 {
		return nil, slices.Compact(c.problems)
	}
	return result.series, nil
}

func (c *check) problem(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// part checks and evaluates an expression.
func (c *check) part(e parser.Expr) part {
	switch e := e.(type) {
	case *parser.ParenExpr:
		p := c.part(e.Expr)
		p.expr = &parser.ParenExpr{Expr: p.expr}
		return p
	case *parser.UnaryExpr:
		p := c.part(e.Expr)
		return c.evaluated(e, &parser.UnaryExpr{Op: e.Op, Expr: p.expr}, p)
	case *parser.VectorSelector:
		return c.selector(e)
	case *parser.MatrixSelector:
		p := c.part(e.VectorSelector)
		p.expr = &parser.MatrixSelector{VectorSelector: p.expr, Range: window}
		return p
	case *parser.SubqueryExpr:
		p := c.part(e.Expr)
		p.expr = &parser.SubqueryExpr{Expr: p.expr, Range: window, Step: step}
		return p
	case *parser.AggregateExpr:
		return c.aggregate(e)
	case *parser.BinaryExpr:
		return c.binary(e)
	case *parser.Call:
		return c.call(e)
	}
	return part{expr: e} // numbers and strings
}

// evaluated is the part that is made of others, as what the engine returns for it.
func (c *check) evaluated(written, expr parser.Expr, of ...part) part {
	p := part{expr: expr, broken: slices.ContainsFunc(of, func(p part) bool { return p.broken })}
	if p.broken || written.Type() != parser.ValueTypeVector {
		return p
	}
	a := c.golden.ask(expr, now())
	for _, warning := range a.warnings {
		c.problem("%s: %s", written, warning)
	}
	switch {
	case a.err != nil:
		c.problem("%s: %v", written, a.err)
	case len(a.series) == 0:
		var operands []string
		for _, p := range of {
			operands = append(operands, list(labelNames(p.series)))
		}
		c.problem("%s never returns anything; the labels of what it is made of are: %s", written, strings.Join(operands, "; "))
	}
	p.series, p.broken = a.series, a.err != nil || len(a.series) == 0
	return p
}

// answer is what the engine returns.
type answer struct {
	series   promql.Vector
	warnings []string
	err      error
}

// ask lets Prometheus' engine evaluate. The same parts stand in many expressions, so answers are kept.
func (g *Golden) ask(e parser.Expr, at time.Time) answer {
	key := fmt.Sprint(e, at.UnixMilli())
	g.mu.Lock()
	a, ok := g.answers[key]
	g.mu.Unlock()
	if ok {
		return a
	}
	a = g.exec(e.String(), at)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.answers[key] = a
	return a
}

func (g *Golden) exec(expr string, at time.Time) answer {
	ctx := context.Background()
	q, err := g.engine.NewInstantQuery(ctx, g.queryable(), nil, expr, at)
	if err != nil {
		return answer{err: err}
	}
	defer q.Close()
	result := q.Exec(ctx)
	if result.Err != nil {
		return answer{err: result.Err}
	}
	warnings, _ := result.Warnings.AsStrings("", 0, 0)
	v, err := result.Vector()
	return answer{slices.Clone(v), warnings, err}
}

// grows reports whether the values of a part, or of what a range is of, are higher than before: those of counters.
func (c *check) grows(p part) bool {
	e := p.expr
	switch of := e.(type) {
	case *parser.MatrixSelector:
		e = of.VectorSelector
	case *parser.SubqueryExpr:
		e = of.Expr
	}
	before, after := c.golden.ask(e, now().Add(-window)), c.golden.ask(e, now())
	value := func(s promql.Sample) float64 {
		if s.H != nil {
			return s.H.Count
		}
		return s.F
	}
	was := map[uint64]float64{}
	for _, s := range before.series {
		was[s.Metric.Hash()] = value(s)
	}
	return len(after.series) > 0 && !slices.ContainsFunc(after.series, func(s promql.Sample) bool { return !(value(s) > was[s.Metric.Hash()]) })
}

// aggregate checks what is grouped.
func (c *check) aggregate(e *parser.AggregateExpr) part {
	var param part
	if e.Param != nil {
		param = c.part(e.Param)
	}
	all := c.part(e.Expr)
	if !all.broken {
		has := labelNames(all.series)
		for _, label := range e.Grouping {
			if !has[label] {
				c.problem("%s groups by %s, which is no label of %s: those are %s", e.Op, label, e.Expr, list(has))
			}
		}
	}
	switch e.Op {
	case parser.TOPK, parser.BOTTOMK, parser.LIMITK, parser.LIMIT_RATIO: // the series themselves
		all.expr, all.broken = &parser.ParenExpr{Expr: all.expr}, all.broken || param.broken
		return all
	}
	c.mixed(e, all.series)
	made := *e
	made.Expr = all.expr
	if e.Param != nil {
		made.Param = param.expr
	}
	return c.evaluated(e, &made, all, param)
}

// mixed checks that what is left tells card 0 of one host from that of another, and so for targets. A bench's or a
// server's target is not local: that is an address, or the name that an operator gave to several servers.
func (c *check) mixed(e *parser.AggregateExpr, all promql.Vector) {
	if !slices.ContainsFunc(c.jobs(e.Expr), func(job string) bool { return job != Bench && job != VLLM }) {
		return
	}
	for label, owners := range map[string][]string{"device": {"instance", "vendor"}, "target": {"instance"}} {
		for _, owner := range owners {
			seen := map[string]string{} // by what is left
			for _, s := range all {
				left := s.Metric.MatchLabels(!e.Without, e.Grouping...)
				value := s.Metric.Get(owner)
				if left.Get(label) == "" || value == "" {
					continue
				}
				group := left.String()
				if other, ok := seen[group]; ok && other != value {
					c.problem("%s keeps %s and not %s: it mixes what differs in %s alone", e, label, owner, owner)
					break
				}
				seen[group] = value
			}
		}
	}
}

// binary checks that both sides can match.
func (c *check) binary(e *parser.BinaryExpr) part {
	left, right := c.part(e.LHS), c.part(e.RHS)
	made := *e
	made.LHS, made.RHS = left.expr, right.expr
	if e.Op.IsComparisonOperator() {
		made.ReturnBool = true
		c.bound(e, left, e.RHS)
		c.bound(e, right, e.LHS)
	}
	if left.broken || right.broken || e.VectorMatching == nil || e.Op == parser.LOR && !e.VectorMatching.On {
		return c.evaluated(e, &made, left, right)
	}
	c.matching(e, left.series, right.series)
	if e.Op != parser.LUNLESS {
		return c.evaluated(e, &made, left, right)
	}
	made.Op = parser.LAND
	c.evaluated(e, &made, left, right) // or nothing would ever be excepted
	return part{expr: &parser.ParenExpr{Expr: left.expr}, series: left.series}
}

// bound checks the number that a ratio is compared with.
func (c *check) bound(e *parser.BinaryExpr, p part, number parser.Expr) {
	n, ok := number.(*parser.NumberLiteral)
	if ok && n.Val > 1 && len(p.series) > 0 && !slices.ContainsFunc(p.series, func(s promql.Sample) bool { return s.F != ratio }) {
		c.problem("%s compares a ratio, which is 1 at most, with %s", e, n)
	}
}

// matching checks the labels by which two sides are matched.
func (c *check) matching(e *parser.BinaryExpr, left, right promql.Vector) {
	m := e.VectorMatching
	has, hasRight := labelNames(left), labelNames(right)
	one, hasOne := "right", hasRight
	if m.Card == parser.CardOneToMany {
		one, hasOne = "left", has
	}
	for _, label := range m.MatchingLabels {
		if !has[label] && !hasRight[label] {
			c.problem("%s is matched by %s, and neither side has it: %s; %s", e, label, list(has), list(hasRight))
		}
	}
	for _, label := range m.Include {
		if !hasOne[label] {
			c.problem("%s takes %s from the %s side, which has no such label, but %s", e, label, one, list(hasOne))
		}
	}
	jobs := c.jobs(e.LHS)
	if e.Op == parser.LOR || m.On && len(m.MatchingLabels) == 0 || len(jobs) != 1 || !slices.Equal(jobs, c.jobs(e.RHS)) {
		return // on () says that it does not matter which
	}
	c.owner(e, "instance", left, right)
	if slices.Contains(m.MatchingLabels, "device") == m.On {
		c.owner(e, "vendor", left, right)
	}
}

// jobs are those whose series an expression selects.
func (c *check) jobs(e parser.Expr) []string {
	found := map[string]bool{}
	for _, s := range selectors(e) {
		for _, of := range c.golden.metrics[s.Name] {
			found[of.Metric.Get("job")] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// owner checks that two sides of one job that both tell whose they are are matched by it.
func (c *check) owner(e *parser.BinaryExpr, label string, left, right promql.Vector) {
	m := e.VectorMatching
	rights := map[string]promql.Vector{}
	for _, s := range right {
		key := s.Metric.MatchLabels(m.On, m.MatchingLabels...).String()
		rights[key] = append(rights[key], s)
	}
	for _, s := range left {
		for _, other := range rights[s.Metric.MatchLabels(m.On, m.MatchingLabels...).String()] {
			if mine, its := s.Metric.Get(label), other.Metric.Get(label); mine != "" && its != "" && mine != its {
				c.problem("%s matches cards or targets that differ in %s: that is not matched", e, label)
				return
			}
		}
	}
}

func list(names map[string]bool) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

// text is what a string of an expression says.
func text(e parser.Expr) string {
	if s, ok := e.(*parser.StringLiteral); ok {
		return s.Val
	}
	return ""
}

// nothing is a selector that no series fits, with the labels that absent makes of the one given.
func nothing(of *parser.VectorSelector) *parser.VectorSelector {
	const name = "nothing"
	s := &parser.VectorSelector{Name: name, LabelMatchers: []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, name)}}
	for _, m := range of.LabelMatchers {
		if m.Name != model.MetricNameLabel {
			s.LabelMatchers = append(s.LabelMatchers, m)
		}
	}
	return s
}
