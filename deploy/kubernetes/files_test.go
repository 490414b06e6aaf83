package kubernetes

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// shipped are the texts of the files that fit a pattern below the repository's root, by name.
func shipped(t *testing.T, pattern string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s fits %d files, %v", pattern, len(paths), err)
	}
	files := map[string]string{}
	for _, p := range paths {
		files[filepath.Base(p)] = programtest.Read(t, p)
	}
	return files
}

// ruleGroups is a rule file, or an object with one in its spec.
type ruleGroups struct {
	Kind   string
	Groups []map[string]any
	Spec   struct{ Groups []map[string]any }
}

// renderedGroups are the groups that the chart makes.
func renderedGroups(t *testing.T, values string) []map[string]any {
	t.Helper()
	for _, text := range render(t, values).texts {
		var object ruleGroups
		if err := yaml.Unmarshal([]byte(text), &object); err == nil && object.Kind == "PrometheusRule" {
			return object.Spec.Groups
		}
	}
	t.Fatal("no PrometheusRule")
	return nil
}

// TestRules: the cluster gets the shipped rules, no more and no less.
func TestRules(t *testing.T) {
	var want []map[string]any
	files := shipped(t, "deploy/prometheus/rules/*.yml")
	for _, name := range []string{"alerts.yml", "recording.yml"} {
		var file ruleGroups
		programtest.NoError(t, yaml.Unmarshal([]byte(files[name]), &file))
		want = append(want, file.Groups...)
	}
	if diff := cmp.Diff(want, renderedGroups(t, rules)); diff != "" || len(files) != 2 {
		t.Errorf("of %d files (-shipped +rendered):\n%s", len(files), diff)
	}
}

// TestOptionalRules: each value adds its file, and the price reaches the cost.
func TestOptionalRules(t *testing.T) {
	files := shipped(t, "deploy/prometheus/optional/*.yml")
	plain := renderedGroups(t, rules)
	for values, name := range map[string]string{"heldIdle: true": "idle.yml", "pricePerKWh: 0.57": "cost.yml"} {
		var file ruleGroups
		programtest.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll(files[name], "* 0.1", "* 0.57")), &file))
		want := append(slices.Clone(plain), file.Groups...)
		if diff := cmp.Diff(want, renderedGroups(t, "rules: {enabled: true, "+values+"}")); diff != "" {
			t.Errorf("%s (-shipped +rendered):\n%s", values, diff)
		}
	}
	if got, want := len(renderedGroups(t, "rules: {enabled: true, heldIdle: true, pricePerKWh: 2}")), len(plain)+2; got != want || len(files) != 2 {
		t.Errorf("both add to %d groups, want %d, of %d files", got, want, len(files))
	}
}

// TestGrafanaURL: every alert leads to the Grafana that the values name.
func TestGrafanaURL(t *testing.T) {
	groups := fmt.Sprint(renderedGroups(t, "rules: {enabled: true, heldIdle: true, grafanaURL: https://grafana.example}"))
	if got, want := strings.Count(groups, "https://grafana.example/d/"), strings.Count(groups, "runbook_url:"); got != want || got == 0 {
		t.Errorf("%d of %d alerts lead there", got, want)
	}
}

// TestThresholds: a limit of the values reaches its alert, and no other.
func TestThresholds(t *testing.T) {
	changed := map[string][]string{
		"AcceleratorProbeNoSuccess":         {"> 600"},
		"AcceleratorTimeToFirstTokenHigh":   {"> 5"},
		"AcceleratorTimePerOutputTokenHigh": {"> 0.25"},
		"AcceleratorMemoryFull":             {">= 0.95"},
	}
	var temperatures strings.Builder
	for i, vendor := range vendors {
		fmt.Fprintf(&temperatures, "  %s_temperature_celsius: %d\n", vendor, 70+i)
		changed["AcceleratorCardHot"] = append(changed["AcceleratorCardHot"], fmt.Sprintf(`{vendor=%q,sensor="chip"}[10m]) > %d`, vendor, 70+i))
	}
	before := renderedGroups(t, rules)
	for i, group := range renderedGroups(t, rules+`
thresholds:
  probe_no_success_seconds: 600
  time_to_first_token_seconds: 5
  time_per_output_token_seconds: 0.25
  memory_full_ratio: 0.95
`+temperatures.String()) {
		for j, rule := range group["rules"].([]any) {
			alert, _ := rule.(map[string]any)["alert"].(string)
			expr := rule.(map[string]any)["expr"].(string)
			isOther := func(want string) bool { return !strings.Contains(expr, want) }
			if isSame := cmp.Equal(before[i]["rules"].([]any)[j], rule); isSame == (changed[alert] != nil) || slices.ContainsFunc(changed[alert], isOther) {
				t.Errorf("%s: %s", alert, expr)
			}
		}
	}
}

// TestDashboards: Grafana gets each dashboard to the byte, braces and all.
func TestDashboards(t *testing.T) {
	got := map[string]string{}
	for _, c := range all[*corev1.ConfigMap](render(t, dashboards)) {
		for name, text := range c.Data {
			got[name] = text
			if n := len(text); n > 1<<20-1<<14 {
				t.Errorf("%s: a ConfigMap holds no %d bytes", name, n)
			}
		}
		if c.Labels["grafana_dashboard"] != "1" || c.Annotations["grafana_folder"] != "Accelerators" {
			t.Errorf("%s: labels %v, annotations %v", c.Name, c.Labels, c.Annotations)
		}
	}
	if diff := cmp.Diff(shipped(t, "dashboards/grafana/*.json"), got); diff != "" {
		t.Errorf("-shipped +rendered:\n%s", diff)
	}
}
