package dashboards_test

import (
	"fmt"
	"strings"
	"testing"
)

// Host a has two cards and two targets, of which one's card is known; host b has a card and a target whose cards are not
// known; host c has no card and probes a target that is elsewhere; the tool of host d fails, so that its cards are not listed.
const servingInput = `
      - {series: 'accelerator_utilization_ratio{job="j",instance="a",vendor="metax",device="0"}', values: '0.1x10'}
      - {series: 'accelerator_utilization_ratio{job="j",instance="a",vendor="metax",device="1"}', values: '0.2x10'}
      - {series: 'accelerator_utilization_ratio{job="j",instance="b",vendor="ascend",device="0"}', values: '0.3x10'}
      - {series: 'accelerator_info{job="j",instance="a",vendor="metax",device="0",name="x"}', values: '1x10'}
      - {series: 'accelerator_info{job="j",instance="a",vendor="metax",device="1",name="x"}', values: '1x10'}
      - {series: 'accelerator_info{job="j",instance="b",vendor="ascend",device="0",name="y"}', values: '1x10'}
      - {series: 'accelerator_devices_expected{job="j",instance="a",vendor="metax"}', values: '2x10'}
      - {series: 'accelerator_devices_expected{job="j",instance="b",vendor="ascend"}', values: '1x10'}
      - {series: 'accelerator_devices_expected{job="j",instance="d",vendor="metax"}', values: '8x10'}
      - {series: 'accelerator_probe_target_device_info{job="j",instance="a",target="known",vendor="metax",device="0"}', values: '1x10'}
      - {series: 'accelerator_probe_requests_total{job="j",instance="a",target="known",model="m"}', values: '0+4x10'}
      - {series: 'accelerator_probe_requests_total{job="j",instance="a",target="hidden here",model="m"}', values: '0+1x10'}
      - {series: 'accelerator_probe_requests_total{job="j",instance="b",target="hidden",model="m"}', values: '0+1x10'}
      - {series: 'accelerator_probe_requests_total{job="j",instance="c",target="far",model="m"}', values: '0+1x10'}
      - {series: 'accelerator_probe_requests_total{job="j",instance="d",target="silent",model="m"}', values: '0+1x10'}
      - {series: 'accelerator_probe_target_device_info{job="j",instance="d",target="silent",vendor="metax",device="0"}', values: '1x10'}
`

// TestServingCards gives the table of cards' query, as it is in the JSON, to Prometheus' own rule tests.
func TestServingCards(t *testing.T) {
	programs := promtools(t)
	expr := queryAt(t, "load-latency.json", "Cards that serve", "table", 1)
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
		{"several targets: the cards of each", ".*", "known|hidden", []string{a0, b0}},
		{"a far target has no cards beside one whose cards are known", ".*", "known|far", []string{a0}},
		{"a target of a host whose tool fails has no other host's cards", ".*", "silent", nil},
		{"a known card of a host whose tool fails hides nobody's", ".*", "silent|hidden", []string{b0}},
		{"nothing that is chosen is probed: all chosen", "b", "known", []string{b0}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var want strings.Builder
			for _, labels := range tc.want {
				fmt.Fprintf(&want, "          - {labels: '%s', value: %s}\n", labels, value[labels])
			}
			rulesTest(t, programs, servingInput, filled(expr, "$instance", tc.instance, "$target", tc.target), "5m", want.String())
		})
	}
}

// TestLoadOfTargets: two targets are two lines, each with the load of its own cards; the one that is probed less has a number.
func TestLoadOfTargets(t *testing.T) {
	expr := filled(queryAt(t, "load-latency.json", "Load and latency", "timeseries", 0), "$target", "known|hidden")
	rulesTest(t, promtools(t), servingInput, expr, "5m", `          - {labels: '{instance="a",target="known"}', value: 0.1}
          - {labels: '{instance="b",target="hidden",n=" (2)"}', value: 0.3}
`)
}

// TestHostOfEndpoint: the host under load is that of the endpoint.
func TestHostOfEndpoint(t *testing.T) {
	var expr string
	for _, b := range boards(t) {
		for _, v := range b.Templating.List {
			if b.file == "benchmark.json" && v.Name == "instance" {
				expr = strings.TrimSuffix(strings.TrimPrefix(queryOf(v), "query_result("), ")")
			}
		}
	}
	rulesTest(t, promtools(t), `
      - {series: 'accelerator_bench_requests_total{instance="g",target="e:8000",model="m",step="1"}', values: '1x10'}
      - {series: 'accelerator_exporter_build_info{job="j",instance="e:10068"}', values: '1x10'}
      - {series: 'accelerator_exporter_build_info{job="j",instance="f:10068"}', values: '1x10'}
`, filled("group by (instance) ("+expr+")"), "9m", "          - {labels: '{instance=\"e:10068\"}', value: 1}\n")
}
