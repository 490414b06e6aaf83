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
      - {series: 'accelerator_probe_requests_total{job="j",instance="a",target="known",model="m"}', values: '0+1x10'}
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
		{"a far target has its cards also beside one whose cards are known", ".*", "known|far", []string{a0, a1, b0}},
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

// Two hosts have a target of the same name. On host a the cards are idle in the first half hour and first tokens come
// within 0.1 s, in the second they are busy and first tokens take 0.1 to 1 s. Host b is busy first and idle
// then, and its first tokens always take 0.1 to 1 s. Host c has no cards and probes another target.
func bandInput() string {
	var b strings.Builder
	add := func(series, values string) { fmt.Fprintf(&b, "\n      - {series: '%s', values: '%s'}", series, values) }
	cards := func(instance, utilization string) {
		labels := `{job="j",instance="` + instance + `",vendor="metax",device="0"}`
		add("accelerator_utilization_ratio"+labels, utilization)
		add("accelerator_info"+labels, "1x66")
		add(`accelerator_devices_expected{job="j",instance="`+instance+`",vendor="metax"}`, "1x66")
	}
	probes := func(instance, target, fast, all string) {
		labels := `job="j",instance="` + instance + `",target="` + target + `",model="m"`
		add("accelerator_probe_requests_total{"+labels+"}", "0+1x66")
		add("accelerator_probe_time_to_first_token_seconds_bucket{"+labels+`,le="0.1"}`, fast)
		add("accelerator_probe_time_to_first_token_seconds_bucket{"+labels+`,le="1"}`, all)
		add("accelerator_probe_time_to_first_token_seconds_bucket{"+labels+`,le="+Inf"}`, all)
	}
	cards("a", "0.1x29 _x7 0.9x29")
	probes("a", "t", "0+1x29 29x36", "0+1x29 29x7 30+1x28")
	add(`accelerator_probe_target_device_info{job="j",instance="a",target="t",vendor="metax",device="0"}`, "1x66")
	cards("b", "0.9x29 _x7 0.1x29")
	probes("b", "t", "0x66", "0+1x29 29x7 30+1x28")
	probes("c", "far", "0x66", "0+1x66")
	return b.String() + "\n"
}

// TestLatencyByUtilization tells the bands apart, and takes quantiles of observations, not of quantiles, of which each
// counts for the load of its own host: with one mean over both hosts all would be in the band in the middle. Figures are
// rounded, as the ranges of Prometheus 2 hold one sample more.
func TestLatencyByUtilization(t *testing.T) {
	programs := promtools(t)
	for _, tc := range []struct{ name, instance, target, want string }{
		{"one host", "a", "t", `
          - {labels: '{band="0"}', value: 0.1}
          - {labels: '{band="4"}', value: 0.9}
`[1:]},
		{"two hosts", ".*", "t", `
          - {labels: '{band="0"}', value: 0.8}
          - {labels: '{band="4"}', value: 0.9}
`[1:]},
		{"a prober without cards has the mean of all that are chosen", ".*", "far", `
          - {labels: '{band="2"}', value: 0.9}
`[1:]},
	} {
		t.Run(tc.name, func(t *testing.T) {
			expr := filled(queryAt(t, "load-latency.json", "By utilization", "table", 2), "$instance", tc.instance, "$target", tc.target, "$__range", "3960s")
			rulesTest(t, programs, bandInput(), "round("+expr+", 0.05)", "66m", tc.want)
		})
	}
}
