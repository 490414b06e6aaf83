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
		name                     string
		file, title, kind        string
		query                    int
		input, at, before, after string
		result                   string
	}{
		{
			name: "with the rules, no alert is known to be none",
			file: "load-latency.json", title: "Firing alerts", kind: "stat", query: 3,
			input: `
      - {series: 'target:accelerator_probe_success:last{job="j",instance="a",target="t"}', values: '1x10'}
`,
			at: "5m", result: `
          - {labels: '{}', value: 0}
`,
		},
		{
			name: "without the rules nothing is known of alerts",
			file: "load-latency.json", title: "Firing alerts", kind: "stat", query: 3,
			input: brokenCard, at: "5m", result: `
          []
`,
		},
		{
			name: "two rows of one alert tell what differs",
			file: "card.json", title: "Firing alerts", kind: "table",
			input: `
      - {series: 'ALERTS{alertname="AcceleratorProcessMisplaced",alertstate="firing",severity="info",job="j",instance="a",vendor="metax",device="0",pid="5"}', values: '1x10'}
      - {series: 'ALERTS_FOR_STATE{alertname="AcceleratorProcessMisplaced",severity="info",job="j",instance="a",vendor="metax",device="0",pid="5"}', values: '60x10'}
      - {series: 'ALERTS{alertname="AcceleratorProcessMisplaced",alertstate="firing",severity="info",job="j",instance="a",vendor="metax",device="0",pid="6"}', values: '1x10'}
      - {series: 'ALERTS_FOR_STATE{alertname="AcceleratorProcessMisplaced",severity="info",job="j",instance="a",vendor="metax",device="0",pid="6"}', values: '60x10'}
`,
			at: "5m", before: `count by (about) (label_replace(`, after: `, "about", "$1", "about", " *(.*?) *"))`, result: `
          - {labels: '{about="5"}', value: 1}
          - {labels: '{about="6"}', value: 1}
`,
		},
		{
			name: "two pods that let one card lie idle are two rows",
			file: "fleet.json", title: "Firing alerts", kind: "table",
			input: `
      - {series: 'ALERTS{alertname="AcceleratorCardHeldIdle",alertstate="firing",severity="warning",job="j",instance="a",vendor="metax",device="0",namespace="n",pod="p"}', values: '1x10'}
      - {series: 'ALERTS_FOR_STATE{alertname="AcceleratorCardHeldIdle",severity="warning",job="j",instance="a",vendor="metax",device="0",namespace="n",pod="p"}', values: '60x10'}
      - {series: 'ALERTS{alertname="AcceleratorCardHeldIdle",alertstate="firing",severity="warning",job="j",instance="a",vendor="metax",device="0",namespace="n",pod="q"}', values: '1x10'}
      - {series: 'ALERTS_FOR_STATE{alertname="AcceleratorCardHeldIdle",severity="warning",job="j",instance="a",vendor="metax",device="0",namespace="n",pod="q"}', values: '60x10'}
`,
			at: "5m", before: `count by (about) (label_replace(`, after: `, "about", "$1", "about", " *(.*?) *"))`, result: `
          - {labels: '{about="p"}', value: 1}
          - {labels: '{about="q"}', value: 1}
`,
		},
		{
			name: "an exporter that cannot know the containers of others is a choice, and no collector that fails",
			file: "fleet.json", title: "Collectors failing", kind: "stat",
			input: `
      - {series: 'accelerator_collector_success{job="j",instance="own",collector="containers"}', values: '0x10'}
      - {series: 'accelerator_collector_failures_total{job="j",instance="own",collector="containers",reason="unsupported"}', values: '0+6x10'}
      - {series: 'accelerator_collector_success{job="j",instance="closed",collector="containers"}', values: '0x10'}
      - {series: 'accelerator_collector_failures_total{job="j",instance="closed",collector="containers",reason="permission"}', values: '0+6x10'}
`,
			at: "5m", result: `
          - {labels: '{known="2",what="collectors"}', value: 1}
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
			name: "of a card that is lost, one that is broken and a host whose tool fails, one is missing, of those that are known",
			file: "fleet.json", title: "Cards missing", kind: "stat",
			input: brokenCard + `
      - {series: 'accelerator_devices_expected{job="j",instance="b",vendor="metax"}', values: '8x10'}
`, at: "5m", result: `
          - {labels: '{known="2",what="known"}', value: 1}
`,
		},
		{
			name: "where all is known, no card is missing of all",
			file: "fleet.json", title: "Cards unhealthy", kind: "stat",
			input: brokenCard, at: "5m", result: `
          - {labels: '{known="2",what="cards"}', value: 1}
`,
		},
		{
			name: "an exporter that is down leaves targets unknown",
			file: "fleet.json", title: "Targets failing", kind: "stat",
			input: `
      - {series: 'accelerator_exporter_build_info{job="j",instance="b"}', values: '1x3 stale'}
      - {series: 'accelerator_probe_state{job="j",instance="a",target="t",state="ok"}', values: '1x10'}
      - {series: 'accelerator_probe_state{job="j",instance="a",target="t",state="failing"}', values: '0x10'}
      - {series: 'up{job="j",instance="a"}', values: '1x10'}
      - {series: 'up{job="j",instance="b"}', values: '1x3 0x7'}
`, at: "5m", result: `
          - {labels: '{known="1",what="known"}', value: 0}
`,
		},
		{
			name: "a host that is down and one whose tool fails stay among the hosts",
			file: "fleet.json", title: "Hosts", kind: "table",
			input: brokenCard + `
      - {series: 'accelerator_exporter_build_info{job="j",instance="b"}', values: '1x10'}
      - {series: 'accelerator_devices_expected{job="j",instance="b",vendor="metax"}', values: '8x10'}
      - {series: 'accelerator_devices_expected{job="j",instance="c",vendor="metax"}', values: '8x3 stale'}
      - {series: 'up{job="j",instance="a"}', values: '1x10'}
      - {series: 'up{job="j",instance="b"}', values: '1x10'}
      - {series: 'up{job="j",instance="c"}', values: '1x3 0x7'}
      - {series: 'up{job="j",instance="d"}', values: '0x10'}
`, at: "5m", result: `
          - {labels: '{job="j",instance="a",vendor="metax"}', value: 2}
          - {labels: '{job="j",instance="b",vendor="metax"}', value: 1}
          - {labels: '{job="j",instance="c",vendor="metax"}', value: 0}
          - {labels: '{job="j",instance="d"}', value: 0}
`,
		},
		{
			name: "a card that a good poll lacks is missing, though its neighbours are polled",
			file: "card.json", title: "Health", kind: "stat",
			input: lostCard, at: "10m", result: `
          - {labels: '{}', value: -1}
`,
		},
		{
			name: "a card that is gone was last seen before it went",
			file: "card.json", title: "Last seen", kind: "stat",
			input: lostCard, at: "10m", result: `
          - {labels: '{}', value: 420}
`,
		},
		{
			name: "the UUID of a card is known after its tool ceased to print it",
			file: "card.json", title: "Identity and versions", kind: "table", query: 1,
			input: lostCard, at: "10m", before: "group by (uuid) (", after: ")", result: `
          - {labels: '{uuid="U7"}', value: 1}
`,
		},
		{
			name: "an alert of the card's host or vendor is shown with those of the card, one of another card is not",
			file: "card.json", title: "Firing alerts", kind: "table",
			input: `
      - {series: 'ALERTS{alertname="AcceleratorCardsMissing",alertstate="firing",severity="critical",job="j",instance="a",vendor="metax"}', values: '1x10'}
      - {series: 'ALERTS_FOR_STATE{alertname="AcceleratorCardsMissing",severity="critical",job="j",instance="a",vendor="metax"}', values: '60x10'}
      - {series: 'ALERTS{alertname="AcceleratorExporterDown",alertstate="firing",severity="critical",job="j",instance="a"}', values: '1x10'}
      - {series: 'ALERTS_FOR_STATE{alertname="AcceleratorExporterDown",severity="critical",job="j",instance="a"}', values: '60x10'}
      - {series: 'ALERTS{alertname="AcceleratorCollectorFailing",alertstate="firing",severity="warning",job="j",instance="a",collector="ascend"}', values: '1x10'}
      - {series: 'ALERTS_FOR_STATE{alertname="AcceleratorCollectorFailing",severity="warning",job="j",instance="a",collector="ascend"}', values: '60x10'}
      - {series: 'ALERTS{alertname="AcceleratorCardHot",alertstate="firing",severity="warning",job="j",instance="a",vendor="metax",device="3"}', values: '1x10'}
      - {series: 'ALERTS_FOR_STATE{alertname="AcceleratorCardHot",severity="warning",job="j",instance="a",vendor="metax",device="3"}', values: '60x10'}
`,
			at: "5m", before: "group by (alertname) (", after: ")", result: `
          - {labels: '{alertname="AcceleratorCardsMissing"}', value: 1}
          - {labels: '{alertname="AcceleratorExporterDown"}', value: 1}
`,
		},
		{
			name: "the cards of an alert on missing ones are named, since when they are, and stand with what is critical",
			file: "fleet.json", title: "Firing alerts", kind: "table",
			input: brokenCard + `
      - {series: 'ALERTS{alertname="AcceleratorCardsMissing",alertstate="firing",severity="critical",job="j",instance="a",vendor="metax"}', values: '1x10'}
      - {series: 'ALERTS_FOR_STATE{alertname="AcceleratorCardsMissing",severity="critical",job="j",instance="a",vendor="metax"}', values: '60x10'}
      - {series: 'ALERTS_FOR_STATE{alertname="AcceleratorCardHot",severity="warning",job="j",instance="a",vendor="metax",device="0"}', values: '60x10'}
`,
			at: "5m", before: `sum by (severity, alertname, device) (`, after: `)`, result: `
          - {labels: '{severity="1",alertname="AcceleratorCardsMissing",device="2"}', value: 60000}
`,
		},
		{
			name: "two pods of a node, of which one came after the other, are one host whose card was always healthy, and no bad one",
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
			at: "10m", result: `
          - {labels: '{a_rank="305",job="j",instance="m",vendor="metax",device="0"}', value: 1}
`,
		},
		{
			name: "where no card was bad, one line says so",
			file: "fleet.json", title: "Health of the worst cards", kind: "state-timeline", query: 1,
			input: `
      - {series: 'up{job="j",instance="n"}', values: '1x10'}
      - {series: 'accelerator_healthy{job="j",instance="n",vendor="metax",device="0"}', values: '1x10'}
`,
			at: "10m", result: `
          - {labels: '{}', value: 1}
`,
		},
		{
			name: "a port that lost its link is down, one that never had any is not",
			file: "card.json", title: "Network ports", kind: "table",
			input: `
      - {series: 'accelerator_network_up{job="j",instance="a",vendor="metax",device="0",port="0"}', values: '1x5 0x5'}
      - {series: 'accelerator_network_up{job="j",instance="a",vendor="metax",device="0",port="1"}', values: '0x10'}
`,
			at: "9m", result: `
          - {labels: '{instance="a",device="0",port="0"}', value: 0}
          - {labels: '{instance="a",device="0",port="1"}', value: -1}
`,
		},
		{
			name: "the figures of a benchmark are of its latest run",
			file: "benchmark.json", title: "Requests", kind: "stat",
			input: twoRuns, at: "9m", result: `
          - {labels: '{}', value: 9}
`,
		},
		{
			name: "a step of which all requests failed has no latency, and no NaN",
			file: "benchmark.json", title: "Steps", kind: "table", query: 4,
			input: twoRuns, at: "9m", result: `
          []
`,
		},
		{
			name: "a step that began before the range has its time, and its place in the order",
			file: "benchmark.json", title: "Steps", kind: "table", query: 9,
			input: twoRuns, at: "18m", result: `
          - {labels: '{target="e:8000",model="m",step="2"}', value: 360000}
`,
		},
		{
			name: "a client that is late by less than a millisecond is no trouble",
			file: "benchmark.json", title: "Client lag against gaps", kind: "stat",
			input: twoRuns, at: "9m", result: `
          - {labels: '{}', value: 0}
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
	} {
		t.Run(tc.name, func(t *testing.T) {
			expr := queryAt(t, tc.file, tc.title, tc.kind, tc.query)
			rulesTest(t, programs, tc.input, tc.before+filled(expr, "$__range", "10m", "$maker", "metax", "$card", "0")+tc.after, tc.at, tc.result[1:])
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

const (
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

	// A run of the step 1 ended, one of the step 2 goes on.
	twoRuns = `
      - {series: 'accelerator_bench_requests_total{instance="g",target="e:8000",model="m",step="1"}', values: '5x4 stale'}
      - {series: 'accelerator_bench_requests_total{instance="g",target="e:8000",model="m",step="2"}', values: '_x6 9x9'}
      - {series: 'accelerator_bench_phase{instance="g",target="e:8000",model="m",step="2",phase="steady"}', values: '_x6 1 1 stale'}
      - {series: 'accelerator_bench_time_to_first_token_seconds_bucket{instance="g",target="e:8000",model="m",step="2",le="+Inf"}', values: '_x6 0x9'}
      - {series: 'accelerator_bench_inter_token_latency_seconds_bucket{instance="g",target="e:8000",model="m",step="2",le="0.001"}', values: '_x6 2x9'}
      - {series: 'accelerator_bench_inter_token_latency_seconds_bucket{instance="g",target="e:8000",model="m",step="2",le="+Inf"}', values: '_x6 2x9'}
      - {series: 'accelerator_bench_client_lag_seconds_sum{instance="g",target="e:8000",model="m",step="2"}', values: '_x6 0.001x9'}
      - {series: 'accelerator_bench_client_lag_seconds_count{instance="g",target="e:8000",model="m",step="2"}', values: '_x6 2x9'}
`

	lostCard = `
      - {series: 'accelerator_collector_last_success_timestamp_seconds{job="j",instance="a",collector="metax"}', values: '0+60x10'}
      - {series: 'accelerator_info{job="j",instance="a",vendor="metax",device="6",uuid="U6"}', values: '1x10'}
      - {series: 'accelerator_info{job="j",instance="a",vendor="metax",device="0",uuid="U7"}', values: '1 1 stale'}
      - {series: 'accelerator_info{job="j",instance="a",vendor="metax",device="0"}', values: '_ _ 1 1 stale'}
      - {series: 'accelerator_device_missing_info{job="j",instance="a",vendor="metax",device="0",name="H100"}', values: '_x3 1x10'}
`

	brokenCard = `
      - {series: 'accelerator_devices{job="j",instance="a",vendor="metax"}', values: '1x10'}
      - {series: 'accelerator_devices_expected{job="j",instance="a",vendor="metax"}', values: '3x10'}
      - {series: 'accelerator_device_missing_info{job="j",instance="a",vendor="metax",device="1"}', values: '1x10'}
      - {series: 'accelerator_device_missing_info{job="j",instance="a",vendor="metax",device="2"}', values: '1x10'}
      - {series: 'accelerator_healthy{job="j",instance="a",vendor="metax",device="0"}', values: '1x10'}
      - {series: 'accelerator_healthy{job="j",instance="a",vendor="metax",device="1"}', values: '0x10'}
      - {series: 'accelerator_info{job="j",instance="a",vendor="metax",device="0"}', values: '1x10'}
      - {series: 'accelerator_info{job="j",instance="a",vendor="metax",device="1"}', values: '1x10'}
`
)
