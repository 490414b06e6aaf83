package kubernetes

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// shipped are the files that fit a pattern below the repository's root.
func shipped(t *testing.T, pattern string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s fits %d files, %v", pattern, len(paths), err)
	}
	files := map[string][]byte{}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(p)] = text
	}
	return files
}

// ruleGroups are the groups of all shipped rule files, in the order of their names.
func ruleGroups(t *testing.T) []any {
	t.Helper()
	var groups []any
	paths, err := filepath.Glob(filepath.Join(root, "deploy/prometheus/rules/*.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Groups []any }
		if err := yaml.Unmarshal(text, &file); err != nil {
			t.Fatal(err)
		}
		groups = append(groups, file.Groups...)
	}
	return groups
}

// renderedGroups are the groups that the chart makes of them, which Prometheus
// must be able to read.
func renderedGroups(t *testing.T, values string) []any {
	t.Helper()
	r := render(t, values)
	only[*monitoringv1.PrometheusRule](t, r)
	for _, text := range r.texts {
		var object struct {
			Kind string
			Spec map[string]any
		}
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		if object.Kind != "PrometheusRule" {
			continue
		}
		spec, err := yaml.Marshal(object.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, errs := rulefmt.Parse(spec, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.Default()); len(errs) > 0 {
			t.Errorf("Prometheus cannot read the rules: %v", errs)
		}
		return object.Spec["groups"].([]any)
	}
	return nil
}

// TestRules: the cluster gets the shipped rules, no more and no less.
func TestRules(t *testing.T) {
	want := ruleGroups(t)
	if len(want) < 4 {
		t.Fatalf("only %d groups of rules are shipped", len(want))
	}
	if diff := cmp.Diff(want, renderedGroups(t, rules)); diff != "" {
		t.Errorf("-shipped +rendered:\n%s", diff)
	}
}

// A limit of the values would not reach the alert.
func TestThresholds(t *testing.T) {
	changed := map[string]string{
		"AcceleratorProbeNoSuccess":         "> 600",
		"AcceleratorTimeToFirstTokenHigh":   "> 5",
		"AcceleratorTimePerOutputTokenHigh": "> 0.25",
		"AcceleratorCardHot":                "> 80",
		"AcceleratorMemoryFull":             ">= 0.95",
	}
	got := renderedGroups(t, rules+`
thresholds:
  probe_no_success_seconds: 600
  time_to_first_token_seconds: 5
  time_per_output_token_seconds: 0.25
  ascend_temperature_celsius: 80
  memory_full_ratio: 0.95
`)
	shipped := ruleGroups(t)
	for i, g := range got {
		for j, r := range g.(map[string]any)["rules"].([]any) {
			before := shipped[i].(map[string]any)["rules"].([]any)[j].(map[string]any)
			after := r.(map[string]any)
			alert, _ := after["alert"].(string)
			if want := changed[alert]; want == "" && before["expr"] != after["expr"] || !strings.Contains(after["expr"].(string), want) {
				t.Errorf("%s: %s", alert, after["expr"])
			}
		}
	}
}

// TestDashboards: Grafana gets each dashboard to the byte, braces and all.
func TestDashboards(t *testing.T) {
	want := shipped(t, "dashboards/grafana/*.json")
	braces := 0
	for _, c := range all[*corev1.ConfigMap](render(t, dashboards)) {
		for name, text := range c.Data {
			if !bytes.Equal(want[name], []byte(text)) {
				t.Errorf("%s is not what is shipped: %d bytes, want %d", name, len(text), len(want[name]))
			}
			delete(want, name)
			braces += strings.Count(text, "{{")
			if n := len(text); n > 1<<20-1<<14 {
				t.Errorf("%s: a ConfigMap holds no %d bytes", name, n)
			}
		}
		if c.Labels["grafana_dashboard"] != "1" || c.Annotations["grafana_folder"] != "Accelerators" {
			t.Errorf("%s: labels %v, annotations %v", c.Name, c.Labels, c.Annotations)
		}
	}
	if len(want) > 0 || braces == 0 {
		t.Errorf("%d dashboards are missing, %d legends have braces", len(want), braces)
	}
	for _, c := range all[*corev1.ConfigMap](render(t, "dashboards: {enabled: true, label: l, labelValue: v, folder: ''}")) {
		if c.Labels["l"] != "v" || c.Annotations != nil {
			t.Errorf("%s: labels %v, annotations %v", c.Name, c.Labels, c.Annotations)
		}
	}
}

// TestPackage: the archive that helm package makes holds what the links lead to,
// and renders the same.
func TestPackage(t *testing.T) {
	archive, err := chartutil.Save(load(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	packed, err := loader.LoadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	values := monitors + rules + dashboards
	got, err := tryRender(packed, values)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(render(t, values).texts, got.texts); diff != "" {
		t.Errorf("-folder +archive:\n%s", diff)
	}
}
