package dashboards_test

import "testing"

// TestCollectorsOfNoVendor: those of NUMA nodes, of containers and of allocations count whatever vendor is chosen. One that
// cannot know the processes of others, in a PID namespace of its own, is a choice and no failure, as in the alert.
func TestCollectorsOfNoVendor(t *testing.T) {
	const input = `
      - {series: 'accelerator_collector_success{job="j",instance="own",collector="containers"}', values: '0x10'}
      - {series: 'accelerator_collector_last_success_timestamp_seconds{job="j",instance="own",collector="containers"}', values: '0x10'}
      - {series: 'accelerator_collector_failures_total{job="j",instance="own",collector="containers",reason="unsupported"}', values: '0+6x10'}
      - {series: 'accelerator_collector_success{job="j",instance="closed",collector="containers"}', values: '0x10'}
      - {series: 'accelerator_collector_last_success_timestamp_seconds{job="j",instance="closed",collector="containers"}', values: '0x10'}
      - {series: 'accelerator_collector_failures_total{job="j",instance="closed",collector="containers",reason="unsupported"}', values: '0x10'}
      - {series: 'accelerator_collector_failures_total{job="j",instance="closed",collector="containers",reason="permission"}', values: '0+6x10'}
      - {series: 'accelerator_collector_success{job="j",instance="old",collector="allocations"}', values: '0x10'}
      - {series: 'accelerator_collector_last_success_timestamp_seconds{job="j",instance="old",collector="allocations"}', values: '240x10'}
      - {series: 'accelerator_collector_failures_total{job="j",instance="old",collector="allocations",reason="unsupported"}', values: '0+6x10'}
      - {series: 'accelerator_collector_success{job="j",instance="other",collector="ascend"}', values: '0x10'}
      - {series: 'accelerator_collector_last_success_timestamp_seconds{job="j",instance="other",collector="ascend"}', values: '0x10'}
      - {series: 'accelerator_collector_failures_total{job="j",instance="other",collector="ascend",reason="exit"}', values: '0+6x10'}
`
	programs := promtools(t)
	for _, tc := range []struct {
		title, kind   string
		before, after string
		result        string
	}{
		{"Collectors failing", "stat", "", "", `          - {labels: '{}', value: 2}
`},
		{"Problems now", "table", "group by (instance, collector, problem) (", ")", `          - {labels: '{instance="closed",collector="containers",problem="collector failing"}', value: 1}
          - {labels: '{instance="old",collector="allocations",problem="collector failing"}', value: 1}
`},
		{"Collectors longest without a success", "table", "", "", `          - {labels: '{job="j",instance="closed",collector="containers"}', value: 300}
          - {labels: '{job="j",instance="old",collector="allocations"}', value: 60}
`},
		{"Failed polls", "timeseries", "", "", `          - {labels: '{collector="containers",reason="permission"}', value: 6}
          - {labels: '{collector="allocations",reason="unsupported"}', value: 6}
`},
	} {
		t.Run(tc.title, func(t *testing.T) {
			expr := tc.before + filled(queryAt(t, "fleet.json", tc.title, tc.kind, 0), "$vendor", "metax") + tc.after
			rulesTest(t, programs, input, expr, "5m", tc.result)
		})
	}
}
