package queries

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// call checks a function's arguments.
func (c *check) call(e *parser.Call) part {
	args := make([]part, len(e.Args))
	made := *e
	made.Args = nil
	broken := false
	for i, arg := range e.Args {
		args[i] = c.part(arg)
		made.Args = append(made.Args, args[i].expr)
		broken = broken || args[i].broken
	}
	if broken {
		return part{expr: &made, broken: true}
	}
	switch e.Func.Name {
	case "rate", "irate", "increase", "resets":
		c.counter(e, args[0])
	case "delta", "idelta", "deriv", "predict_linear", "avg_over_time", "sum_over_time", "stddev_over_time", "stdvar_over_time":
		c.noCounter(e, args[0])
	case "quantile_over_time":
		c.noCounter(e, args[1])
	case "histogram_quantile":
		c.quantile(e, args[1])
	case "label_replace":
		c.reads(e, args[0].series, e.Args[3])
	case "label_join":
		c.reads(e, args[0].series, e.Args[3:]...)
	case "absent", "absent_over_time":
		return c.absent(e)
	}
	return c.evaluated(e, &made, args...)
}

// counter checks that values only grow, and are a metric's own: a sum of counters falls where one of them goes away.
func (c *check) counter(e *parser.Call, arg part) {
	computed := false
	if sub, ok := e.Args[0].(*parser.SubqueryExpr); ok {
		_, selected := sub.Expr.(*parser.VectorSelector)
		computed = !selected
	}
	if computed {
		c.problem("%s is of a computed value, not of a counter", e)
	} else if !c.grows(arg) {
		c.problem("%s is of values that do not grow, not of a counter", e)
	}
}

// noCounter checks that values may fall too.
func (c *check) noCounter(e *parser.Call, arg part) {
	if c.grows(arg) && !slices.ContainsFunc(arg.series, func(s promql.Sample) bool { return s.H != nil }) {
		c.problem("%s is of a counter, which only grows: take its rate", e)
	}
}

// quantile checks that what it is of are buckets, of a time that is meant. The engine itself warns of lost boundaries.
func (c *check) quantile(e *parser.Call, arg part) {
	parser.Inspect(e.Args[1], func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.AggregateExpr:
			adds := []parser.ItemType{parser.SUM, parser.AVG, parser.TOPK, parser.BOTTOMK, parser.LIMITK, parser.LIMIT_RATIO}
			if hasBuckets(n.Expr) && !slices.Contains(adds, n.Op) {
				c.problem("%s of buckets is a computed value, and no histogram's buckets", n.Op)
			}
		case *parser.BinaryExpr:
			arithmetic := !n.Op.IsSetOperator() && !n.Op.IsComparisonOperator() && n.Op != parser.ADD
			if arithmetic && hasBuckets(n.LHS) && hasBuckets(n.RHS) && !isGrowth(n) {
				c.problem("%s is a computed value, and no histogram's buckets", n)
			}
		}
		return nil
	})
	// A bench's histograms are of one step: what they hold since its start is the result.
	if hasBuckets(e.Args[1]) && !slices.Equal(c.jobs(e.Args[1]), []string{Bench}) && c.grows(arg) {
		c.problem("%s is of all since the start of the program: take the buckets' rate", e)
	}
}

// hasBuckets reports whether an expression selects classic buckets.
func hasBuckets(e parser.Expr) bool {
	return slices.ContainsFunc(selectors(e), func(s *parser.VectorSelector) bool { return strings.HasSuffix(s.Name, "_bucket") })
}

// selectors are those of an expression.
func selectors(e parser.Expr) []*parser.VectorSelector {
	var all []*parser.VectorSelector
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			all = append(all, s)
		}
		return nil
	})
	return all
}

// isGrowth reports whether an earlier value of a selector is taken from its present one.
func isGrowth(e *parser.BinaryExpr) bool {
	now, isNow := e.LHS.(*parser.VectorSelector)
	before, isBefore := e.RHS.(*parser.VectorSelector)
	if e.Op != parser.SUB || !isNow || !isBefore || before.OriginalOffset <= now.OriginalOffset {
		return false
	}
	shifted := *before
	shifted.OriginalOffset = now.OriginalOffset
	return shifted.String() == now.String()
}

// reads checks that the labels which a function reads are there.
func (c *check) reads(e *parser.Call, of promql.Vector, sources ...parser.Expr) {
	has := labelNames(of)
	for _, source := range sources {
		if name := text(source); name != "" && !has[name] {
			c.problem("%s reads %s, which is no label of its argument: those are %s", e, name, list(has))
		}
	}
}

// absent evaluates for something that is absent.
func (c *check) absent(e *parser.Call) part {
	made := *e
	switch arg := e.Args[0].(type) {
	case *parser.VectorSelector:
		made.Args = parser.Expressions{nothing(arg)}
	case *parser.MatrixSelector:
		made.Args = parser.Expressions{&parser.MatrixSelector{VectorSelector: nothing(arg.VectorSelector.(*parser.VectorSelector)), Range: window}}
	default:
		return c.evaluated(e, &parser.Call{Func: parser.Functions["vector"], Args: parser.Expressions{&parser.NumberLiteral{Val: 1}}})
	}
	return c.evaluated(e, &made)
}
