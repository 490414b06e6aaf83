package queries

import (
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// TestTwoPods evaluates every query where each exporter is seen twice, as while one
// pod of a node replaces another: only the label pod differs. A join that then finds
// two for one is an error of Prometheus, and the panel or the alert is blind.
func TestTwoPods(t *testing.T) {
	promtool := programtest.Find(t, "bin/tools/promtool", "promtool")
	dashboards, err := Dashboards(filepath.Join(root, "dashboards/grafana"))
	if err != nil {
		t.Fatal(err)
	}
	where := map[string]string{} // an expression stands
	for _, q := range dashboards {
		// promtool holds 10 000 samples at once.
		expr, err := q.Substitute(map[string]string{"__range": "10m", "__interval": "5m"})
		if err != nil {
			t.Fatal(err)
		}
		where[harmless(expr)] = q.String()
	}
	rules := map[string][]string{"dashboards": nil}
	for _, folder := range []string{"rules", "compat"} {
		if rules[folder], err = filepath.Glob("../prometheus/" + folder + "/*.yml"); err != nil || len(rules[folder]) == 0 {
			t.Fatalf("no rules: %v", err)
		}
	}
	for name, files := range rules {
		var exprs []string
		if files == nil {
			exprs = slices.Sorted(maps.Keys(where))
		}
		for _, gauges := range []string{"0", "1"} { // decide what filters leave for a join
			t.Run(name+", gauges "+gauges, func(t *testing.T) {
				t.Parallel()
				file := twoPods(t, gauges, files, exprs)
				out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", file).CombinedOutput()
				if err == nil {
					return
				}
				text := string(out)
				for _, expr := range exprs {
					text = strings.ReplaceAll(text, "expr: "+strconv.Quote(expr), where[expr])
				}
				t.Errorf("%v\n%s", err, text)
			})
		}
	}
}

// TestTwoPodsAreSeen: a join that the doubled series break does not pass.
func TestTwoPodsAreSeen(t *testing.T) {
	promtool := programtest.Find(t, "bin/tools/promtool", "promtool")
	file := twoPods(t, "1", nil, []string{harmless(`accelerator_healthy * on (job, instance, vendor, device) group_left (name) accelerator_info`)})
	out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", file).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "found duplicate series") {
		t.Errorf("%v\n%s", err, out)
	}
}

// harmless is 0 whatever an expression returns, as long as it returns.
func harmless(expr string) string { return "0 * count(" + expr + ") or vector(0)" }

// twoPods writes a test of rules that evaluates rules for two hours, and expressions
// at their end.
func twoPods(t *testing.T, gauges string, rules, exprs []string) string {
	t.Helper()
	var series, tests []map[string]any
	for _, s := range scrapedTwice(t) {
		values := gauges + "x120"
		if s.kind == Counter || s.kind == Bucket {
			values = "0+60x120"
		}
		series = append(series, map[string]any{"series": seriesText(s), "values": values})
	}
	for _, expr := range append(exprs, "vector(0)") {
		tests = append(tests, map[string]any{"expr": expr, "eval_time": "2h", "exp_samples": []map[string]any{{"labels": "{}", "value": 0}}})
	}
	var files []string
	for _, file := range rules {
		file, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	text, err := yaml.Marshal(map[string]any{
		"rule_files": files, "evaluation_interval": "5m",
		"tests": []map[string]any{{"interval": "1m", "input_series": series, "promql_expr_test": tests}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(write(t, "pods.yml", string(text)), "pods.yml")
}

// scrapedTwice are two hosts' series of all programs, those of exporters by two pods.
func scrapedTwice(t *testing.T) []series {
	t.Helper()
	var all []series
	for job, file := range map[string]string{
		Exporter: "cmd/accelerator_exporter/testdata/metrics.golden",
		Bench:    "bench/live/testdata/metrics.golden",
		VLLM:     "bench/fakevllm/testdata/metrics.golden",
	} {
		families, err := readExposition(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		scrape := []series{{"up", Gauge, nil}}
		for name, f := range families {
			scrape = append(scrape, seriesOf(name, f)...)
		}
		pods := []string{""}
		if job == Exporter {
			pods = []string{"old", "new"}
		}
		for _, host := range []string{"a:1", "b:1"} {
			for _, pod := range pods {
				for _, s := range scrape {
					if s.kind == Native {
						continue // nothing asks for it, and it has no values here
					}
					s.labels = maps.Clone(s.labels)
					if s.labels == nil {
						s.labels = map[string]string{}
					}
					maps.Copy(s.labels, map[string]string{"job": job, "instance": host, "pod": pod})
					all = append(all, s)
				}
			}
		}
	}
	return all
}

func seriesText(s series) string {
	var labels []string
	for _, label := range slices.Sorted(maps.Keys(s.labels)) {
		labels = append(labels, fmt.Sprintf("%s=%q", label, s.labels[label]))
	}
	return s.name + "{" + strings.Join(labels, ",") + "}"
}
