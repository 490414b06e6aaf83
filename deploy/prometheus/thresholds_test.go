package prometheus

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

const (
	thresholdPrefix = "accelerator:threshold_"
	missingAlert    = "AcceleratorThresholdsMissing"
	absentRecord    = "threshold:accelerator_threshold:absent"
)

// thresholds are the names in thresholds.yml, each once, without their prefix.
func thresholds(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, r := range readRules(t, "thresholds.yml") {
		name, ok := strings.CutPrefix(r.Record, thresholdPrefix)
		if !ok {
			t.Errorf("%s is no threshold", r.Record)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// A threshold is a plain number, so that an operator need not understand more.
func TestThresholdsAreNumbers(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range readRules(t, "thresholds.yml") {
		if !regexp.MustCompile(`^vector\([0-9.]+\)$`).MatchString(r.Expr) {
			t.Errorf("%s is %q", r.Record, r.Expr)
		}
		for label := range r.Labels {
			if label != "vendor" {
				t.Errorf("%s is shipped with the label %s, which makes an exception", r.Record, label)
			}
		}
		key := r.Record + r.Labels["vendor"]
		if seen[key] {
			t.Errorf("%s %v stands twice", r.Record, r.Labels)
		}
		seen[key] = true
	}
}

// What compares with a threshold itself knows no exceptions.
func TestExceptionsAreHeeded(t *testing.T) {
	for _, r := range append(readRules(t, "alerts.yml"), readRules(t, "recording.yml")...) {
		for _, s := range series(t, r.Expr) {
			if strings.HasPrefix(s, thresholdPrefix) {
				t.Errorf("%s compares with %s, past the exceptions", r.Record+r.Alert, s)
			}
		}
	}
}

// A threshold that is missing silences its alerts, so its absence must be told:
// that of the general value, whatever exceptions there are.
func TestMissingThresholdsAreTold(t *testing.T) {
	told := map[string]bool{}
	for _, r := range readRules(t, "effective.yml") {
		if r.Record != absentRecord {
			continue
		}
		absent, ok := parse(t, r.Expr).(*parser.Call)
		if !ok || absent.Func.Name != "absent" {
			t.Errorf("%s is %s", r.Record, r.Expr)
			continue
		}
		selector := absent.Args[0].(*parser.VectorSelector)
		name := strings.TrimPrefix(selector.Name, thresholdPrefix)
		if name != r.Labels["threshold"] {
			t.Errorf("the absence of %s is told as that of %s", name, r.Labels["threshold"])
		}
		general := func(m *labels.Matcher) bool {
			return m.Name == "instance" && m.Type == labels.MatchEqual && m.Value == ""
		}
		if !slices.ContainsFunc(selector.LabelMatchers, general) {
			t.Errorf("an exception for a machine hides that %s is absent", name)
		}
		told[name] = true
	}
	for _, name := range thresholds(t) {
		if !told[name] {
			t.Errorf("nobody is told when %s is missing", name)
		}
		delete(told, name)
	}
	for name := range told {
		t.Errorf("the absence of %s is told, which is no threshold", name)
	}
	for _, r := range readRules(t, "alerts.yml") {
		if r.Alert == missingAlert && !slices.Contains(series(t, r.Expr), absentRecord) {
			t.Errorf("%s does not look at %s", missingAlert, absentRecord)
		}
	}
}
