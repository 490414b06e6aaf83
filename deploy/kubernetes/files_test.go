package kubernetes

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
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

// TestThresholds: the values' thresholds take the place of the shipped ones, and
// change nothing else.
func TestThresholds(t *testing.T) {
	got := renderedGroups(t, rules+`
thresholds:
  time_to_first_token_seconds: 5
  probe_failure_budget_ratio: 0.001
  temperature_warning_celsius: {metax: 90.5}
  temperature_critical_celsius: 97
thresholdExceptions:
  - {name: time_to_first_token_seconds, value: 12, labels: {target: completions-long}}
`)
	want := ruleGroups(t)
	for _, g := range want {
		group := g.(map[string]any)
		list := group["rules"].([]any)
		for _, r := range list {
			rule := r.(map[string]any)
			vendor, _ := rule["labels"].(map[string]any)
			switch rule["record"] {
			case "accelerator:threshold_time_to_first_token_seconds":
				rule["expr"] = "vector(5)"
			case "accelerator:threshold_probe_failure_budget_ratio":
				rule["expr"] = "vector(0.001)"
			case "accelerator:threshold_temperature_warning_celsius":
				if vendor["vendor"] == "metax" {
					rule["expr"] = "vector(90.5)"
				}
			case "accelerator:threshold_temperature_critical_celsius":
				rule["expr"] = "vector(97)"
			}
		}
		if group["name"] == "accelerator-thresholds" {
			group["rules"] = append(list, map[string]any{
				"record": "accelerator:threshold_time_to_first_token_seconds", "expr": "vector(12)",
				"labels": map[string]any{"target": "completions-long"},
			})
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-shipped with the changes +rendered:\n%s", diff)
	}
	if diff := cmp.Diff(ruleGroups(t), got); diff == "" {
		t.Error("the thresholds changed nothing")
	}
}

// TestThresholdOfStart: a vLLM of the same release may take its time to start before
// want of success pages, and whoever installs the chart has the last word.
func TestThresholdOfStart(t *testing.T) {
	exception := func(value, target string) map[string]any {
		return map[string]any{
			"record": "accelerator:threshold_probe_no_success_seconds", "expr": "vector(" + value + ")",
			"labels": map[string]any{"target": target},
		}
	}
	for _, tc := range []struct {
		values string
		want   []any
	}{
		{"", []any{exception("2100", "vllm")}},
		{"thresholds: {probe_no_success_seconds: 600}", []any{exception("2400", "vllm")}},
		{"thresholdExceptions: [{name: probe_no_success_seconds, value: 60, labels: {target: vllm}}]", []any{exception("60", "vllm")}},
		{"thresholdExceptions: [{name: time_to_first_token_seconds, value: 9, labels: {target: vllm}}]", []any{
			map[string]any{
				"record": "accelerator:threshold_time_to_first_token_seconds", "expr": "vector(9)",
				"labels": map[string]any{"target": "vllm"},
			}, exception("2100", "vllm"),
		}},
		{`sidecar: {probes: [{name: a, url: "http://127.0.0.1:8000"}, {url: "http://127.0.0.1:8001"}]}`, []any{exception("2100", "a"), exception("2100", "127.0.0.1:8001")}},
	} {
		var got []any
		for _, g := range renderedGroups(t, sidecar+rules+tc.values) {
			for _, r := range g.(map[string]any)["rules"].([]any) {
				rule := r.(map[string]any)
				labels, _ := rule["labels"].(map[string]any)
				record, _ := rule["record"].(string)
				if strings.HasPrefix(record, "accelerator:threshold_") && labels["target"] != nil {
					got = append(got, rule)
				}
			}
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.values, diff)
		}
	}
	if diff := cmp.Diff(ruleGroups(t), renderedGroups(t, strings.Replace(sidecar, "enabled: true", "enabled: false", 1)+rules)); diff != "" {
		t.Errorf("without vLLM (-shipped +rendered):\n%s", diff)
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

// TestReleaseFits: Helm keeps a release in a Secret, packed, of a megabyte at most.
func TestReleaseFits(t *testing.T) {
	c := load(t)
	r := render(t, monitors+rules+dashboards)
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if err := json.NewEncoder(zip).Encode(map[string]any{"chart": c, "files": c.Files, "templates": c.Templates, "manifest": r.texts}); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if size := packed.Len() * 4 / 3 * 4 / 3; size > 1<<20 { // base64 by Helm, and once more by Kubernetes
		t.Errorf("a release takes about %d bytes", size)
	}
}

// TestMissingLinks: a copy of the chart without what its links lead to is refused,
// rather than installed without rules and dashboards.
func TestMissingLinks(t *testing.T) {
	bare := load(t)
	bare.Files = nil
	for values, want := range map[string]string{rules: "files/rules holds no rules", dashboards: "files/dashboards holds no dashboards"} {
		if _, err := tryRender(bare, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
