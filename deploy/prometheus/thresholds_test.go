package prometheus

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

const (
	thresholdPrefix = "accelerator:threshold_"
	missingAlert    = "AcceleratorThresholdsMissing"
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

// effectiveOf is the threshold whose effective value a series is.
func effectiveOf(series string) (threshold string, ok bool) {
	m := regexp.MustCompile(`^(?:target|instance):threshold_(\w+):effective$`).FindStringSubmatch(series)
	if m == nil {
		return "", false
	}
	return m[1], true
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

// Each threshold has one effective value, by the one pattern for its kind, and
// is used. Effective values have a threshold.
func TestEachThresholdTakesEffect(t *testing.T) {
	effective, used := map[string]string{}, map[string]bool{}
	for _, r := range readRules(t, "effective.yml") {
		if name, ok := effectiveOf(r.Record); ok {
			effective[name] = parse(t, r.Expr).String()
		}
	}
	for _, r := range append(readRules(t, "alerts.yml"), readRules(t, "recording.yml")...) {
		if r.Alert == missingAlert {
			continue
		}
		for _, s := range series(t, r.Expr) {
			if name, ok := effectiveOf(s); ok {
				used[name] = true
			}
			if strings.HasPrefix(s, thresholdPrefix) {
				t.Errorf("%s compares with %s, past the exceptions", r.Record+r.Alert, s)
			}
		}
	}
	for _, name := range thresholds(t) {
		got, ok := effective[name]
		var patterns []string
		for _, p := range exceptions() {
			patterns = append(patterns, parse(t, strings.ReplaceAll(p, "NAME", thresholdPrefix+name)).String())
		}
		if !ok || !slices.Contains(patterns, got) {
			t.Errorf("%s: the effective value is %q, which is none of\n%s", name, got, strings.Join(patterns, "\n"))
		}
		if !used[name] {
			t.Errorf("threshold %s is used by nothing", name)
		}
		delete(effective, name)
	}
	for name := range effective {
		t.Errorf("an effective value for %s, which is no threshold", name)
	}
}

// exceptions are the ways in which a threshold gives way to a more special one.
func exceptions() []string {
	const (
		probes = `instance_target:accelerator_probe:present`
		hot    = `instance_vendor:accelerator_temperature:present`
		hosts  = `instance:accelerator_exporter:present`
	)
	return []string{
		fmt.Sprintf(`%[1]s * on (instance, target) group_left () NAME{instance!="",target!=""}
			or %[1]s * on (instance) group_left () NAME{instance!="",target=""}
			or %[1]s * on (target) group_left () NAME{instance="",target!=""}
			or %[1]s * on () group_left () NAME{instance="",target=""}`, probes),
		fmt.Sprintf(`%[1]s * on (instance, vendor) group_left () NAME{instance!=""}
			or %[1]s * on (vendor) group_left () NAME{instance=""}`, hot),
		fmt.Sprintf(`%[1]s * on (instance) group_left () NAME{instance!=""}
			or %[1]s * on () group_left () NAME{instance=""}`, hosts),
	}
}

// A threshold that is missing silences its alerts, so its absence must be told.
func TestMissingThresholdsAreTold(t *testing.T) {
	told := map[string]bool{}
	for _, r := range readRules(t, "alerts.yml") {
		if r.Alert != missingAlert {
			continue
		}
		parser.Inspect(parse(t, r.Expr), func(n parser.Node, path []parser.Node) error {
			call, ok := n.(*parser.Call)
			if !ok || call.Func.Name != "label_replace" {
				return nil
			}
			label := call.Args[2].(*parser.StringLiteral).Val
			if absent, ok := call.Args[0].(*parser.Call); ok && absent.Func.Name == "absent" {
				name := strings.TrimPrefix(absent.Args[0].String(), thresholdPrefix)
				if name != label {
					t.Errorf("the absence of %s is told as that of %s", name, label)
				}
				told[name] = true
			}
			return nil
		})
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
}
