package e2e

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

// speedup makes time in rules and configuration pass faster.
type speedup struct {
	factor int64
	// isSpan reports whether the value of a recorded series is a length of time that
	// rules hold against the clock. A latency is none: requests take as long as ever.
	isSpan func(record string) bool
}

// span shortens a length of time, and keeps 0 and what is less than a
// millisecond from becoming 0.
func (s speedup) span(d time.Duration) time.Duration {
	if d == 0 {
		return 0
	}
	short := (d / time.Duration(s.factor)).Truncate(time.Millisecond)
	if short == 0 {
		return max(min(d, time.Millisecond), -time.Millisecond)
	}
	return short
}

// rules shortens every length of time in a file of rules.
func (s speedup) rules(file []byte) ([]byte, error) {
	p := parser.NewParser(parser.Options{})
	groups, errs := rulefmt.Parse(file, false, model.UTF8Validation, p, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if len(errs) > 0 {
		return nil, fmt.Errorf("reading rules: %w", errs[0])
	}
	for i := range groups.Groups {
		g := &groups.Groups[i]
		g.Interval = model.Duration(s.span(time.Duration(g.Interval)))
		if g.QueryOffset != nil {
			*g.QueryOffset = model.Duration(s.span(time.Duration(*g.QueryOffset)))
		}
		for j := range g.Rules {
			r := &g.Rules[j]
			r.For = model.Duration(s.span(time.Duration(r.For)))
			r.KeepFiringFor = model.Duration(s.span(time.Duration(r.KeepFiringFor)))
			expr, err := p.ParseExpr(r.Expr)
			if err != nil {
				return nil, fmt.Errorf("reading rule %s%s: %w", r.Alert, r.Record, err)
			}
			s.expr(expr)
			if r.Record != "" && s.isSpan(r.Record) {
				s.numbers(expr)
			}
			r.Expr = expr.String()
		}
	}
	return yaml.Marshal(groups)
}

// expr shortens ranges, steps and offsets.
func (s speedup) expr(e parser.Expr) {
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		switch n := n.(type) {
		case *parser.MatrixSelector:
			n.Range = s.span(n.Range)
		case *parser.SubqueryExpr:
			n.Range, n.Step, n.OriginalOffset = s.span(n.Range), s.span(n.Step), s.span(n.OriginalOffset)
		case *parser.VectorSelector:
			n.OriginalOffset = s.span(n.OriginalOffset)
		}
		return nil
	})
}

// numbers shortens the seconds that stand in an expression as numbers.
func (s speedup) numbers(e parser.Expr) {
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if n, ok := n.(*parser.NumberLiteral); ok {
			n.Val /= float64(s.factor)
		}
		return nil
	})
}

// config shortens the lengths of time under the given keys, wherever in a YAML
// document they stand.
func (s speedup) config(node *yaml.Node, keys ...string) error {
	if node.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i].Value, node.Content[i+1]
			if !slices.Contains(keys, key) || value.Kind != yaml.ScalarNode {
				continue
			}
			d, err := model.ParseDuration(value.Value)
			if err != nil {
				return fmt.Errorf("line %d: %s: %w", value.Line, key, err)
			}
			value.SetString(model.Duration(s.span(time.Duration(d))).String())
		}
	}
	for _, child := range node.Content {
		if err := s.config(child, keys...); err != nil {
			return err
		}
	}
	return nil
}
