// Package prometheus holds what Prometheus and Alertmanager are configured with,
// and the tests that hold rules and their tests together.
package prometheus

import (
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

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

// Recorded names tell at what level they are and of what metric.
func TestRecordedNames(t *testing.T) {
	shape := regexp.MustCompile(`^[a-z_]+:[a-z0-9_]+:[a-z0-9_]+$`)
	seen := map[string]bool{}
	for _, file := range []string{"recording.yml"} {
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
