package prometheus

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// patience is for a machine that does much else; alone the longest rule test takes seconds.
const patience = 9 * time.Minute

// A ruleTest is one of promtool's test files, as far as these tests look at it.
type ruleTest struct {
	Tests []struct {
		Name      string
		AlertRule []struct {
			Alertname string
			ExpAlerts []any `yaml:"exp_alerts"`
		} `yaml:"alert_rule_test"`
	}
}

// Each alert is shown firing and quiet.
func TestAlertsAreTested(t *testing.T) {
	firing, quiet := map[string]bool{}, map[string]bool{}
	for _, file := range ruleTests(t) {
		var tests ruleTest
		programtest.ReadYAML(t, file, &tests)
		for _, test := range tests.Tests {
			if test.Name == "" {
				t.Errorf("a test in %s has no name", file)
			}
			for _, look := range test.AlertRule {
				if len(look.ExpAlerts) > 0 {
					firing[look.Alertname] = true
				} else {
					quiet[look.Alertname] = true
				}
			}
		}
	}
	for _, a := range readRules(t, "alerts.yml") {
		if !firing[a.Alert] || !quiet[a.Alert] {
			t.Errorf("%s: tested firing: %v, quiet: %v", a.Alert, firing[a.Alert], quiet[a.Alert])
		}
		delete(firing, a.Alert)
		delete(quiet, a.Alert)
	}
	for name := range firing {
		t.Errorf("alert %s is tested and does not exist", name)
	}
	for name := range quiet {
		t.Errorf("alert %s is tested to be quiet and does not exist", name)
	}
}

func ruleTests(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("tests/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rule tests: %v", err)
	}
	return files
}

func TestPromtool(t *testing.T) {
	for _, promtool := range promtools(t) {
		version := run(t, promtool, "--version")
		major := regexp.MustCompile(`version (\d+)`).FindStringSubmatch(version)
		if major == nil {
			t.Fatalf("%s --version: %s", promtool, version)
		}
		t.Run("Prometheus "+major[1], func(t *testing.T) {
			t.Parallel()
			run(t, promtool, "check", "config", "--lint=all", "prometheus-2.yml")
			if major[1] != "2" {
				run(t, promtool, "check", "config", "--lint=all", "prometheus.yml")
			}
			rules, err := filepath.Glob("rules/*.yml")
			if err != nil {
				t.Fatal(err)
			}
			run(t, promtool, append([]string{"check", "rules", "--lint=all", "--lint-fatal"}, rules...)...)
			for _, file := range ruleTests(t) {
				t.Run(filepath.Base(file), func(t *testing.T) {
					t.Parallel()
					run(t, promtool, "test", "rules", file)
				})
			}
		})
	}
}

// The two configurations differ in nothing but what Prometheus 2 does not know.
func TestConfigurationsAgree(t *testing.T) {
	var want []string
	for line := range strings.Lines(programtest.Read(t, "prometheus.yml")) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "_histograms: true") {
			want = append(want, line)
		}
	}
	var got []string
	for line := range strings.Lines(programtest.Read(t, "prometheus-2.yml")) {
		if !strings.HasPrefix(line, "#") {
			got = append(got, line)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("prometheus-2.yml is\n%s\nand ought to be\n%s", strings.Join(got, ""), strings.Join(want, ""))
	}
}

// Every alert that the inhibitions name exists: one that was renamed would inhibit nothing.
func TestAlertmanager(t *testing.T) {
	text := programtest.Read(t, "alertmanager.yml")
	var names []string
	for _, a := range readRules(t, "alerts.yml") {
		names = append(names, a.Alert)
	}
	for _, m := range regexp.MustCompile(`alertname=(~?)"([^"]+)"`).FindAllStringSubmatch(text, -1) {
		for _, name := range strings.Split(m[2], "|") {
			matches := func(a string) bool { return regexp.MustCompile("^(?:" + name + ")$").MatchString(a) }
			if !slices.ContainsFunc(names, matches) {
				t.Errorf("an inhibition names %s, which is no alert", name)
			}
		}
	}
	amtool := programtest.Find(t, "amtool")
	run(t, amtool, "check-config", "alertmanager.yml")

	// What one gets by taking the "#" off the receivers' webhooks.
	sending := filepath.Join(t.TempDir(), "alertmanager.yml")
	text = regexp.MustCompile(`(?m)^    # (webhook_configs:|  )`).ReplaceAllString(text, "    $1")
	if err := os.WriteFile(sending, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, amtool, "check-config", sending)
	for severity, receiver := range map[string]string{"critical": "page", "warning": "ticket", "info": "nobody"} {
		out := run(t, amtool, "config", "routes", "test", "--config.file="+sending, "severity="+severity)
		if words := strings.Fields(out); len(words) == 0 || words[len(words)-1] != receiver { // a warning may come first
			t.Errorf("severity %s goes to %q, want %s", severity, out, receiver)
		}
	}
}

// promtools are those of Prometheus 3, which make tools builds, and of the
// distribution, which is a Prometheus 2.
func promtools(t *testing.T) []string {
	t.Helper()
	found := programtest.FindAll(t, "bin/tools/promtool", "promtool")
	if os.Getenv("CI") == "true" && len(found) < 2 {
		t.Fatalf("only %s is here; make tools builds one promtool, the package prometheus has the other", found)
	}
	return found
}

func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}
