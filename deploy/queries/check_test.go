package queries

import (
	"strings"
	"testing"
)

// TestProblems: each bad query is refused for its reason, and what is nearly the same
// and right is not.
func TestProblems(t *testing.T) {
	c := known(t)
	c.AddRules([]Rule{
		{Record: "accelerator:busy", Expr: `avg by (instance, vendor) (accelerator_utilization_ratio)`},
		{Record: "accelerator:busy:fleet", Expr: `avg by (vendor) (accelerator:busy)`},
		{Record: "accelerator:hot_above", Expr: `vector(90)`, Labels: map[string]string{"vendor": "metax"}},
		{Record: "accelerator:hot_above", Expr: `vector(95)`, Labels: map[string]string{"vendor": "ascend"}},
		{Record: "accelerator:threshold_hot", Expr: `vector(95)`, Labels: map[string]string{"vendor": "ascend"}},
		{Record: "instance:threshold_hot:effective", Expr: `accelerator_devices * on (instance, vendor) group_left () accelerator:threshold_hot{instance!=""}`},
		{Record: "accelerator:cards", Expr: `accelerator_power_watts > 1`},
		{Alert: "AcceleratorHot", Expr: `accelerator_temperature_celsius > 1`},
	})
	for _, tc := range []struct {
		name, good, bad, says string
	}{
		{"syntax", `up`, `up{`, "not PromQL"},
		{"metric", `accelerator_power_watts`, `accelerator_power_watt`, "no metric that is known"},
		{"metric by regexp", `{__name__=~"accelerator_probe_.+"}`, `{__name__=~"probe_.+"}`, "no metric that is known"},
		{"histogram's own name, of vLLM", `vllm:time_to_first_token_seconds_count`, `vllm:time_to_first_token_seconds`, "no metric that is known"},
		{"other exporter", `vllm:gpu_cache_usage_perc or vllm:kv_cache_usage_perc`, `DCGM_FI_DEV_GPU_UTIL`, "no metric that is known"},
		{"label", `accelerator_power_watts{vendor="metax"}`, `accelerator_power_watts{gpu="0"}`, "has no label gpu, but cluster, device, instance, job, vendor"},
		{"value", `accelerator_power_watts{vendor!="metax"}`, `accelerator_power_watts{vendor="nvidia"}`, `vendor of accelerator_power_watts{vendor="nvidia"} is never "nvidia", but ascend, metax`},
		{"value that is not", `accelerator_power_watts{vendor!="metax"}`, `accelerator_power_watts{vendor!="amd"}`, "is never"},
		{"values", `accelerator_probe_failures_total{reason=~"timeout|http_5.."}`, `accelerator_probe_failures_total{reason=~"timeout|http5xx"}`, `is never "http5xx"`},
		{"value by regexp", `accelerator_probe_failures_total{reason=~"http_.*"}`, `accelerator_probe_failures_total{reason=~"code_.*"}`, `is never "code_.*"`},
		{"value by regexp that may be empty", `accelerator_probe_failures_total{reason=~".*"}`, `accelerator_probe_failures_total{reason=~"x+"}`, "is never"},
		{"value printed by a tool", `accelerator_health_info{reason="whatever"}`, `accelerator_collector_failures_total{reason="whatever"}`, "is never"},
		{"job", `up{job="vllm"}`, `up{job="node"}`, `is never "node"`},
		{"alert", `ALERTS{alertname="AcceleratorHot"}`, `ALERTS{alertname="AcceleratorCold"}`, "is never"},
		{"boundary", `accelerator_probe_time_to_first_token_seconds_bucket{le="2.5"}`, `accelerator_probe_time_to_first_token_seconds_bucket{le="2.6"}`, "never"},
		{"whole boundary", `accelerator_probe_time_to_first_token_seconds_bucket{le=~"2|2.0"}`, `accelerator_probe_time_to_first_token_seconds_bucket{le="2"}`, "OpenMetrics"},
		{"last boundary", `accelerator_probe_time_to_first_token_seconds_bucket{le="+Inf"}`, `accelerator_probe_time_to_first_token_seconds_bucket{le="infinite"}`, "never"},
		{"by", `sum by (vendor) (accelerator_power_watts)`, `sum by (card) (accelerator_power_watts)`, "groups by card"},
		{"by what was summed away", `sum by (vendor) (sum by (instance, vendor, device) (accelerator_power_watts))`, `sum by (device) (sum by (vendor) (accelerator_power_watts))`, "groups by device"},
		{"without", `sum without (device) (accelerator_power_watts)`, `sum without (gpu) (accelerator_power_watts)`, "groups by gpu"},
		{"on", `accelerator_memory_used_bytes / on (instance, vendor, device, type) accelerator_memory_total_bytes`, `accelerator_memory_used_bytes / on (instance, card) accelerator_memory_total_bytes`, "neither side has it"},
		{"ignoring", `accelerator_healthy * ignoring (sensor) accelerator_temperature_celsius{sensor="chip"}`, `accelerator_healthy * ignoring (sensors) accelerator_temperature_celsius`, "neither side has it"},
		{"group_left", `accelerator_healthy * on (instance, vendor, device) group_left (name) accelerator_info`, `accelerator_healthy * on (instance, vendor, device) group_left (model) accelerator_info`, "takes model from the right side, which has no such label"},
		{"group_right", `accelerator_info * on (instance, vendor, device) group_right (name) accelerator_temperature_celsius`, `accelerator_info * on (instance, vendor, device) group_right (sensor) accelerator_temperature_celsius`, "takes sensor from the left side, which has no such label"},
		{"one side has a label more", `accelerator_healthy * on (instance, vendor, device) accelerator_power_watts`, `accelerator_healthy * accelerator_temperature_celsius`, "never returns anything"},
		{"on one side alone", `sum by (instance, vendor) (accelerator_power_watts) / on (instance, vendor) accelerator_devices`, `sum by (instance) (accelerator_power_watts) / on (vendor) accelerator_devices`, "found duplicate series for the match group {vendor="},
		{"card with several ports", `accelerator_healthy * on (instance, vendor, device) max by (instance, vendor, device) (accelerator_network_up)`, `accelerator_healthy * on (instance, vendor, device) accelerator_network_up`, "duplicate series for the match group"},
		{"unless that never returns anything", `accelerator_devices_expected unless accelerator_devices`, `accelerator_info unless accelerator_devices`, "never returns anything"},
		{"instance", `accelerator_power_watts and on (instance, vendor, device) accelerator_healthy == 0`, `accelerator_power_watts and on (vendor, device) accelerator_healthy == 0`, "differ in instance"},
		{"instance that does not matter", `accelerator_power_watts and on () up`, `accelerator_power_watts and on (vendor) accelerator_devices`, "differ in instance"},
		{"rate", `rate(accelerator_probe_requests_total[5m])`, `rate(accelerator_power_watts[5m])`, "is of values that do not grow, not of a counter"},
		{"rate of untyped", `accelerator_hugepages_total`, `increase(accelerator_hugepages_total[5m])`, "not of a counter"},
		{"rate of a rate", `max_over_time(rate(accelerator_probe_requests_total[5m])[1h:])`, `rate(rate(accelerator_probe_requests_total[5m])[1h:])`, "computed value, not of a counter"},
		{"rate of a sum", `sum(rate(accelerator_probe_requests_total[5m]))`, `rate(sum(accelerator_probe_requests_total)[5m:])`, "computed value, not of a counter"},
		{"rate of a recorded gauge", `delta(accelerator:busy[5m])`, `rate(accelerator:busy[5m])`, "not of a counter"},
		{"delta", `delta(accelerator_power_watts[5m])`, `delta(accelerator_probe_requests_total[5m])`, "only grows"},
		{"average", `avg_over_time(accelerator_power_watts[5m])`, `avg_over_time(accelerator_numa_allocations_total[5m])`, "only grows"},
		{"quantile", `histogram_quantile(0.9, sum by (le) (rate(accelerator_probe_time_to_first_token_seconds_bucket[5m])))`, `histogram_quantile(0.9, sum by (target) (rate(accelerator_probe_time_to_first_token_seconds_bucket[5m])))`, "bucket label \"le\" is missing"},
		{"quantile of no buckets", `histogram_quantile(0.9, rate(accelerator_probe_time_to_first_token_seconds[5m]))`, `histogram_quantile(0.9, rate(accelerator_probe_time_to_first_token_seconds_sum[5m]))`, "bucket label \"le\" is missing"},
		{"quantile of scaled buckets", `histogram_quantile(0.9, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m])) * 2)`, `histogram_quantile(0.9, max by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m])))`, "computed value"},
		{"quantile of growth", `histogram_quantile(0.9, clamp_min(vllm:time_to_first_token_seconds_bucket - vllm:time_to_first_token_seconds_bucket offset 1m, 0))`, `histogram_quantile(0.9, vllm:time_to_first_token_seconds_bucket - vllm:e2e_request_latency_seconds_bucket offset 1m)`, "computed value"},
		{"native", `histogram_count(rate(accelerator_probe_time_to_first_token_seconds[5m]))`, `histogram_count(rate(accelerator_probe_time_to_first_token_seconds_bucket[5m]))`, "never returns anything"},
		{"le of a native one", `sum by (instance, target) (rate(accelerator_probe_time_to_first_token_seconds[5m]))`, `sum by (le) (rate(accelerator_probe_time_to_first_token_seconds[5m]))`, "groups by le"},
		{"label_replace", `label_replace(accelerator_devices, "x", "$1", "vendor", "(.*)")`, `label_replace(accelerator_devices, "x", "$1", "device", "(.*)")`, "reads device"},
		{"label_join", `label_join(accelerator_power_watts, "x", "-", "vendor", "device")`, `label_join(accelerator_devices, "x", "-", "vendor", "device")`, "reads device"},
		{"count_values", `sum by (level) (count_values("level", accelerator_performance_level))`, `sum by (device) (count_values("level", accelerator_performance_level))`, "groups by device"},
		{"recorded", `sum by (vendor) (accelerator:busy:fleet)`, `sum by (instance) (accelerator:busy:fleet)`, "groups by instance"},
		{"recorded by label", `accelerator_temperature_celsius > on (vendor) group_left () accelerator:hot_above`, `accelerator_temperature_celsius > on (instance) group_left () accelerator:hot_above`, "many-to-many"},
		{"recorded value", `accelerator:hot_above{vendor="metax"}`, `accelerator:hot_above{vendor="amd"}`, "is never"},
		{"threshold's exception", `accelerator:threshold_hot{instance!=""}`, `accelerator:threshold_hot{device!=""}`, "no label device"},
		{"job of the program", `accelerator_healthy{job=~"accelerator_exporter|.*"}`, `accelerator_healthy{job="vllm"}`, `is never "vllm", but accelerator_exporter`},
		{"job of any program", `process_start_time_seconds{job="accelbench"}`, `vllm:num_requests_running{job!="vllm"}`, "no series of"},
		{"values together", `accelerator_memory_used_bytes{vendor="metax",type="vram"}`, `accelerator_memory_used_bytes{vendor="metax",type="hbm"}`, "fits all its matchers"},
		{"values together, by regexp", `accelerator_memory_used_bytes{vendor!="metax",type=~"hbm|vram"}`, `accelerator_memory_used_bytes{vendor!~"asc.*",type=~"hbm|ddr"}`, "fits all its matchers"},
		{"empty", `accelerator_info{npu="",vendor="metax"}`, `accelerator_power_watts{vendor=""}`, "fits all its matchers"},
		{"empty open label", `accelerator_power_watts{cluster=""}`, `accelerator_power_watts{device=""}`, "fits all its matchers"},
		{"no value left", `accelerator_power_watts{vendor!~"metax|.*"}`, `accelerator_power_watts{vendor!~"metax|ascend"}`, "fits all its matchers"},
		{"alternative", `accelerator_probe_failures_total{reason=~"timeout.*|http_5.*"}`, `accelerator_probe_failures_total{reason=~"timeout.*|http5.*"}`, `is never "http5.*"`},
		{"alternative with bars", `accelerator_probe_failures_total{reason=~"(tls|d.s)|[t|]+imeout|http_\\d.+"}`, `accelerator_probe_failures_total{reason!~"(tls|d.s)|[x|]+imeout"}`, `is never "[x|]+imeout"`},
		{"alternative with flags", `accelerator_probe_failures_total{reason=~"(?i)TLS|DNS"}`, `accelerator_probe_failures_total{reason=~"(?i)x|y"}`, "is never"},
		{"nameless", `{__name__=~"accelerator_.+",sensor="chip"}`, `{__name__=~"accelerator_.+",sensor="chips"}`, "is never"},
		{
			"renamed label", `accelerator_device_allocation_info{exported_pod=""}`, `accelerator_device_allocation_info{exported_gpu=""}`,
			"has no label exported_gpu",
		},
		{"nameless label", `{__name__=~"accelerator_memory_.+",type="hbm"}`, `{__name__=~"accelerator_memory_.+",kind="hbm"}`, "has no label kind"},
		{"nameless single one", `{__name__="accelerator_devices",vendor="metax"}`, `{__name__="accelerator_devices",sensor="chip"}`, "has no label sensor"},
		{"nameless alternative", `{__name__=~"accelerator_devices|up"}`, `{__name__=~"accelerator_devices|upp"}`, "upp is no metric that is known"},
		{"cards of hosts", `sum by (instance, vendor, device) (accelerator_power_watts)`, `sum by (vendor, device) (accelerator_power_watts)`, "device and not instance"},
		{"cards of vendors", `avg by (instance, device) (accelerator_power_watts{vendor="metax"})`, `avg by (instance, device) (accelerator_power_watts)`, "device and not vendor"},
		{"cards of one host", `max by (device) (accelerator_performance_level{instance="a:10068"})`, `max by (device) (accelerator_performance_level{instance=~"a:.+"})`, "device and not instance"},
		{"cards by matched side", `max by (device) (accelerator_power_watts{instance="a"} / on (instance, vendor, device) accelerator_power_limit_watts{vendor="metax"})`, `max by (device) (accelerator_power_watts / on (instance, vendor, device) accelerator_power_limit_watts{vendor="metax"})`, "device and not instance"},
		{"cards of either", `max by (instance, device) (accelerator_power_watts{vendor="metax"} or accelerator_power_limit_watts{vendor="metax"})`, `max by (instance, device) (accelerator_power_watts{vendor="metax"} or accelerator_power_watts{vendor="ascend"})`, "device and not vendor"},
		{"cards without", `sum without (instance, device) (accelerator_power_watts)`, `sum without (instance) (accelerator_power_watts)`, "device and not instance"},
		{"targets of hosts", `avg by (job, instance, target) (accelerator_probe_success)`, `avg by (target) (accelerator_probe_success)`, "target and not instance"},
		{"targets of no exporter", `sum by (target) (rate(accelerator_bench_requests_total[5m]))`, `sum by (target) (rate(accelerator_probe_requests_total[5m]))`, "target and not instance"},
		{"cards that are recorded", `max by (instance) (accelerator:cards)`, `max by (device) (accelerator:cards)`, "device and not instance"},
		{"join without vendor", `accelerator_power_watts and on (instance, vendor, device) accelerator_healthy == 0`, `accelerator_power_watts and on (instance, device) accelerator_healthy == 0`, "differ in vendor"},
		{"join ignoring instance", `accelerator_power_watts * ignoring (job) accelerator_healthy`, `accelerator_power_watts * ignoring (instance) accelerator_healthy`, "differ in instance"},
		{"level", `histogram_quantile(0.99, rate(vllm:time_to_first_token_seconds_bucket[5m]))`, `histogram_quantile(99, rate(vllm:time_to_first_token_seconds_bucket[5m]))`, "quantile value should be between 0 and 1, got 99"},
		{"level of an aggregation", `quantile(1, accelerator_power_watts)`, `quantile(-0.1, accelerator_power_watts)`, "quantile value should be between 0 and 1"},
		{"level over time", `quantile_over_time(0.5, accelerator_power_watts[5m])`, `quantile_over_time(50, accelerator_power_watts[5m])`, "quantile value should be between 0 and 1"},
		{"quantile over time", `quantile_over_time(0.5, accelerator_power_watts[5m])`, `quantile_over_time(0.5, accelerator_numa_allocations_total[5m])`, "only grows"},
		{"quantile since the start", `histogram_quantile(0.5, last_over_time(accelerator_bench_time_to_first_token_seconds_bucket[1h]))`, `histogram_quantile(0.5, sum by (le) (last_over_time(accelerator_probe_time_to_first_token_seconds_bucket[1h])))`, "take the buckets' rate"},
		{"label_replace's expression", `label_replace(up, "x", "$1", "instance", "(.*):.*")`, `label_replace(up, "x", "$1", "instance", "(.*:.*")`, "invalid regular expression"},
		{"ratio", `accelerator_utilization_ratio > 0.95`, `accelerator_utilization_ratio > 95`, "which is 1 at most"},
		{"ratio inside", `100 * max by (instance) (avg_over_time(accelerator_utilization_ratio[5m])) > 95`, `95 < max by (instance) ((avg_over_time(accelerator_utilization_ratio[5m])))`, "which is 1 at most"},
		{"ratio that is summed", `sum(accelerator_utilization_ratio) > 2`, `max_over_time(max(accelerator_utilization_ratio)[5m:]) > 2`, "which is 1 at most"},
		{"inside", `clamp_max(-(accelerator_power_watts), 3)`, `clamp_max(-(accelerator_power_wats), 3)`, "no metric that is known"},
		{"parameter", `topk(scalar(count(up)), up)`, `topk(scalar(count(upp)), up)`, "no metric that is known"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if problems := c.Problems(tc.good); len(problems) > 0 {
				t.Errorf("%s is refused: %s", tc.good, problems)
			}
			if problems := strings.Join(c.Problems(tc.bad), "\n"); !strings.Contains(problems, tc.says) {
				t.Errorf("%s is not refused with %q, but: %s", tc.bad, tc.says, problems)
			}
		})
	}
}

// TestResult: what is left of labels decides which of them a legend may name.
func TestResult(t *testing.T) {
	c := known(t)
	for _, tc := range []struct{ expr, has, lacks string }{
		{`accelerator_power_watts`, "device", "name"},
		{`accelerator_power_watts * on (instance, vendor, device) group_left (name) accelerator_info`, "name", "uuid"},
		{`accelerator_utilization_ratio * on (instance, vendor, device) group_right accelerator_probe_target_device_info`, "target", "model"},
		{`sum by (vendor) (accelerator_power_watts)`, "vendor", "device"},
		{`sum without (device) (accelerator_power_watts)`, "vendor", "device"},
		{`accelerator_power_watts > on (instance, vendor, device) accelerator_power_limit_watts`, "device", "job"},
		{`accelerator_power_watts > accelerator_power_limit_watts`, "job", "sensor"},
		{`topk(3, accelerator_temperature_celsius)`, "sensor", "name"},
		{`absent(up{job="vllm"})`, "job", "instance"},
		{`absent_over_time(up{job="vllm"}[5m])`, "job", "instance"},
		{`histogram_quantile(0.5, rate(accelerator_probe_time_to_first_token_seconds_bucket[5m]))`, "target", "le"},
		{`up or accelerator_devices`, "vendor", "device"},
		{`accelerator_devices unless on (instance) up`, "vendor", "device"},
		{`2 * accelerator_devices`, "vendor", "device"},
		{`{__name__=~"accelerator_devices|accelerator_numa_cpus"}`, "node", "device"},
		{`accelerator_health_info{reason=""}`, "state", "reason"},
	} {
		if problems := c.Problems(tc.expr, tc.has); len(problems) > 0 {
			t.Errorf("%s: %s", tc.expr, problems)
		}
		if problems := c.Problems(tc.expr, tc.lacks); len(problems) != 1 && tc.lacks != "" {
			t.Errorf("%s is said to have %s", tc.expr, tc.lacks)
		}
	}
}

// TestTwoPodsAreSeen: a join that the series of a second pod break does not pass.
func TestTwoPodsAreSeen(t *testing.T) {
	const join = `accelerator_healthy * on (job, instance, vendor, device) group_left (name) accelerator_info`
	if problems := known(t).Problems(join); len(problems) > 0 {
		t.Error(problems)
	}
	if problems := known(t, twoPods()...).Problems(join); len(problems) != 1 || !strings.Contains(problems[0], "found duplicate series") {
		t.Errorf("with two pods: %s", problems)
	}
}

// TestCircle: rules that build on each other in a circle record nothing.
func TestCircle(t *testing.T) {
	g := known(t)
	g.AddRules([]Rule{{Record: "a:b", Expr: "b:a"}, {Record: "b:a", Expr: "a:b"}})
	if problems := g.Problems("a:b"); len(problems) != 1 {
		t.Error(problems)
	}
}

// TestSeriesProblems: a test of rules must be fed with what a program exports.
func TestSeriesProblems(t *testing.T) {
	c := known(t)
	for text, says := range map[string]string{
		`accelerator_healthy{vendor="metax",device="7",instance="a",job="accelerator_exporter"}`: "",
		`accelerator_healthy{vendor="metax",gpu="7"}`:                                            "no label gpu",
		`accelerator_healthy{vendor="nvidia",device="7"}`:                                        "never",
		`accelerator_health{device="7"}`:                                                         "no metric that is known",
		`accelerator_probe_time_to_first_token_seconds_bucket{target="a",le="2.0"}`:              "",
		`accelerator_probe_time_to_first_token_seconds_bucket{target="a",le="2.1"}`:              "never",
		`accelerator_memory_used_bytes{vendor="metax",type="hbm"}`:                               "fits all its matchers",
		`accelerator_memory_used_bytes{vendor="ascend"}`:                                         "",
		`accelerator_healthy{`: "not a series",
		`vllm:num_requests_running{model_name="m",engine="0",instance="i",job="vllm"}`:              "",
		`vllm:time_to_first_token_seconds_bucket{model_name="m",le="0.25",instance="i",job="vllm"}`: "",
	} {
		problems := strings.Join(c.SeriesProblems(text), "\n")
		if (says == "") != (problems == "") || !strings.Contains(problems, says) {
			t.Errorf("%s: %q, want %q", text, problems, says)
		}
	}
}
