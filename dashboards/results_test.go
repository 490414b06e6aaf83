package dashboards_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestResults gives queries, as they are in the JSON, to Prometheus with what has misled them or may.
func TestResults(t *testing.T) {
	programs := promtools(t)
	for _, tc := range []struct {
		name                    string
		file, title, kind       string
		query                   int
		input, at, with, result string
	}{
		{
			name: "one target name on two hosts: the last success is that of the one that waits longer, here since 1970",
			file: "load-latency.json", title: "Last success", kind: "stat",
			input: twoHosts + `
      - {series: 'accelerator_probe_last_success_timestamp_seconds{job="j",instance="a",target="127.0.0.1:8000",model="m"}', values: '240x10'}
`,
			at: "5m", result: `
          - {labels: '{}', value: 300}
`,
		},
		{
			name: "one target name on two hosts: the failures of both",
			file: "load-latency.json", title: "Failed probes", kind: "stat",
			input: twoHosts + `
      - {series: 'accelerator_probe_failures_total{job="j",instance="a",target="127.0.0.1:8000",model="m",reason="connect"}', values: '0x10'}
      - {series: 'accelerator_probe_failures_total{job="j",instance="b",target="127.0.0.1:8000",model="m",reason="connect"}', values: '0+1x10'}
`,
			at: "5m", result: `
          - {labels: '{}', value: 0.5}
`,
		},
		{
			name: "a process on cards of two nodes that is bound to neither is misplaced, as the alert has it",
			file: "numa.json", title: "Processes and their cards", kind: "table", query: 1,
			input: `
      - {series: 'accelerator_numa_node{job="j",instance="a",vendor="metax",device="0"}', values: '0x10'}
      - {series: 'accelerator_numa_node{job="j",instance="a",vendor="metax",device="1"}', values: '1x10'}
      - {series: 'accelerator_process_memory_used_bytes{job="j",instance="a",vendor="metax",device="0",pid="5",process="p"}', values: '1x10'}
      - {series: 'accelerator_process_near_cpus_ratio{job="j",instance="a",vendor="metax",device="0",pid="5"}', values: '0x10'}
      - {series: 'accelerator_process_memory_used_bytes{job="j",instance="a",vendor="metax",device="1",pid="5",process="p"}', values: '1x10'}
      - {series: 'accelerator_process_near_cpus_ratio{job="j",instance="a",vendor="metax",device="1",pid="5"}', values: '0x10'}
      - {series: 'accelerator_process_memory_used_bytes{job="j",instance="a",vendor="metax",device="0",pid="6",process="p"}', values: '1x10'}
      - {series: 'accelerator_process_near_cpus_ratio{job="j",instance="a",vendor="metax",device="0",pid="6"}', values: '0.5x10'}
      - {series: 'accelerator_process_memory_used_bytes{job="j",instance="a",vendor="metax",device="1",pid="6",process="p"}', values: '1x10'}
      - {series: 'accelerator_process_near_cpus_ratio{job="j",instance="a",vendor="metax",device="1",pid="6"}', values: '0.5x10'}
      - {series: 'accelerator_process_memory_used_bytes{job="j",instance="a",vendor="metax",device="0",pid="7",process="p"}', values: '1x10'}
      - {series: 'accelerator_process_near_cpus_ratio{job="j",instance="a",vendor="metax",device="0",pid="7"}', values: '1x10'}
`,
			at: "5m", result: `
          - {labels: '{job="j",instance="a",vendor="metax",pid="5"}', value: 1}
          - {labels: '{job="j",instance="a",vendor="metax",pid="6"}', value: 3}
          - {labels: '{job="j",instance="a",vendor="metax",pid="7"}', value: 4}
`,
		},
		{
			name: "a reload withdraws probes, which is no failure of the endpoint",
			file: "load-latency.json", title: "Failed probes", kind: "stat",
			input: withdrawn, at: "5m", result: `
          - {labels: '{}', value: 0.25}
`,
		},
		{
			name: "withdrawn probes are seen by reason",
			file: "load-latency.json", title: "Failed probes by reason", kind: "timeseries",
			input: withdrawn, at: "5m", result: `
          - {labels: '{reason="canceled"}', value: 0.5}
          - {labels: '{reason="connect"}', value: 0.25}
`,
		},
		{
			name: "withdrawn probes are no failures of the fleet",
			file: "fleet.json", title: "Probes that fail", kind: "timeseries",
			input: withdrawn, at: "5m", result: `
          - {labels: '{}', value: 0.25}
`,
		},
		{
			name: "what adds up to the fleet's failures holds no withdrawn probes",
			file: "fleet.json", title: "Probes that fail", kind: "timeseries", query: 1,
			input: withdrawn, at: "5m", result: `
          - {labels: '{reason="connect"}', value: 0.25}
`,
		},
		{
			name: "withdrawn probes make no target fail",
			file: "fleet.json", title: "Targets that fail most", kind: "table",
			input: withdrawn, at: "5m", result: `
          - {labels: '{job="j",instance="a",target="t"}', value: 0.25}
`,
		},
		{
			name: "withdrawn probes are no failures on a card's page",
			file: "card.json", title: "Probed endpoints", kind: "table", query: 1,
			input: withdrawn, at: "5m", result: `
          - {labels: '{job="j",instance="a",target="t"}', value: 0.25}
`,
		},
		{
			name: "requests are those of the target's own server, else of all that are nobody's",
			file: "load-latency.json", title: "By requests in the server", kind: "table", query: 1,
			input: servers + `
      - {series: 'accelerator_probe_requests_total{job="j",instance="a",target="t",model="m"}', values: '0+1x10'}
      - {series: 'accelerator_probe_requests_total{job="j",instance="a",target="other",model="m"}', values: '0+1x10'}
      - {series: 'accelerator_probe_requests_total{job="j",instance="a",target="without",model="m"}', values: '0+1x10'}
      - {series: 'accelerator_probe_time_to_first_token_seconds_bucket{job="j",instance="a",target="t",model="m",le="1"}', values: '0+1x10'}
      - {series: 'accelerator_probe_time_to_first_token_seconds_bucket{job="j",instance="a",target="t",model="m",le="+Inf"}', values: '0+1x10'}
      - {series: 'accelerator_probe_time_to_first_token_seconds_bucket{job="j",instance="a",target="other",model="m",le="2"}', values: '0+1x10'}
      - {series: 'accelerator_probe_time_to_first_token_seconds_bucket{job="j",instance="a",target="other",model="m",le="+Inf"}', values: '0+1x10'}
      - {series: 'accelerator_probe_time_to_first_token_seconds_bucket{job="j",instance="a",target="without",model="m",le="4"}', values: '0+1x10'}
      - {series: 'accelerator_probe_time_to_first_token_seconds_bucket{job="j",instance="a",target="without",model="m",le="+Inf"}', values: '0+1x10'}
`,
			at: "9m", result: `
          - {labels: '{band="1"}', value: 0.5}
          - {labels: '{band="2"}', value: 2}
          - {labels: '{band="4"}', value: 1}
`,
		},
		{
			name: "requests are those in the server of the sidecar's own pod, where replicas have the same target",
			file: "load-latency.json", title: "By requests in the server", kind: "table", query: 1,
			input: servers + `
      - {series: 'vllm:num_requests_running{job="vllm",instance="s4",target="t",model_name="m",engine="0"}', values: '1024x10'}
      - {series: 'vllm:num_requests_waiting{job="vllm",instance="s4",target="t",model_name="m",engine="0"}', values: '0x10'}
      - {series: 'accelerator_probe_requests_total{job="j",instance="s1",target="t",model="m"}', values: '0+1x10'}
      - {series: 'accelerator_probe_time_to_first_token_seconds_bucket{job="j",instance="s1",target="t",model="m",le="1"}', values: '0+1x10'}
      - {series: 'accelerator_probe_time_to_first_token_seconds_bucket{job="j",instance="s1",target="t",model="m",le="+Inf"}', values: '0+1x10'}
`,
			at: "9m", result: `
          - {labels: '{band="1"}', value: 0.5}
`,
		},
		{
			name: "a broken card that the table lacks is missing, as in the alert, though the tool lists it elsewhere",
			file: "fleet.json", title: "Cards missing", kind: "stat",
			input: brokenCard, at: "5m", result: `
          - {labels: '{}', value: 1}
`,
		},
		{
			name: "all cards of a host whose tool fails are missing",
			file: "fleet.json", title: "Cards missing", kind: "stat",
			input: `
      - {series: 'accelerator_devices_expected{job="j",instance="a",vendor="metax"}', values: '4x10'}
`,
			at: "5m", result: `
          - {labels: '{}', value: 4}
`,
		},
		{
			name: "two pods of a node, of which one came after the other, are one host whose card was always healthy",
			file: "fleet.json", title: "Health of the worst cards", kind: "state-timeline",
			input: `
      - {series: 'up{job="j",instance="n",pod="old"}', values: '1x5 _x5'}
      - {series: 'up{job="j",instance="n",pod="new"}', values: '_x5 1x5'}
      - {series: 'up{job="j",instance="n",pod="sidecar"}', values: '1x10'}
      - {series: 'accelerator_healthy{job="j",instance="n",pod="old",vendor="metax",device="0"}', values: '1x5 _x5'}
      - {series: 'accelerator_healthy{job="j",instance="n",pod="new",vendor="metax",device="0"}', values: '_x5 1x5'}
      - {series: 'up{job="j",instance="m"}', values: '1x10'}
      - {series: 'accelerator_healthy{job="j",instance="m",vendor="metax",device="0"}', values: '0x5 1x5'}
`,
			at: "10m", with: "1", result: `
          - {labels: '{job="j",instance="m",vendor="metax",device="0",several="0"}', value: 1}
`,
		},
		{
			name: "two pods of a node are one host",
			file: "fleet.json", title: "Hosts", kind: "stat",
			input: `
      - {series: 'up{job="j",instance="n",pod="cards"}', values: '1x10'}
      - {series: 'up{job="j",instance="n",pod="sidecar"}', values: '1x10'}
      - {series: 'accelerator_exporter_build_info{job="j",instance="n",pod="cards"}', values: '1x10'}
      - {series: 'accelerator_exporter_build_info{job="j",instance="n",pod="sidecar"}', values: '1x10'}
`,
			at: "10m", result: `
          - {labels: '{}', value: 1}
`,
		},
		{
			name: "what holds a busy card down is counted; what is normal, and a card that rests, is not",
			file: "fleet.json", title: "Throttled", kind: "stat",
			input: `
      - {series: 'accelerator_utilization_ratio{job="j",instance="a",vendor="metax",device="0"}', values: '0.9x30'}
      - {series: 'accelerator_throttled{job="j",instance="a",vendor="metax",device="0",reason="over_power"}', values: '1x30'}
      - {series: 'accelerator_utilization_ratio{job="j",instance="a",vendor="metax",device="1"}', values: '0.9x30'}
      - {series: 'accelerator_throttled{job="j",instance="a",vendor="metax",device="1",reason="applications_limit"}', values: '1x30'}
      - {series: 'accelerator_utilization_ratio{job="j",instance="a",vendor="metax",device="2"}', values: '0x30'}
      - {series: 'accelerator_throttled{job="j",instance="a",vendor="metax",device="2",reason="over_power"}', values: '1x30'}
      - {series: 'accelerator_utilization_ratio{job="j",instance="a",vendor="ascend",device="0"}', values: '0.9x30'}
      - {series: 'accelerator_clock_hertz{job="j",instance="a",vendor="ascend",device="0",clock="core"}', values: '1800x10 1500x20'}
      - {series: 'accelerator_clock_max_hertz{job="j",instance="a",vendor="ascend",device="0",clock="core"}', values: '1800x30'}
      - {series: 'accelerator_utilization_ratio{job="j",instance="a",vendor="ascend",device="1"}', values: '0.9x30'}
      - {series: 'accelerator_clock_hertz{job="j",instance="a",vendor="ascend",device="1",clock="core"}', values: '1800x25 800x5'}
      - {series: 'accelerator_clock_max_hertz{job="j",instance="a",vendor="ascend",device="1",clock="core"}', values: '1800x30'}
      - {series: 'accelerator_utilization_ratio{job="j",instance="a",vendor="ascend",device="2"}', values: '0.9x30'}
      - {series: 'accelerator_clock_hertz{job="j",instance="a",vendor="ascend",device="2",clock="core"}', values: '1200x30'}
      - {series: 'accelerator_clock_max_hertz{job="j",instance="a",vendor="ascend",device="2",clock="core"}', values: '1800x30'}
`,
			at: "30m", result: `
          - {labels: '{}', value: 3}
`,
		},
		{
			name: "a card with a lane less than yesterday and one with a slower port, and none for a slot of eight lanes",
			file: "fleet.json", title: "Links below usual", kind: "stat",
			input: `
      - {series: 'accelerator_pcie_link_width{job="j",instance="a",vendor="metax",device="0"}', values: '16x100 8x1500'}
      - {series: 'accelerator_pcie_link_width{job="j",instance="a",vendor="metax",device="1"}', values: '8x1600'}
      - {series: 'accelerator_network_up{job="j",instance="a",vendor="ascend",device="0",udie="",port=""}', values: '0x1600'}
      - {series: 'accelerator_network_speed_bits_per_second{job="j",instance="a",vendor="ascend",device="1",udie="0",port="4"}', values: '400x1600'}
      - {series: 'accelerator_network_speed_bits_per_second{job="j",instance="a",vendor="ascend",device="1",udie="0",port="5"}', values: '400x100 200x1500'}
`,
			at: "25h", result: `
          - {labels: '{}', value: 2}
`,
		},
		{
			name: "uncorrectable errors, one that a driver's restart hid, and a retired page are three cards; corrected errors and a list that gets shorter are none",
			file: "fleet.json", title: "Errors grow", kind: "stat",
			input: `
      - {series: 'accelerator_ecc_errors_total{job="j",instance="a",vendor="metax",device="0",memory="dram",type="uncorrectable"}', values: '0x5 1x5'}
      - {series: 'accelerator_ecc_errors_total{job="j",instance="a",vendor="metax",device="1",memory="dram",type="correctable"}', values: '0+1x10'}
      - {series: 'accelerator_ecc_retired_pages{job="j",instance="a",vendor="ascend",device="0",memory="hbm",type="uncorrectable"}', values: '3x5 4x5'}
      - {series: 'accelerator_ecc_retired_pages{job="j",instance="a",vendor="ascend",device="1",memory="hbm",type="uncorrectable"}', values: '64x10'}
      - {series: 'accelerator_ecc_errors_total{job="j",instance="a",vendor="ascend",device="2",memory="hbm",type="uncorrectable"}', values: '2x5 0x5'}
      - {series: 'accelerator_ecc_lifetime_errors_total{job="j",instance="a",vendor="ascend",device="2",memory="hbm",type="uncorrectable"}', values: '5x5 6x5'}
      - {series: 'accelerator_ras_errors_total{job="j",instance="a",vendor="metax",device="2",type="uncorrectable"}', values: '5x5 2x5'}
`,
			at: "9m", result: `
          - {labels: '{}', value: 3}
`,
		},
		{
			name: "a list that gets shorter is no error",
			file: "card.json", title: "Errors", kind: "timeseries", query: 1,
			input: `
      - {series: 'accelerator_ras_errors_total{job="j",instance="a",vendor="metax",device="0",type="uncorrectable"}', values: '5x5 2x5'}
      - {series: 'accelerator_ras_errors_total{job="j",instance="a",vendor="metax",device="0",type="correctable"}', values: '0+6x10'}
`,
			at: "9m", result: `
          - {labels: '{type="correctable"}', value: 0.1}
`,
		},
		{
			name: "steps of the same name at two endpoints are two",
			file: "benchmark.json", title: "Steps", kind: "table",
			input: `
      - {series: 'accelerator_bench_requests_total{job="accelbench",instance="g",target="one",model="m",step="8"}', values: '5x10'}
      - {series: 'accelerator_bench_requests_total{job="accelbench",instance="g",target="two",model="m",step="8"}', values: '6x10'}
      - {series: 'accelerator_bench_requests_total{job="accelbench",instance="h",target="two",model="m",step="8"}', values: '7x10'}
`,
			at: "5m", result: `
          - {labels: '{target="one",model="m",step="8"}', value: 5}
          - {labels: '{target="two",model="m",step="8"}', value: 13}
`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			expr := queryAt(t, tc.file, tc.title, tc.kind, tc.query)
			values := []string{"$__range", "10m"}
			if tc.with != "" {
				values = append(values, "$target", tc.with, "$top", tc.with)
			}
			rulesTest(t, programs, tc.input, filled(expr, values...), tc.at, tc.result[1:])
		})
	}
}

// TestCorrelation: a latency that rises with the load has 1, and of a load that did not change nothing is known.
func TestCorrelation(t *testing.T) {
	expr := queryAt(t, "load-latency.json", "Correlation with utilization", "stat", 0)
	for _, tc := range []struct{ name, load, want string }{
		{"load and latency rise", "0+0.05x15", "          - {labels: '{}', value: 1}\n"},
		{"the load stays", "0.83x15", "          []\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rulesTest(t, promtools(t), fmt.Sprintf(`
      - {series: 'accelerator_info{job="j",instance="a",vendor="metax",device="0"}', values: '1x15'}
      - {series: 'accelerator_utilization_ratio{job="j",instance="a",vendor="metax",device="0"}', values: '%s'}
      - {series: 'accelerator_probe_requests_total{job="j",instance="a",target="t",model="m"}', values: '0+1x15'}
      - {series: 'accelerator_probe_time_to_first_token_seconds_count{job="j",instance="a",target="t",model="m"}', values: '0+1x15'}
      - {series: 'accelerator_probe_time_to_first_token_seconds_sum{job="j",instance="a",target="t",model="m"}', values: '0 1 3 6 10 15 21 28 36 45 55 66 78 91 105 120'}
`, tc.load), "round("+filled(expr, "$__range", "8m")+", 0.01)", "15m", tc.want)
		})
	}
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
		{"d", ".*", "s3|s4:8000|e:8000"},
		{"a|d", ".*", "s1|s3|s4:8000|e:8000"},
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

const (
	twoHosts = `
      - {series: 'accelerator_probe_requests_total{job="j",instance="a",target="127.0.0.1:8000",model="m"}', values: '0+1x10'}
      - {series: 'accelerator_probe_requests_total{job="j",instance="b",target="127.0.0.1:8000",model="m"}', values: '0+1x10'}`

	// Of every four probes one found no server, and the exporter withdrew two.
	withdrawn = `
      - {series: 'accelerator_probe_requests_total{job="j",instance="a",target="t",model="m"}', values: '0+4x10'}
      - {series: 'accelerator_probe_failures_total{job="j",instance="a",target="t",model="m",reason="connect"}', values: '0+1x10'}
      - {series: 'accelerator_probe_failures_total{job="j",instance="a",target="t",model="m",reason="canceled"}', values: '0+2x10'}
      - {series: 'accelerator_probe_target_device_info{job="j",instance="a",target="t",vendor="metax",device="0"}', values: '1x10'}
`

	servers = `
      - {series: 'vllm:num_requests_running{job="vllm",instance="s1",target="t",model_name="m",engine="0"}', values: '1x10'}
      - {series: 'vllm:num_requests_waiting{job="vllm",instance="s1",target="t",model_name="m",engine="0"}', values: '0x10'}
      - {series: 'vllm:num_requests_running{job="vllm",instance="s2",target="other",model_name="m",engine="0"}', values: '64x10'}
      - {series: 'vllm:num_requests_waiting{job="vllm",instance="s2",target="other",model_name="m",engine="0"}', values: '0x10'}
      - {series: 'vllm:num_requests_running{job="vllm",instance="s3",model_name="m",engine="0"}', values: '4x10'}
      - {series: 'vllm:num_requests_waiting{job="vllm",instance="s3",model_name="m",engine="0"}', values: '0x10'}`

	brokenCard = `
      - {series: 'accelerator_devices{job="j",instance="a",vendor="metax"}', values: '1x10'}
      - {series: 'accelerator_devices_expected{job="j",instance="a",vendor="metax"}', values: '2x10'}
      - {series: 'accelerator_info{job="j",instance="a",vendor="metax",device="0"}', values: '1x10'}
      - {series: 'accelerator_info{job="j",instance="a",vendor="metax",device="1"}', values: '1x10'}
`
)
