package queries

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// checker holds expressions against a catalogue. It finds, for certain:
//
//   - metrics, labels and values of closed labels that do not exist, each alternative
//     of a regular expression for itself, and values that never occur together;
//   - jobs that do not export the metric;
//   - labels in by, without, on, ignoring and group_left that no series there has;
//   - two sides of an operator that never match, since one side always has a label
//     that the other never has;
//   - cards or targets matched or aggregated without their instance, cards also without
//     their vendor, where a selector does not ask for a single one;
//   - rate and the like of what is no counter, delta and averages of counters;
//   - quantiles of what is no histogram, of one that lost its le, of one since the
//     start of a program, and levels outside 0 to 1;
//   - exported ratios held against a number above 1.
//
// It does not find, since it would have to guess:
//
//   - values of open labels such as device, and the job of what a rule records;
//   - bars inside the brackets of a regular expression, and boundaries asked for by one
//     that is more than a list;
//   - sums over nodes, slices and processes of several hosts, which may be meant;
//   - quantiles of a native histogram since the start of a program.
//
// Sides that match too often show where series are doubled: TestTwoPods evaluates.
type checker struct {
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
	k := &checker{catalogue: c}
	s := k.walk(e)
	slices.Sort(k.problems)
	return s, slices.Compact(k.problems)
}

func (k *checker) problem(format string, args ...any) {
	k.problems = append(k.problems, fmt.Sprintf(format, args...))
}

// shape is what is known of a result.
type shape struct {
	labels  labelSet
	open    bool // other labels may be there too
	kind    Kind // "" where values are no metric's any more
	origins map[string]bool
	fixed   map[string]string // labels with one and the same value everywhere
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
	both.fixed = maps.Clone(a.fixed)
	maps.DeleteFunc(both.fixed, func(label, value string) bool { return b.fixed[label] != value })
	if a.kind != b.kind {
		both.kind = ""
	}
	return both
}

// walk infers the shape of an expression and notes its problems.
func (k *checker) walk(e parser.Expr) shape {
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
