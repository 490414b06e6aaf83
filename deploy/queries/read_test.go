package queries

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, name, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

const small = `{
  "uid": "small",
  "templating": {"list": [
    {"name": "datasource", "type": "datasource", "query": "prometheus"},
    {"name": "instance", "type": "query", "query": "label_values(up, instance)", "allValue": "", "current": {"value": ["$__all"]}},
    {"name": "vendor", "type": "query", "query": {"query": "label_values(accelerator_info{instance=~\"$instance\"}, vendor)"}, "allValue": ".+", "current": {"value": "$__all"}},
    {"name": "top", "type": "query", "query": {"query": "query_result(topk(1, up))"}, "current": {"value": ["a", "b"]}},
    {"name": "window", "type": "interval", "query": "1m,5m"},
    {"name": "q", "type": "custom", "query": "0.5,0.9", "current": {"value": "0.9"}}
  ]},
  "annotations": {"list": [{"name": "Grafana's own"}, {"name": "Restarts", "expr": "changes(process_start_time_seconds[5m])"}]},
  "panels": [
    {"title": "Power", "targets": [{"refId": "A", "expr": "rate(x{vendor=~\"${vendor}\"}[$window])", "legendFormat": "{{ vendor }} {{device}}"}]},
    {"title": "Row", "type": "row", "panels": [
      {"title": "Inside", "targets": [{"refId": "B", "expr": "quantile(${q:raw}, x{i=~\"[[instance]]\"}[$__rate_interval])", "instant": true}]}
    ]}
  ]
}`

func TestReadDashboard(t *testing.T) {
	all, err := Dashboards(write(t, "small.json", small))
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Where, Expr string
		Labels      []string
		Instant     bool
	}
	var got []row
	for _, q := range all {
		expr, err := q.Substitute(map[string]string{"vendor": "metax"})
		if err != nil {
			t.Error(err)
		}
		got = append(got, row{q.String(), expr, q.Labels, q.Instant})
	}
	if diff := cmp.Diff([]row{
		{`small.json small "variable instance"`, "up", []string{"instance"}, true},
		{`small.json small "variable vendor"`, `accelerator_info{instance=~".*"}`, []string{"vendor"}, true},
		{`small.json small "variable top"`, "topk(1, up)", nil, true},
		{`small.json small "annotation Restarts"`, "changes(process_start_time_seconds[5m])", nil, false},
		{`small.json small "Power" A`, `rate(x{vendor=~"metax"}[1m])`, []string{"vendor", "device"}, false},
		{`small.json small "Inside" B`, `quantile(0.9, x{i=~".*"}[1m])`, nil, true},
	}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBadDashboards(t *testing.T) {
	for name, tc := range map[string]struct{ from, to, says string }{
		"no JSON":          {`"uid"`, `uid`, "small.json"},
		"no uid":           {`"small"`, `""`, "no uid"},
		"unknown function": {`label_values(up, instance)`, `metrics(up)`, "variable instance"},
	} {
		_, err := Dashboards(write(t, "small.json", strings.Replace(small, tc.from, tc.to, 1)))
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Dashboards(t.TempDir()); err == nil {
		t.Error("a folder without dashboards is read as one")
	}
}

func TestSubstitute(t *testing.T) {
	q := Query{File: "f", Panel: "p", Expr: `a{b="$b"} + $__range_s + ${c} + label_replace(d, "e", "$1", "f", "(.*)")`, Variables: map[string]string{"b": "x"}}
	if _, err := q.Substitute(nil); err == nil || !strings.Contains(err.Error(), "unknown variables: c") {
		t.Errorf("an unknown variable: %v", err)
	}
	got, err := q.Substitute(map[string]string{"c": "1", "b": "y"})
	if want := `a{b="y"} + 3600 + 1 + label_replace(d, "e", "$1", "f", "(.*)")`; err != nil || got != want {
		t.Errorf("%q, %v", got, err)
	}
}

func TestReadRules(t *testing.T) {
	rules, err := Rules(write(t, "a.yml", `
groups:
  - name: g
    rules:
      - record: r
        expr: up
        labels: {vendor: metax}
      - alert: Down
        expr: up == 0
        labels: {severity: critical, cluster: "{{ $labels.cluster }}"}
        annotations: {summary: "{{ $labels.instance }} of {{ .Labels.job }}, {{ $labels.severity }}, {{ $value }}"}
`))
	if err != nil || len(rules) != 2 {
		t.Fatalf("%v, %v", rules, err)
	}
	if got := rules[1].String(); got != `a.yml group "g" rule Down` {
		t.Error(got)
	}
	if _, err := Rules(write(t, "a.yml", "groups: [")); err == nil {
		t.Error("no YAML, and no error")
	}
}

func TestReadRuleTests(t *testing.T) {
	tests, err := RuleTests(write(t, "a.yml", `
tests:
  - input_series: [{series: 'up{job="vllm"}', values: 1x5}]
    alert_rule_test: [{eval_time: 1m, alertname: Down}]
    promql_expr_test: [{expr: sum(up), eval_time: 1m}]
`))
	if err != nil || len(tests) != 1 {
		t.Fatalf("%v, %v", tests, err)
	}
	got := []string{tests[0].String(), tests[0].Series[0].Series, tests[0].Exprs[0].Expr, tests[0].Alerts[0].Alertname}
	if diff := cmp.Diff([]string{`a.yml test "number 1"`, `up{job="vllm"}`, "sum(up)", "Down"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMarkdown(t *testing.T) {
	text := strings.ReplaceAll("Text.\n\n```promql\n# One\nup\n  * 2\n\n# Two and three\nup\nsum(up)\n```\n\n```sh\nno promql\n```\n", "\t", "")
	all, err := Markdown(filepath.Join(write(t, "a.md", text), "a.md"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range all {
		got = append(got, q.Expr)
	}
	if diff := cmp.Diff([]string{"up\n  * 2", "up", "sum(up)"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestJobs(t *testing.T) {
	dir := write(t, "prometheus.yml", `
scrape_configs:
  - {job_name: a, file_sd_configs: [{files: ["t*.yml"]}]}
  - {job_name: b, static_configs: [{targets: [x]}]}
`)
	if err := os.WriteFile(filepath.Join(dir, "t1.yml"), []byte("- {targets: [x], labels: {cluster: c, rack: r}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	jobs, err := Jobs(filepath.Join(dir, "prometheus.yml"))
	if diff := cmp.Diff([]Job{{"a", []string{"cluster", "rack"}}, {"b", nil}}, jobs); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
