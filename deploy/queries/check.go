package queries

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// Checker holds expressions against a catalogue. It finds, for certain:
//
//   - metrics, labels and values of closed labels that do not exist;
//   - labels in by, without, on, ignoring and group_left that no series there has;
//   - two sides of an operator that never match, since one side always has a label
//     that the other never has;
//   - cards or targets of one exporter matched without their instance;
//   - rate and the like of what is no counter, delta and averages of counters;
//   - quantiles of what is no histogram, or of one that lost its le.
//
// It does not find sides that match too often, nor values of open labels such as
// device: those depend on the machine.
type Checker struct {
	catalogue *Catalogue
	problems  []string
}

// Problems returns what is wrong with an expression, nil when nothing is. The
// labels are those that somebody takes from its result.
func (c *Catalogue) Problems(expr string, labels ...string) []string {
	s, problems := c.infer(expr)
	for _, label := range labels {
		if !s.may(label) {
			problems = append(problems, fmt.Sprintf("the result has no label %s, but %s", label, s))
		}
	}
	return problems
}

// infer parses and walks an expression.
func (c *Catalogue) infer(expr string) (shape, []string) {
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return shape{open: true}, []string{fmt.Sprintf("not PromQL: %v", err)}
	}
	k := &Checker{catalogue: c}
	s := k.walk(e)
	slices.Sort(k.problems)
	return s, slices.Compact(k.problems)
}

func (k *Checker) problem(format string, args ...any) {
	k.problems = append(k.problems, fmt.Sprintf(format, args...))
}

// shape is what is known of a result.
type shape struct {
	labels  labelSet
	open    bool // other labels may be there too
	kind    Kind // "" where values are no metric's any more
	origins map[string]bool
	scalar  bool
}

// may tells whether some series may have the label.
func (s shape) may(label string) bool {
	_, ok := s.labels[label]
	return ok || s.open
}

// String lists the labels.
func (s shape) String() string {
	if len(s.labels) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(s.labels)), ", ")
}

// with is s with other labels.
func (s shape) with(labels labelSet) shape {
	s.labels = labels
	return s
}

// without is s with fewer labels.
func (s shape) without(names ...string) shape {
	labels := maps.Clone(s.labels)
	for _, name := range names {
		delete(labels, name)
	}
	return s.with(labels)
}

// keep is s with no more than the labels named. Of an open shape they may all be there.
func (s shape) keep(names ...string) shape {
	labels := labelSet{}
	for _, name := range names {
		if always, ok := s.labels[name]; ok || s.open {
			labels[name] = always
		}
	}
	s.open = false
	return s.with(labels)
}

// either is a result whose series come from both.
func either(a, b shape) shape {
	both := shape{labels: labelSet{}, open: a.open || b.open, origins: maps.Clone(a.origins), kind: a.kind}
	if both.origins == nil {
		both.origins = map[string]bool{}
	}
	maps.Copy(both.origins, b.origins)
	for _, s := range []shape{a, b} {
		for label := range s.labels {
			both.labels[label] = a.labels[label] && b.labels[label]
		}
	}
	if a.kind != b.kind {
		both.kind = ""
	}
	return both
}

// walk infers the shape of an expression and notes its problems.
func (k *Checker) walk(e parser.Expr) shape {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return k.walk(e.Expr)
	case *parser.StepInvariantExpr:
		return k.walk(e.Expr)
	case *parser.UnaryExpr:
		s := k.walk(e.Expr)
		s.kind = ""
		return s
	case *parser.SubqueryExpr:
		return k.walk(e.Expr)
	case *parser.MatrixSelector:
		return k.walk(e.VectorSelector)
	case *parser.VectorSelector:
		return k.selector(e)
	case *parser.AggregateExpr:
		return k.aggregate(e)
	case *parser.BinaryExpr:
		return k.binary(e)
	case *parser.Call:
		return k.call(e)
	}
	return shape{scalar: true} // numbers and strings
}

func (k *Checker) aggregate(e *parser.AggregateExpr) shape {
	if e.Param != nil {
		k.walk(e.Param)
	}
	s := k.walk(e.Expr)
	for _, label := range e.Grouping {
		if !s.may(label) {
			k.problem("%s groups by %s, which is no label of %s: those are %s", e.Op, label, e.Expr, s)
		}
	}
	switch e.Op {
	case parser.TOPK, parser.BOTTOMK, parser.LIMITK, parser.LIMIT_RATIO:
		return s // the series themselves
	case parser.SUM, parser.AVG:
		if s.kind != Bucket && s.kind != Buckets && s.kind != Native {
			s.kind = ""
		}
	default:
		s.kind = ""
	}
	if e.Without {
		s = s.without(e.Grouping...)
	} else {
		s = s.keep(e.Grouping...)
	}
	if e.Op == parser.COUNT_VALUES {
		if name, ok := e.Param.(*parser.StringLiteral); ok {
			s.labels[name.Val] = true
		}
	}
	return s
}
