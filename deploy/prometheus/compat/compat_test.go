// Package compat tests the recording rules that offer the names of the vendors'
// own exporters.
package compat

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// exporters are the rule files, and where docs/migrating.md has the names of each.
var exporters = map[string]string{
	"mx-exporter.yml":  "## From mx-exporter",
	"npu-exporter.yml": "## From npu-exporter",
	"nvidia.yml":       "## From dcgm-exporter or nvidia_gpu_exporter",
	"hcu-exporter.yml": "## From hcu-exporter",
}

// recorded are the expressions of a rule file by the old names that they record. Names with a colon are the file's own
// intermediate steps.
func recorded(t *testing.T, file string) map[string]string {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct{ Record, Expr string }
		}
	}
	programtest.ReadYAML(t, file, &rules)
	names := make(map[string]string)
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			if !strings.Contains(rule.Record, ":") {
				names[rule.Record] = rule.Expr
			}
		}
	}
	if len(names) < 10 {
		t.Fatalf("%d rules in %s", len(names), file)
	}
	return names
}

// TestEveryRule wants each old name to be asked for by a unit test, and to stand in the document; `name_1` to `name_7`
// is a row there.
func TestEveryRule(t *testing.T) {
	document := programtest.Read(t, "../../../docs/migrating.md")
	for file, heading := range exporters {
		var tests struct {
			Tests []struct {
				Queries []struct {
					Expr    string
					Samples []any `yaml:"exp_samples"`
				} `yaml:"promql_expr_test"`
			}
		}
		programtest.ReadYAML(t, filepath.Join("tests", file), &tests)
		tested := make(map[string]bool)
		for _, test := range tests.Tests {
			for _, query := range test.Queries {
				tested[query.Expr] = tested[query.Expr] || len(query.Samples) > 0
			}
		}
		_, section, _ := strings.Cut(document, "\n"+heading+"\n")
		section, _, _ = strings.Cut(section, "\n## ")
		for name := range recorded(t, file) {
			if !tested[name] {
				t.Errorf("tests/%s has no sample of %s", file, name)
			}
			if !strings.Contains(section, "`"+regexp.MustCompile(`_\d$`).ReplaceAllString(name, "_")) {
				t.Errorf("%s does not name %s", heading, name)
			}
		}
	}
}

// Who multiplies a link's bandwidth by the profiling time gets the bytes of that time, as
// from npu-exporter: all of these rules look at one window, and tell its length.
func TestProfilingTimeIsTheRulesWindow(t *testing.T) {
	const prefix = "npu_chip_info_hccs_bandwidth_info_"
	found := 0
	for name, rule := range recorded(t, "npu-exporter.yml") {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		found++
		if !strings.Contains(rule, "[5m]") || name == prefix+"profiling_time" && !strings.HasPrefix(rule, "300000 ") {
			t.Errorf("%s is not of a window of 5 minutes: %s", name, rule)
		}
	}
	if found != 17 { // two directions of seven links, their totals, and the time
		t.Errorf("%d rules of the links' bandwidth, want 17", found)
	}
}

// TestPromtool runs the unit tests with every promtool there is.
func TestPromtool(t *testing.T) {
	for _, program := range programtest.FindAll(t, "bin/tools/promtool", "promtool") {
		for _, file := range []string{"mx-exporter.yml", "npu-exporter.yml", "nvidia.yml", "hcu-exporter.yml", "pods.yml"} {
			for _, args := range [][]string{{"check", "rules", file}, {"test", "rules", filepath.Join("tests", file)}} {
				programtest.Output(t, ".", nil, append([]string{program}, args...)...)
			}
		}
	}
}
