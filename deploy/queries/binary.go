package queries

import (
	"maps"
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
)

// binary checks that both sides can match, and infers what labels are left.
func (k *Checker) binary(e *parser.BinaryExpr) shape {
	left, right := k.walk(e.LHS), k.walk(e.RHS)
	kind := kindOf(e, left, right)
	switch {
	case left.scalar && right.scalar:
		return left
	case right.scalar:
		left.kind = kind
		return left
	case left.scalar:
		right.kind = kind
		return right
	}
	k.matching(e, left, right)
	m := e.VectorMatching
	switch e.Op {
	case parser.LAND, parser.LUNLESS:
		return left
	case parser.LOR:
		return either(left, right)
	}
	s := left
	if m.Card == parser.CardOneToMany {
		s, left, right = right, right, left
	}
	s.kind, s.origins = kind, either(left, right).origins
	if m.Card == parser.CardOneToOne {
		if m.On {
			return s.keep(m.MatchingLabels...)
		}
		return s.without(m.MatchingLabels...)
	}
	// Here right is the side of which there is one for many.
	for _, label := range m.Include {
		if !right.may(label) {
			k.problem("%s takes %s from a side that has no such label, but %s", e, label, right)
		}
	}
	labels := maps.Clone(s.labels)
	if labels == nil {
		labels = labelSet{}
	}
	for _, label := range m.Include {
		labels[label] = right.labels[label]
	}
	return s.with(labels)
}

// kindOf tells what an operator leaves of the kinds of its sides: a comparison that
// filters leaves the left side's values, and buckets may be scaled and added up.
func kindOf(e *parser.BinaryExpr, left, right shape) Kind {
	isBuckets := func(k Kind) bool { return k == Bucket || k == Buckets || k == Native }
	switch {
	case e.Op.IsComparisonOperator() && !e.ReturnBool:
		return left.kind
	case e.Op == parser.ADD && left.kind == right.kind && isBuckets(left.kind):
		return left.kind
	case (e.Op == parser.MUL || e.Op == parser.DIV) && isBuckets(left.kind) && !isBuckets(right.kind):
		return left.kind
	case e.Op == parser.MUL && isBuckets(right.kind) && !isBuckets(left.kind):
		return right.kind
	}
	return ""
}

// matching checks the labels by which two sides are matched.
func (k *Checker) matching(e *parser.BinaryExpr, left, right shape) {
	m := e.VectorMatching
	if e.Op == parser.LOR && !m.On && len(m.MatchingLabels) == 0 {
		return // "or" joins what differs
	}
	named := "ignoring"
	if m.On {
		named = "on"
	}
	for _, label := range m.MatchingLabels {
		if !left.may(label) && !right.may(label) {
			k.problem("%s: %s (%s), and neither side has it: %s; %s", e, named, label, left, right)
		}
	}
	if e.Op == parser.LOR {
		return
	}
	for _, label := range slices.Sorted(maps.Keys(either(left, right).labels)) {
		if slices.Contains(m.MatchingLabels, label) != m.On {
			continue // plays no part
		}
		if left.labels[label] && !right.may(label) || right.labels[label] && !left.may(label) {
			k.problem("%s never matches: one side always has %s, the other never", e, label)
		}
	}
	// on () says that it does not matter which.
	if m.On && len(m.MatchingLabels) > 0 && !slices.Contains(m.MatchingLabels, "instance") && left.labels["instance"] && right.labels["instance"] &&
		sameExporter(left, right) {
		k.problem("%s matches series of one exporter with those of another: on lacks instance", e)
	}
}

// sameExporter tells whether both sides are one program's own series.
func sameExporter(left, right shape) bool {
	return len(left.origins) == 1 && maps.Equal(left.origins, right.origins)
}
