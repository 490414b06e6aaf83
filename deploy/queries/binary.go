package queries

import (
	"maps"
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
)

// binary checks that both sides can match, and infers what labels are left.
func (k *checker) binary(e *parser.BinaryExpr) shape {
	left, right := k.walk(e.LHS), k.walk(e.RHS)
	k.bound(e, e.LHS, e.RHS)
	k.bound(e, e.RHS, e.LHS)
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
	if e.Op == parser.LOR {
		return either(left, right)
	}
	if e.Op != parser.LUNLESS {
		left.fixed, right.fixed = tied(m, left, right), tied(m, right, left)
	}
	if e.Op.IsSetOperator() {
		return left
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
// filters leaves the left side's values, buckets may be scaled and added up, and what they grew by is that of an interval.
func kindOf(e *parser.BinaryExpr, left, right shape) Kind {
	isBuckets := func(k Kind) bool { return k == Bucket || k == Buckets || k == Native }
	switch {
	case e.Op.IsComparisonOperator() && !e.ReturnBool:
		return left.kind
	case e.Op == parser.SUB && left.kind == Bucket && isGrowth(e):
		return Buckets
	case e.Op == parser.ADD && left.kind == right.kind && isBuckets(left.kind):
		return left.kind
	case (e.Op == parser.MUL || e.Op == parser.DIV) && isBuckets(left.kind) && !isBuckets(right.kind):
		return left.kind
	case e.Op == parser.MUL && isBuckets(right.kind) && !isBuckets(left.kind):
		return right.kind
	}
	return ""
}

// isGrowth tells whether an earlier value of a selector is taken from its present one.
func isGrowth(e *parser.BinaryExpr) bool {
	now, isNow := e.LHS.(*parser.VectorSelector)
	before, isBefore := e.RHS.(*parser.VectorSelector)
	if !isNow || !isBefore || before.OriginalOffset <= now.OriginalOffset {
		return false
	}
	shifted := *before
	shifted.OriginalOffset = now.OriginalOffset
	return shifted.String() == now.String()
}

// matching checks the labels by which two sides are matched.
func (k *checker) matching(e *parser.BinaryExpr, left, right shape) {
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
		if !matched(m, label) {
			continue // plays no part
		}
		if left.labels[label] && !right.may(label) || right.labels[label] && !left.may(label) {
			k.problem("%s never matches: one side always has %s, the other never", e, label)
		}
	}
	if m.On && len(m.MatchingLabels) == 0 || !sameExporter(left, right) {
		return // on () says that it does not matter which
	}
	k.owner(e, "instance", left, right)
	if matched(m, "device") {
		k.owner(e, "vendor", left, right)
	}
}

// matched tells whether a label must be the same on both sides.
func matched(m *parser.VectorMatching, label string) bool {
	return slices.Contains(m.MatchingLabels, label) == m.On
}

// owner checks that two sides that both tell whose they are are matched by it.
func (k *checker) owner(e *parser.BinaryExpr, label string, left, right shape) {
	_, oneLeft := left.fixed[label]
	_, oneRight := right.fixed[label]
	if left.labels[label] && right.labels[label] && !matched(e.VectorMatching, label) && (!oneLeft || !oneRight) {
		k.problem("%s matches cards or targets that differ in %s: that is not matched", e, label)
	}
}

// tied are a side's fixed labels, and those of the other by which the two are matched.
func tied(m *parser.VectorMatching, own, other shape) map[string]string {
	all := map[string]string{}
	maps.Copy(all, own.fixed)
	for label, value := range other.fixed {
		if matched(m, label) {
			all[label] = value
		}
	}
	return all
}

// bound checks the number that a ratio is compared with.
func (k *checker) bound(e *parser.BinaryExpr, ratio, number parser.Expr) {
	if n, ok := number.(*parser.NumberLiteral); ok && n.Val > 1 && e.Op.IsComparisonOperator() && k.ofRatio(ratio) {
		k.problem("%s compares a ratio, which is 1 at most, with %s", e, n)
	}
}

// sameExporter tells whether both sides are one program's own series.
func sameExporter(left, right shape) bool {
	return len(left.origins) == 1 && maps.Equal(left.origins, right.origins)
}
