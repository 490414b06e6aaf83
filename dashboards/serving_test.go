package dashboards_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The cards of two hosts and of none: host a has two cards and a target whose first card is known, host b has a card and
// a target whose cards are not, host c has no card and probes a target that is elsewhere.
const servingInput = `
      - {series: 'accelerator_utilization_ratio{job="j",instance="a",vendor="metax",device="0"}', values: '0.1x10'}
      - {series: 'accelerator_utilization_ratio{job="j",instance="a",vendor="metax",device="1"}', values: '0.2x10'}
      - {series: 'accelerator_utilization_ratio{job="j",instance="b",vendor="ascend",device="0"}', values: '0.3x10'}
      - {series: 'accelerator_info{job="j",instance="a",vendor="metax",device="0",name="x"}', values: '1x10'}
      - {series: 'accelerator_info{job="j",instance="a",vendor="metax",device="1",name="x"}', values: '1x10'}
      - {series: 'accelerator_info{job="j",instance="b",vendor="ascend",device="0",name="y"}', values: '1x10'}
      - {series: 'accelerator_devices{job="j",instance="a",vendor="metax"}', values: '2x10'}
      - {series: 'accelerator_devices{job="j",instance="b",vendor="ascend"}', values: '1x10'}
      - {series: 'accelerator_probe_target_device_info{job="j",instance="a",target="known",vendor="metax",device="0"}', values: '1x10'}
      - {series: 'accelerator_probe_requests_total{job="j",instance="a",target="known",model="m"}', values: '0+1x10'}
      - {series: 'accelerator_probe_requests_total{job="j",instance="a",target="hidden here",model="m"}', values: '0+1x10'}
      - {series: 'accelerator_probe_requests_total{job="j",instance="b",target="hidden",model="m"}', values: '0+1x10'}
      - {series: 'accelerator_probe_requests_total{job="j",instance="c",target="far",model="m"}', values: '0+1x10'}
`

// TestServingCards gives the utilization panel's query, as it is in the JSON, to Prometheus' own rule tests.
func TestServingCards(t *testing.T) {
	promtool := program(t, "promtool")
	expr := queryAt(t, "Utilization", "timeseries", 0)
	const a0, a1, b0 = `{job="j",instance="a",vendor="metax",device="0"}`, `{job="j",instance="a",vendor="metax",device="1"}`, `{job="j",instance="b",vendor="ascend",device="0"}`
	value := map[string]string{a0: "0.1", a1: "0.2", b0: "0.3"}
	for _, tc := range []struct {
		name     string
		instance string
		target   string
		want     []string
	}{
		{"cards of the target are known", ".*", "known", []string{a0}},
		{"cards of the target are not known: those of the host that probes it", ".*", "hidden", []string{b0}},
		{"another target's cards are not this one's", ".*", "hidden here", []string{a0, a1}},
		{"probed from a host without cards: all chosen", ".*", "far", []string{a0, a1, b0}},
		{"probed from a host without cards: only chosen", "a|c", "far", []string{a0, a1}},
		{"all targets: known cards where there are some, else the host's", ".*", ".*", []string{a0, b0}},
		{"a host without any such target", "b", "known", []string{b0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			filled := strings.NewReplacer("$instance", tc.instance, "$target", tc.target,
				"$job", ".*", "$vendor", ".*", "$device", ".*", "$model", ".*").Replace(expr)
			var want strings.Builder
			for _, labels := range tc.want {
				fmt.Fprintf(&want, "          - {labels: '%s', value: %s}\n", "accelerator_utilization_ratio"+labels, value[labels])
			}
			rulesTest(t, promtool, servingInput, filled, "5m", want.String())
		})
	}
}

// In the first half hour the cards are idle and first tokens come within 0.1 s, in the second they are busy and first tokens take 0.1 to 1 s.
const bandInput = `
      - {series: 'accelerator_utilization_ratio{job="j",instance="a",vendor="metax",device="0"}', values: '0.1x29 _x7 0.9x29'}
      - {series: 'accelerator_info{job="j",instance="a",vendor="metax",device="0"}', values: '1x66'}
      - {series: 'accelerator_probe_target_device_info{job="j",instance="a",target="t",vendor="metax",device="0"}', values: '1x66'}
      - {series: 'accelerator_probe_requests_total{job="j",instance="a",target="t",model="m"}', values: '0+1x66'}
      - {series: 'accelerator_probe_time_to_first_token_seconds_bucket{job="j",instance="a",target="t",model="m",le="0.1"}', values: '0+1x29 29x36'}
      - {series: 'accelerator_probe_time_to_first_token_seconds_bucket{job="j",instance="a",target="t",model="m",le="1"}', values: '0+1x29 29x7 30+1x28'}
      - {series: 'accelerator_probe_time_to_first_token_seconds_bucket{job="j",instance="a",target="t",model="m",le="+Inf"}', values: '0+1x29 29x7 30+1x28'}
`

// TestLatencyByUtilization tells the bands apart, and takes quantiles of observations, not of quantiles.
func TestLatencyByUtilization(t *testing.T) {
	promtool := program(t, "promtool")
	filled := strings.NewReplacer("$instance", ".*", "$target", ".*", "$job", ".*", "$vendor", ".*", "$device", ".*", "$model", ".*",
		"$window", "5m", "$__range", "3960s", "$__interval", "1m").
		Replace(queryAt(t, "Time to first token by utilization", "barchart", 1))
	rulesTest(t, promtool, bandInput, "round("+filled+", 0.001)", "66m", `
          - {labels: '{band="0"}', value: 0.09}
          - {labels: '{band="4"}', value: 0.91}
`)
}

// rulesTest has promtool compare what expr gives with want.
func rulesTest(t *testing.T, promtool, input, expr, at, want string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.yml")
	content := fmt.Sprintf("tests:\n  - interval: 1m\n    input_series:%s    promql_expr_test:\n      - expr: '%s'\n        eval_time: %s\n        exp_samples:\n%s", input, expr, at, want)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// queryAt returns a query of a panel of the load and latency dashboard.
func queryAt(t *testing.T, title, kind string, n int) string {
	t.Helper()
	for _, b := range boards(t) {
		for _, p := range b.Panels {
			if b.UID == "accelerator-load-latency" && p.Type == kind && p.Title == title {
				return p.Targets[n].Expr
			}
		}
	}
	t.Fatalf("load and latency has no %s %q", kind, title)
	return ""
}

// program finds one of Prometheus' programs, among those built for the project or on the PATH. CI must have it.
func program(t *testing.T, name string) string {
	t.Helper()
	built, err := filepath.Abs(filepath.Join("..", "bin", "tools", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, candidate := range []string{built, name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("no %s in bin/tools or on the PATH", name)
	}
	t.Skipf("no %s in bin/tools or on the PATH", name)
	return ""
}
