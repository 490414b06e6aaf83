package queries

import (
	"regexp"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// call checks a function's argument and infers what it returns.
func (k *checker) call(e *parser.Call) shape {
	var s shape // of the vector among the arguments
	vector := false
	for _, arg := range e.Args {
		this := k.walk(arg)
		if t := arg.Type(); t == parser.ValueTypeVector || t == parser.ValueTypeMatrix {
			s, vector = this, true
		}
	}
	switch e.Func.Name {
	case "label_replace":
		return k.labelReplace(e, s)
	case "label_join":
		return k.labelJoin(e, s)
	case "absent", "absent_over_time":
		return absent(e.Args[0])
	case "histogram_quantile":
		return k.quantile(e, s)
	case "vector":
		return shape{labels: labelSet{}}
	case "sort", "sort_desc":
		return s
	case "rate", "irate", "increase", "resets":
		switch s.kind {
		case Counter:
			s.kind = ""
		case Bucket:
			s.kind = Buckets
		case Native:
		default:
			k.problem("%s is of %s, not of a counter", e, orComputed(s.kind))
		}
		return s
	case "quantile_over_time":
		k.level(e.Args[0])
		k.grows(e, s)
	case "delta", "idelta", "deriv", "predict_linear", "avg_over_time", "sum_over_time", "stddev_over_time", "stdvar_over_time":
		k.grows(e, s)
		if s.kind == Buckets && (e.Func.Name == "avg_over_time" || e.Func.Name == "sum_over_time") {
			return s
		}
	case "histogram_count", "histogram_sum", "histogram_avg", "histogram_stddev", "histogram_stdvar", "histogram_fraction":
		if s.kind != Native {
			k.problem("%s is of %s, not of a native histogram", e, orComputed(s.kind))
		}
	case "last_over_time", "clamp_min":
		return s
	}
	if e.Func.ReturnType == parser.ValueTypeScalar {
		return shape{scalar: true}
	}
	if !vector {
		return shape{labels: labelSet{}}
	}
	s.kind = ""
	return s
}

func orComputed(kind Kind) string {
	if kind == "" {
		return "a computed value"
	}
	return "a " + string(kind)
}

// grows checks that values may fall too.
func (k *checker) grows(e *parser.Call, s shape) {
	if s.kind == Counter || s.kind == Bucket {
		k.problem("%s is of a %s, which only grows: take its rate", e, s.kind)
	}
}

// level checks which quantile is asked for.
func (k *checker) level(e parser.Expr) {
	if n, ok := e.(*parser.NumberLiteral); ok && !(n.Val >= 0 && n.Val <= 1) {
		k.problem("%s is no quantile of 0 to 1", n)
	}
}

// quantile checks that there are buckets to take a quantile of.
func (k *checker) quantile(e *parser.Call, s shape) shape {
	k.level(e.Args[0])
	// A bench's histograms are of one step: what they hold since its start is the result.
	if s.kind == Bucket && (len(s.origins) != 1 || !s.origins[Bench]) {
		k.problem("%s is of all since the start of the program: take the buckets' rate", e)
	}
	switch s.kind {
	case Native:
	case Bucket, Buckets:
		if !s.may(labels.BucketLabel) {
			k.problem("%s is of buckets that lost their le: the labels are %s", e, s)
		}
	default:
		k.problem("%s is of %s, not of a histogram's buckets", e, orComputed(s.kind))
	}
	s.kind = ""
	return s.without(labels.BucketLabel)
}

// absent infers the labels that absent() makes from its argument: those of matchers
// for equality.
func absent(arg parser.Expr) shape {
	s := shape{labels: labelSet{}}
	if m, ok := arg.(*parser.MatrixSelector); ok {
		arg = m.VectorSelector
	}
	if v, ok := arg.(*parser.VectorSelector); ok {
		for _, m := range v.LabelMatchers {
			if m.Type == labels.MatchEqual && m.Name != model.MetricNameLabel && m.Value != "" {
				s.labels[m.Name] = true
			}
		}
	}
	return s
}

// labelReplace is label_replace(v, dst, replacement, src, regex).
func (k *checker) labelReplace(e *parser.Call, s shape) shape {
	dst, src := text(e.Args[1]), text(e.Args[3])
	if src != "" && !s.may(src) {
		k.problem("%s reads %s, which is no label of its argument: those are %s", e, src, s)
	}
	if _, err := regexp.Compile("^(?s:" + text(e.Args[4]) + ")$"); err != nil {
		k.problem("%s: %v", e, err)
	}
	s = s.without()
	s.labels[dst] = s.labels[dst] && dst == src
	return s
}

// labelJoin is label_join(v, dst, separator, src, …).
func (k *checker) labelJoin(e *parser.Call, s shape) shape {
	for _, arg := range slices.Clone(e.Args[3:]) {
		if src := text(arg); !s.may(src) {
			k.problem("%s reads %s, which is no label of its argument: those are %s", e, src, s)
		}
	}
	s = s.without()
	s.labels[text(e.Args[1])] = false
	return s
}

func text(e parser.Expr) string {
	if s, ok := e.(*parser.StringLiteral); ok {
		return s.Val
	}
	return ""
}
