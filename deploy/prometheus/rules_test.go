// Package prometheus holds what Prometheus and Alertmanager are configured with. Its tests give it to their own tools.
package prometheus

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

const runbookURL = "https://github.com/accelerator-exporter/accelerator_exporter/blob/main/docs/runbooks.md#"

// podsOnIt ends the text of each alert on a card: a template of an alert cannot be shared with another.
const podsOnIt = `{{ with printf "card_pod:accelerator_workload:info{cluster='%s',job='%s',instance='%s',vendor='%s',device='%s'}" $labels.cluster $labels.job $labels.instance $labels.vendor $labels.device | query }}` +
	` Pods on it:{{ range . | sortByLabel "pod" | sortByLabel "namespace" }} {{ .Labels.namespace }}/{{ .Labels.pod }}{{ end }}.{{ end }}`

// alert is one of alerts.yml, or of the optional ones.
type alert struct {
	Alert               string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) []alert {
	t.Helper()
	var all []alert
	for _, name := range []string{"rules/alerts.yml", "optional/idle.yml"} {
		var file struct {
			Groups []struct{ Rules []alert }
		}
		programtest.ReadYAML(t, name, &file)
		for _, g := range file.Groups {
			all = append(all, g.Rules...)
		}
	}
	return all
}

// TestAlertsAreComplete: what is read of an alert by somebody who is woken.
func TestAlertsAreComplete(t *testing.T) {
	for _, a := range alerts(t) {
		if s := a.Labels["severity"]; !slices.Contains([]string{"critical", "warning", "info"}, s) {
			t.Errorf("%s: severity %q", a.Alert, s)
		}
		if got, want := slices.Sorted(maps.Keys(a.Annotations)), []string{"dashboard_url", "description", "runbook_url", "summary"}; !slices.Equal(got, want) {
			t.Errorf("%s: annotations %q, want %q", a.Alert, got, want)
		}
		if got, want := a.Annotations["runbook_url"], runbookURL+strings.ToLower(a.Alert); got != want {
			t.Errorf("%s: runbook_url %q, want %q", a.Alert, got, want)
		}
		if got, want := a.Annotations["dashboard_url"], dashboard(a); got != want {
			t.Errorf("%s: dashboard_url %q, want %q", a.Alert, got, want)
		}
		description, namesPods := strings.CutSuffix(a.Annotations["description"], podsOnIt)
		if ofCard := strings.Contains(a.Annotations["summary"]+description, "$labels.device"); ofCard != namesPods {
			t.Errorf("%s is of a card %v, and names the pods on it %v: %q", a.Alert, ofCard, namesPods, description)
		}
	}
}

// dashboard is where an alert leads: to its card or target, else to its host.
func dashboard(a alert) string {
	const grafana, host = "http://localhost:3000/d/accelerator-", "={{ $labels.instance | urlquery }}"
	text := a.Annotations["summary"] + a.Annotations["description"]
	switch {
	case strings.Contains(text, "$labels.device"):
		return grafana + "card?var-host" + host + "&var-maker={{ $labels.vendor }}&var-card={{ $labels.device | urlquery }}"
	case strings.Contains(text, "$labels.target"):
		return grafana + "load-latency?var-instance" + host + "&var-target={{ $labels.target | urlquery }}"
	case strings.Contains(text, "$labels.pid"):
		return grafana + "numa?var-host" + host
	case strings.Contains(text, "$labels.vendor"):
		return grafana + "fleet?var-instance" + host + "&var-vendor={{ $labels.vendor }}"
	case strings.Contains(text, "$labels.instance"):
		return grafana + "fleet?var-instance" + host
	default:
		return grafana + "fleet"
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return files
}

// Each alert is shown firing and quiet.
func TestAlertsAreTested(t *testing.T) {
	firing, quiet := map[string]bool{}, map[string]bool{}
	for _, file := range glob(t, "tests/*.yml") {
		var tests struct {
			Tests []struct {
				AlertRule []struct {
					Alertname string
					ExpAlerts []any `yaml:"exp_alerts"`
				} `yaml:"alert_rule_test"`
			}
		}
		programtest.ReadYAML(t, file, &tests)
		for _, test := range tests.Tests {
			for _, look := range test.AlertRule {
				if len(look.ExpAlerts) > 0 {
					firing[look.Alertname] = true
				} else {
					quiet[look.Alertname] = true
				}
			}
		}
	}
	for _, a := range alerts(t) {
		if !firing[a.Alert] || !quiet[a.Alert] {
			t.Errorf("%s: tested firing: %v, quiet: %v", a.Alert, firing[a.Alert], quiet[a.Alert])
		}
	}
}

// TestPromtool has the promtool of Prometheus 3, which make tools builds, and that of the distribution, a Prometheus 2,
// check the configuration and run the tests of rules.
func TestPromtool(t *testing.T) {
	found := programtest.FindAll(t, "bin/tools/promtool", "promtool")
	if os.Getenv("CI") == "true" && len(found) < 2 {
		t.Fatalf("only %s is here; make tools builds one promtool, the package prometheus has the other", found)
	}
	for _, promtool := range found {
		major := regexp.MustCompile(`version (\d+)`).FindStringSubmatch(programtest.Output(t, ".", nil, promtool, "--version"))
		t.Run("Prometheus "+major[1], func(t *testing.T) {
			t.Parallel()
			programtest.Output(t, ".", nil, promtool, "check", "config", "--lint=all", "prometheus-2.yml")
			if major[1] != "2" {
				programtest.Output(t, ".", nil, promtool, "check", "config", "--lint=all", "prometheus.yml")
			}
			programtest.Output(t, ".", nil, slices.Concat([]string{promtool, "check", "rules", "--lint=all", "--lint-fatal"}, glob(t, "rules/*.yml"), glob(t, "optional/*.yml"))...)
			for _, file := range glob(t, "tests/*.yml") {
				t.Run(filepath.Base(file), func(t *testing.T) {
					t.Parallel()
					programtest.Output(t, ".", nil, promtool, "test", "rules", file)
				})
			}
		})
	}
}

// The two configurations differ in nothing but what Prometheus 2 does not know.
func TestConfigurationsAgree(t *testing.T) {
	lines := func(name string) (kept []string) {
		for line := range strings.Lines(programtest.Read(t, name)) {
			if !strings.HasPrefix(line, "#") && !strings.Contains(line, "_histograms: true") {
				kept = append(kept, line)
			}
		}
		return kept
	}
	if got, want := lines("prometheus-2.yml"), lines("prometheus.yml"); !slices.Equal(got, want) {
		t.Errorf("prometheus-2.yml is\n%s\nand ought to be\n%s", strings.Join(got, ""), strings.Join(want, ""))
	}
}

// Every alert that the inhibitions name exists: one that was renamed would inhibit nothing.
func TestAlertmanager(t *testing.T) {
	text := programtest.Read(t, "alertmanager.yml")
	for _, m := range regexp.MustCompile(`alertname=~?"([^"]+)"`).FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(m[1], "|") {
			pattern := regexp.MustCompile("^(?:" + name + ")$")
			if !slices.ContainsFunc(alerts(t), func(a alert) bool { return pattern.MatchString(a.Alert) }) {
				t.Errorf("an inhibition names %s, which is no alert", name)
			}
		}
	}
	// What one gets by taking the "#" off the receivers' webhooks.
	sending := filepath.Join(t.TempDir(), "alertmanager.yml")
	programtest.Write(t, sending, regexp.MustCompile(`(?m)^    # (webhook_configs:|  )`).ReplaceAllString(text, "    $1"))
	amtool := programtest.Find(t, "amtool")
	programtest.Output(t, ".", nil, amtool, "check-config", "alertmanager.yml")
	programtest.Output(t, ".", nil, amtool, "check-config", sending)
	for severity, receiver := range map[string]string{"critical": "page", "warning": "ticket", "info": "nobody"} {
		out := programtest.Output(t, ".", nil, amtool, "config", "routes", "test", "--config.file="+sending, "severity="+severity)
		if words := strings.Fields(out); len(words) == 0 || words[len(words)-1] != receiver { // a warning may come first
			t.Errorf("severity %s goes to %q, want %s", severity, out, receiver)
		}
	}
}
