package queries

import (
	"slices"

	"github.com/prometheus/prometheus/promql/parser"
)

// aggregate checks what is grouped, and infers what labels are left.
func (k *checker) aggregate(e *parser.AggregateExpr) shape {
	if e.Param != nil {
		k.walk(e.Param)
	}
	all := k.walk(e.Expr)
	for _, label := range e.Grouping {
		if !all.may(label) {
			k.problem("%s groups by %s, which is no label of %s: those are %s", e.Op, label, e.Expr, all)
		}
	}
	s := all
	switch e.Op {
	case parser.TOPK, parser.BOTTOMK, parser.LIMITK, parser.LIMIT_RATIO:
		return s // the series themselves
	case parser.SUM, parser.AVG:
		if s.kind != Bucket && s.kind != Buckets && s.kind != Native {
			s.kind = ""
		}
	case parser.QUANTILE:
		k.level(e.Param)
		s.kind = ""
	default:
		s.kind = ""
	}
	if e.Without {
		s = s.without(e.Grouping...)
	} else {
		s = s.keep(e.Grouping...)
	}
	k.mixed(e, all, s)
	if e.Op == parser.COUNT_VALUES {
		if name, ok := e.Param.(*parser.StringLiteral); ok {
			s.labels[name.Val] = true
		}
	}
	return s
}

// local are the labels whose values each exporter gives by itself, with those that
// tell whose they are. A bench's or a server's target is not: that is an address, or
// the name that an operator gave to several servers.
func local() map[string][]string {
	return map[string][]string{"device": {"instance", "vendor"}, "target": {"instance"}}
}

// mixed checks that what is left tells card 0 of one host from that of another.
func (k *checker) mixed(e *parser.AggregateExpr, all, left shape) {
	if !all.origins[Exporter] && !all.origins[""] {
		return
	}
	for label, owners := range local() {
		if _, ok := left.labels[label]; !ok {
			continue
		}
		for _, owner := range owners {
			_, has := all.labels[owner]
			_, keeps := left.labels[owner]
			if _, one := all.fixed[owner]; has && !keeps && !one {
				k.problem("%s keeps %s and not %s: it mixes what differs in %s alone", e, label, owner, owner)
			}
		}
	}
}

// ofRatio tells whether the values are those of an exported ratio, or are picked from
// them: of 0 to 1.
func (k *checker) ofRatio(e parser.Expr) bool {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return k.ofRatio(e.Expr)
	case *parser.MatrixSelector:
		return k.ofRatio(e.VectorSelector)
	case *parser.SubqueryExpr:
		return k.ofRatio(e.Expr)
	case *parser.VectorSelector:
		return k.catalogue.metrics[e.Name].ratio(e.Name)
	case *parser.AggregateExpr:
		picks := []parser.ItemType{parser.AVG, parser.MIN, parser.MAX, parser.QUANTILE, parser.TOPK, parser.BOTTOMK}
		return slices.Contains(picks, e.Op) && k.ofRatio(e.Expr)
	case *parser.Call:
		picks := []string{"avg_over_time", "min_over_time", "max_over_time", "last_over_time"}
		return slices.Contains(picks, e.Func.Name) && k.ofRatio(e.Args[0])
	}
	return false
}
