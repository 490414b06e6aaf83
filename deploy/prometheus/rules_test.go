// Package prometheus holds what Prometheus and Alertmanager are configured with,
// and the tests that hold rules, thresholds, and rule tests together.
package prometheus

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// rule is one of a rule file, as far as these tests look at it.
type rule struct {
	Record, Alert, Expr string
	Labels, Annotations map[string]string
}

// readRules returns the rules of one file, in order.
func readRules(t *testing.T, name string) []rule {
	t.Helper()
	var file struct {
		Groups []struct{ Rules []rule }
	}
	programtest.ReadYAML(t, filepath.Join("rules", name), &file)
	var rules []rule
	for _, g := range file.Groups {
		rules = append(rules, g.Rules...)
	}
	if len(rules) == 0 {
		t.Fatalf("no rules in %s", name)
	}
	return rules
}

func parse(t *testing.T, expr string) parser.Expr {
	t.Helper()
	e, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Fatalf("%s\n%v", expr, err)
	}
	return e
}

// series are the names that an expression selects.
func series(t *testing.T, expr string) []string {
	t.Helper()
	var names []string
	parser.Inspect(parse(t, expr), func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			names = append(names, s.Name)
		}
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// Recorded names tell at what level they are and of what metric.
func TestRecordedNames(t *testing.T) {
	shape := regexp.MustCompile(`^[a-z_]+:[a-z0-9_]+:[a-z0-9_]+$`)
	seen := map[string]bool{}
	for _, file := range []string{"recording.yml", "effective.yml"} {
		for _, r := range readRules(t, file) {
			if !shape.MatchString(r.Record) {
				t.Errorf("%s is not level:metric:operation", r.Record)
			}
			key := fmt.Sprint(r.Record, r.Labels)
			if seen[key] {
				t.Errorf("%s is recorded twice", key)
			}
			seen[key] = true
		}
	}
}
