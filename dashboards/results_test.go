package dashboards_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestResults gives queries, as they are in the JSON, to Prometheus with what has misled them or may.
func TestResults(t *testing.T) {
	programs := promtools(t)
	text, err := os.ReadFile("testdata/results.yml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name                  string
		Panel                 [3]string // file, title, type
		Query                 int
		Of, At                string
		Series, More, Samples []map[string]any
	}
	if err := yaml.Unmarshal(text, &cases); err != nil || len(cases) == 0 {
		t.Fatal(err)
	}
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			expr := filled(queryAt(t, tc.Panel[0], tc.Panel[1], tc.Panel[2], tc.Query), "$__range", "10m", "$maker", "metax", "$card", "0")
			if tc.Of != "" {
				expr = strings.ReplaceAll(tc.Of, "QUERY", expr)
			}
			rulesTest(t, programs, flow(t, append(tc.Series, tc.More...)), expr, tc.At, flow(t, tc.Samples))
		})
	}
}

// flow writes a list as YAML of one line, which JSON is.
func flow(t *testing.T, list []map[string]any) string {
	t.Helper()
	line, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return "          " + string(line) + "\n"
}

// TestServers: the servers to choose from are those of the chosen targets.
func TestServers(t *testing.T) {
	programs := promtools(t)
	var expr string
	for _, b := range boards(t) {
		for _, v := range b.Templating.List {
			if b.file == "load-latency.json" && v.Name == "server" {
				expr = strings.TrimSuffix(strings.TrimPrefix(queryOf(v), "query_result("), ")")
			}
		}
	}
	probing := func(instance, target string) string {
		return fmt.Sprintf("\n      - {series: 'accelerator_probe_requests_total{job=\"j\",instance=%q,target=%q,model=\"alias\"}', values: '0+1x10'}", instance, target)
	}
	input := servers + `
      - {series: 'vllm:num_requests_running{job="vllm",instance="s4:8000",model_name="m",engine="0"}', values: '5x10'}
      - {series: 'vllm:num_requests_running{job="vllm",instance="e:8000",model_name="m",engine="0"}', values: '5x10'}` +
		probing("a", "t") + probing("b", "other") + probing("c", "s4:8000") + probing("d", "without") +
		probing("e:10068", "127.0.0.1:8000") + probing("f:10068", "127.0.0.1:8000") + "\n"
	for _, tc := range []struct{ instance, target, want string }{
		{"a", ".*", "s1"},
		{".*", "other", "s2"},
		{"c", ".*", "s4:8000"},
		{"e:10068", ".*", "e:8000"},
		{"a|d", ".*", "s1"},
	} {
		t.Run(tc.instance+" "+tc.target, func(t *testing.T) {
			var want strings.Builder
			for instance := range strings.SplitSeq(tc.want, "|") {
				fmt.Fprintf(&want, "          - {labels: '{instance=%q}', value: 1}\n", instance)
			}
			rulesTest(t, programs, input, filled("group by (instance) ("+expr+")", "$instance", tc.instance, "$target", tc.target), "5m", want.String())
		})
	}
}

const servers = `
      - {series: 'vllm:num_requests_running{job="vllm",instance="s1",target="t",model_name="m",engine="0"}', values: '1x10'}
      - {series: 'vllm:num_requests_waiting{job="vllm",instance="s1",target="t",model_name="m",engine="0"}', values: '0x10'}
      - {series: 'vllm:num_requests_running{job="vllm",instance="s2",target="other",model_name="m",engine="0"}', values: '64x10'}
      - {series: 'vllm:num_requests_waiting{job="vllm",instance="s2",target="other",model_name="m",engine="0"}', values: '0x10'}
      - {series: 'vllm:num_requests_running{job="vllm",instance="s3",model_name="m",engine="0"}', values: '4x10'}
      - {series: 'vllm:num_requests_waiting{job="vllm",instance="s3",model_name="m",engine="0"}', values: '0x10'}`
