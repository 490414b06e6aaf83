package dashboards

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

func loadLatency() page {
	return page{
		uid: "accelerator-load-latency", title: "Accelerators: load and latency", refresh: "30s", from: "now-1h",
		description: "Does latency follow load, is the endpoint fast, and how many requests fail? Latencies are those of the exporter's own probes, the load is that of the cards that serve the probed endpoint.",
		variables: []variable{
			datasourceVariable().Hide(dashboard.VariableHideHideVariable), hidden(jobVariable()), instanceVariable(),
			multiVariable("target", "Target", `label_values(accelerator_probe_requests_total{job=~"$job",instance=~"$instance"}, target)`),
			serverVariable(serversOfTargets), windowVariable(),
		},
		scope: "${instance:queryparam}",
		rows: []row{
			{panels: []panel{loadAndLatency(), alertsAndLoadTests()}},
			openRow("Now", append(loadLatencyNow(), hostAlertTable(), servingTable())...),
			openRow("Latency of the probes", probeLatencies()...),
			openRow("Latency by load", latencyByLoad()...),
			openRow("Cards that serve", servingLines()),
			openRow("The server's own figures", serverFigures()...),
			foldedRow("How far the probe can be trusted", probeTrust()),
		},
	}
}

// serversOfTargets are the vLLM servers of the chosen targets: those whose label "target", which their scrape may give
// them, names one, and of several such the one with the prober's instance, as a sidecar has its pod's; else those that are
// scraped at the address that is probed, also where the exporter probes its own machine by a loopback address.
const serversOfTargets = `vllm:num_requests_running and on (instance, target) accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"} or vllm:num_requests_running and on (target) (accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"} unless on (instance, target) vllm:num_requests_running) or vllm:num_requests_running{target=""} and on (instance) label_replace(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}, "instance", "$1", "target", "(.+)") or vllm:num_requests_running{target=""} and on (instance) label_replace(label_join(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}, "both", ";", "instance", "target"), "instance", "$1:$2", "both", "(.+):[0-9]+;(?:127\\.0\\.0\\.1|localhost|\\[::1\\]):([0-9]+)")`

// What serves a target, in the queries below: the cards that the exporter knows to serve it; else all cards of the exporter
// that probes it. Where no chosen target is probed by an exporter with cards: all cards of the chosen hosts.

// loadAndLatency is what the dashboard is for: of each target its own load and its own latencies, as a mean of several
// follows none of them. Both are means over the same time, so that neither lags behind the other.
func loadAndLatency() panel {
	return styleByTarget(logSeries("Load and latency",
		"Utilization of the cards that serve a target (right), and what its probes took (left): means of the same time, so that one line follows the other within it. Bars: the share of its probes that failed. Further targets have numbers, shades and dashes; of more than four, the four that are probed most are drawn. Average over a longer time where no latency is shown.", "no target is probed",
		overTime(`(avg by (instance, target) (
    max by (job, instance, vendor, device) (avg_over_time(accelerator_utilization_ratio{job=~"$job",instance=~"$instance"}[$window])) * on (job, instance, vendor, device) group_right () accelerator_probe_target_device_info{job=~"$job",instance=~"$instance",target=~"$target"})
  or on (instance, target) group by (instance, target) (accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"} unless on (job, instance, target) accelerator_probe_target_device_info) * on (instance) group_left () avg by (instance) (avg_over_time(accelerator_utilization_ratio{job=~"$job",instance=~"$instance"}[$window]))
  or on (instance, target) group by (instance, target) (accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}) * on () group_left () avg(avg_over_time(accelerator_utilization_ratio{job=~"$job",instance=~"$instance"}[$window])) unless on () (accelerator_devices_expected{job=~"$job",instance=~"$instance"} and on (job, instance) accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}))
  * on (instance, target) group_left (n) (topk(1, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end())))))
    or on (instance, target) label_replace(topk(2, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end()))))), "n", " (2)", "", "")
    or on (instance, target) label_replace(topk(3, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end()))))), "n", " (3)", "", "")
    or on (instance, target) label_replace(topk(4, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end()))))), "n", " (4)", "", "")) ^ 0`, "{{instance}} {{target}}{{n}} utilization", onTheRight(colorOf("blue"), filled(25))...),
		overTime(`sum by (instance, target) (rate(accelerator_probe_time_to_first_token_seconds_sum{job=~"$job",instance=~"$instance",target=~"$target"}[$window])) / (sum by (instance, target) (rate(accelerator_probe_time_to_first_token_seconds_count{job=~"$job",instance=~"$instance",target=~"$target"}[$window])) > 0)
  * on (instance, target) group_left (n) (topk(1, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end())))))
    or on (instance, target) label_replace(topk(2, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end()))))), "n", " (2)", "", "")
    or on (instance, target) label_replace(topk(3, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end()))))), "n", " (3)", "", "")
    or on (instance, target) label_replace(topk(4, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end()))))), "n", " (4)", "", "")) ^ 0`, "{{instance}} {{target}}{{n}} time to first token", colorOf("orange"), thick()),
		overTime(`sum by (instance, target) (rate(accelerator_probe_inter_token_latency_seconds_sum{job=~"$job",instance=~"$instance",target=~"$target"}[$window])) / (sum by (instance, target) (rate(accelerator_probe_inter_token_latency_seconds_count{job=~"$job",instance=~"$instance",target=~"$target"}[$window])) > 0)
  * on (instance, target) group_left (n) (topk(1, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end())))))
    or on (instance, target) label_replace(topk(2, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end()))))), "n", " (2)", "", "")
    or on (instance, target) label_replace(topk(3, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end()))))), "n", " (3)", "", "")
    or on (instance, target) label_replace(topk(4, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end()))))), "n", " (4)", "", "")) ^ 0`, "{{instance}} {{target}}{{n}} inter-token latency", colorOf("green"), thick()),
		overTime(`(sum by (instance, target) (rate(accelerator_probe_failures_total{job=~"$job",instance=~"$instance",target=~"$target",reason!="canceled"}[$window])) / sum by (instance, target) (rate(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$window])) > 0)
  * on (instance, target) group_left (n) (topk(1, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end())))))
    or on (instance, target) label_replace(topk(2, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end()))))), "n", " (2)", "", "")
    or on (instance, target) label_replace(topk(3, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end()))))), "n", " (3)", "", "")
    or on (instance, target) label_replace(topk(4, floor(ln(sum by (instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$__range] @ end()))))), "n", " (4)", "", "")) ^ 0`, "{{instance}} {{target}}{{n}} failed probes",
			onTheRight(colorOf("red"), filled(50), property{Id: "custom.drawStyle", Value: "bars"})...))).
		Span(24).Height(13).Legend(figures())
}

func loadLatencyNow() []panel {
	return []panel{
		alertCount().Span(12),
		statPanel("State", "What probes and the servers' own counters say, of the target where it is worst. Busy: probes wait for their first token, and the server makes tokens for others. Stalled: it makes none.", plain, "no probe",
			now(`max(4 * accelerator_probe_state{job=~"$job",instance=~"$instance",target=~"$target",state="stalled"}
  or 3 * accelerator_probe_state{job=~"$job",instance=~"$instance",target=~"$target",state="failing"}
  or 2 * accelerator_probe_state{job=~"$job",instance=~"$instance",target=~"$target",state="busy"}
  or 1 * accelerator_probe_state{job=~"$job",instance=~"$instance",target=~"$target",state="unknown"}
  or 0 * accelerator_probe_state{job=~"$job",instance=~"$instance",target=~"$target",state="ok"})`, "")).
			Mappings(append(targetStates(), absent("no probe"))),
		statPanel("Failed probes", "Share of the probes of the last window that failed; probes that the exporter withdrew are left out.", ratio, "no probe",
			now(`sum(rate(accelerator_probe_failures_total{job=~"$job",instance=~"$instance",target=~"$target",reason!="canceled"}[$window])) / (sum(rate(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$window])) > 0)`, "")).
			Thresholds(thresholds("green", failureSteps()...)),
		statPanel("Last success", "Time since the last successful probe, of the target where it is longest ago. Never: none since the exporter started.", seconds, "no probe",
			now(`max(time() - (max by (job, instance, target) (accelerator_probe_last_success_timestamp_seconds{job=~"$job",instance=~"$instance",target=~"$target"}) or 0 * max by (job, instance, target) (accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"})))`, "")).
			Mappings([]dashboard.ValueMapping{neverMapping(), absent("no probe")}).Thresholds(thresholds("green", probeAgeSteps()...)),
	}
}

// servingTable has the cards that serve, those that need a look first.
func servingTable() panel {
	return rowsOf("Cards that serve", "Cards known to serve the chosen targets; where none is known, all cards of the exporter that probes. Unhealthy ones first. CPUs of its process: how many of those that the process on the card may use are of the card's NUMA node.",
		value("Health", `min by (job, instance, vendor, device) (accelerator_healthy{job=~"$job",instance=~"$instance"} and on (job, instance, vendor, device) (accelerator_probe_target_device_info{job=~"$job",instance=~"$instance",target=~"$target"}
  or accelerator_info{job=~"$job",instance=~"$instance"} and on (job, instance) (accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"} unless on (job, instance, target) accelerator_probe_target_device_info{job=~"$job",instance=~"$instance"})
  or accelerator_info{job=~"$job",instance=~"$instance"} unless on () (accelerator_devices_expected{job=~"$job",instance=~"$instance"} and on (job, instance) accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"})))`, append(mapped(healthy()...), width(90))...),
		hostColumn(),
		vendorColumn(),
		cardColumn(),
		value("Utilization", `max by (job, instance, vendor, device) (accelerator_utilization_ratio{job=~"$job",instance=~"$instance"} and on (job, instance, vendor, device) (accelerator_probe_target_device_info{job=~"$job",instance=~"$instance",target=~"$target"}
  or accelerator_info{job=~"$job",instance=~"$instance"} and on (job, instance) (accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"} unless on (job, instance, target) accelerator_probe_target_device_info{job=~"$job",instance=~"$instance"})
  or accelerator_info{job=~"$job",instance=~"$instance"} unless on () (accelerator_devices_expected{job=~"$job",instance=~"$instance"} and on (job, instance) accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"})))`, gaugeCell("blue")...),
		value("Memory", `max by (job, instance, vendor, device) (accelerator_memory_used_bytes{job=~"$job",instance=~"$instance",type!="host_mapped"} / accelerator_memory_total_bytes{job=~"$job",instance=~"$instance"} and on (job, instance, vendor, device) (accelerator_probe_target_device_info{job=~"$job",instance=~"$instance",target=~"$target"}
  or accelerator_info{job=~"$job",instance=~"$instance"} and on (job, instance) (accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"} unless on (job, instance, target) accelerator_probe_target_device_info{job=~"$job",instance=~"$instance"})
  or accelerator_info{job=~"$job",instance=~"$instance"} unless on () (accelerator_devices_expected{job=~"$job",instance=~"$instance"} and on (job, instance) accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"})))`, gaugeCell("green", memorySteps()...)...),
		value("CPUs of its process", `min by (job, instance, vendor, device) (accelerator_process_near_cpus_ratio{job=~"$job",instance=~"$instance"} and on (job, instance, vendor, device) (accelerator_probe_target_device_info{job=~"$job",instance=~"$instance",target=~"$target"}
  or accelerator_info{job=~"$job",instance=~"$instance"} and on (job, instance) (accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"} unless on (job, instance, target) accelerator_probe_target_device_info{job=~"$job",instance=~"$instance"})
  or accelerator_info{job=~"$job",instance=~"$instance"} unless on () (accelerator_devices_expected{job=~"$job",instance=~"$instance"} and on (job, instance) accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"})))`, append(mapped(valueText("0", "of another node", "red"), valueText("1", "of its node", "green")), unitOf(ratio), whole(), colored("orange"), width(160))...),
	).Height(9).SortBy(sortAscending("Health"))
}

func servingLines() panel {
	return cardLines("Utilization", "Utilization of the cards that serve.", ratio,
		`avg(accelerator_utilization_ratio{job=~"$job",instance=~"$instance"} and on (job, instance, vendor, device) (accelerator_probe_target_device_info{job=~"$job",instance=~"$instance",target=~"$target"}
  or accelerator_info{job=~"$job",instance=~"$instance"} and on (job, instance) (accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"} unless on (job, instance, target) accelerator_probe_target_device_info{job=~"$job",instance=~"$instance"})
  or accelerator_info{job=~"$job",instance=~"$instance"} unless on () (accelerator_devices_expected{job=~"$job",instance=~"$instance"} and on (job, instance) accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"})))`,
		`max(accelerator_utilization_ratio{job=~"$job",instance=~"$instance"} and on (job, instance, vendor, device) (accelerator_probe_target_device_info{job=~"$job",instance=~"$instance",target=~"$target"}
  or accelerator_info{job=~"$job",instance=~"$instance"} and on (job, instance) (accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"} unless on (job, instance, target) accelerator_probe_target_device_info{job=~"$job",instance=~"$instance"})
  or accelerator_info{job=~"$job",instance=~"$instance"} unless on () (accelerator_devices_expected{job=~"$job",instance=~"$instance"} and on (job, instance) accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"})))`,
		`accelerator_utilization_ratio{job=~"$job",instance=~"$instance"} and on (job, instance, vendor, device) (accelerator_probe_target_device_info{job=~"$job",instance=~"$instance",target=~"$target"}
  or accelerator_info{job=~"$job",instance=~"$instance"} and on (job, instance) (accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"} unless on (job, instance, target) accelerator_probe_target_device_info{job=~"$job",instance=~"$instance"})
  or accelerator_info{job=~"$job",instance=~"$instance"} unless on () (accelerator_devices_expected{job=~"$job",instance=~"$instance"} and on (job, instance) accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"})) and on () (count(accelerator_info{job=~"$job",instance=~"$instance"}) <= 64)`).
		Span(24)
}

func probeLatencies() []panel {
	return []panel{
		percentiles("Time to first token", "From the start of a probe to its first text. With fewer than a hundred observations in a window, its p99 is the slowest of them. Dashed: the mean of all requests to vLLM, by its own clock.", "no probe succeeded",
			`histogram_quantile(0.5, sum by (le) (rate(accelerator_probe_time_to_first_token_seconds_bucket{job=~"$job",instance=~"$instance",target=~"$target"}[$window]))) >= 0`,
			`histogram_quantile(0.9, sum by (le) (rate(accelerator_probe_time_to_first_token_seconds_bucket{job=~"$job",instance=~"$instance",target=~"$target"}[$window]))) >= 0`,
			`histogram_quantile(0.99, sum by (le) (rate(accelerator_probe_time_to_first_token_seconds_bucket{job=~"$job",instance=~"$instance",target=~"$target"}[$window]))) >= 0`,
			overTime(`sum(rate(vllm:time_to_first_token_seconds_sum{instance=~"$server"}[$window])) / (sum(rate(vllm:time_to_first_token_seconds_count{instance=~"$server"}[$window])) > 0)`, "server, mean", dashed(colorOf("text"))...)),
		percentiles("Inter-token latency", "Gaps between successive chunks of text. With fewer than a hundred observations in a window, its p99 is the slowest of them. Dashed: the mean of all requests to vLLM, by its own clock.", "no probe succeeded",
			`histogram_quantile(0.5, sum by (le) (rate(accelerator_probe_inter_token_latency_seconds_bucket{job=~"$job",instance=~"$instance",target=~"$target"}[$window]))) >= 0`,
			`histogram_quantile(0.9, sum by (le) (rate(accelerator_probe_inter_token_latency_seconds_bucket{job=~"$job",instance=~"$instance",target=~"$target"}[$window]))) >= 0`,
			`histogram_quantile(0.99, sum by (le) (rate(accelerator_probe_inter_token_latency_seconds_bucket{job=~"$job",instance=~"$instance",target=~"$target"}[$window]))) >= 0`,
			overTime(`sum(rate(vllm:inter_token_latency_seconds_sum{instance=~"$server"}[$window])) / (sum(rate(vllm:inter_token_latency_seconds_count{instance=~"$server"}[$window])) > 0)
  or sum(rate(vllm:time_per_output_token_seconds_sum{instance=~"$server"}[$window])) / (sum(rate(vllm:time_per_output_token_seconds_count{instance=~"$server"}[$window])) > 0)`, "server, mean", dashed(colorOf("text"))...)),
		percentiles("Time per output token", "Time after the first token divided by the tokens after it: one value a probe. With fewer than a hundred observations in a window, its p99 is the slowest of them. Dashed: the mean of all requests to vLLM, by its own clock.", "no probe succeeded",
			`histogram_quantile(0.5, sum by (le) (rate(accelerator_probe_time_per_output_token_seconds_bucket{job=~"$job",instance=~"$instance",target=~"$target"}[$window]))) >= 0`,
			`histogram_quantile(0.9, sum by (le) (rate(accelerator_probe_time_per_output_token_seconds_bucket{job=~"$job",instance=~"$instance",target=~"$target"}[$window]))) >= 0`,
			`histogram_quantile(0.99, sum by (le) (rate(accelerator_probe_time_per_output_token_seconds_bucket{job=~"$job",instance=~"$instance",target=~"$target"}[$window]))) >= 0`,
			overTime(`sum(rate(vllm:request_time_per_output_token_seconds_sum{instance=~"$server"}[$window])) / (sum(rate(vllm:request_time_per_output_token_seconds_count{instance=~"$server"}[$window])) > 0)`, "server, mean", dashed(colorOf("text"))...)),
		colorByReason(timeSeries("Failed probes by reason, and missed objectives", "Share of all probes of the window that failed for this reason. canceled: withdrawn by the exporter when it stopped or reloaded; no other panel and no alert counts these. Dashed: share of a target's probes that missed an objective of its slo.", ratio,
			overTime(`sum by (reason) (rate(accelerator_probe_failures_total{job=~"$job",instance=~"$instance",target=~"$target"}[$window])) / on () group_left () sum(rate(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$window])) > 0`, "{{reason}}"),
			overTime(`sum by (instance, target, objective) (rate(accelerator_probe_slo_violations_total{job=~"$job",instance=~"$instance",target=~"$target"}[$window])) / on (instance, target) group_left () (sum by (instance, target) (rate(accelerator_probe_requests_total{job=~"$job",instance=~"$instance",target=~"$target"}[$window])) > 0)`, "{{instance}} {{target}} {{objective}}", dashed(notStacked())...))).
			Span(12).Stacking(stacked()).FillOpacity(40).NoValue("no probe failed, and there are no objectives").Legend(figures()),
	}
}

// latencyByLoad reads what the group accelerator-load-bands of the recording rules counted.
func latencyByLoad() []panel {
	return []panel{
		rowsOf("By utilization", "Latency of probes by how busy the cards of their target were. Over the dashboard's time range, all chosen targets together; each probe counts for the highest load of its target in the half minute in which it ended.",
			label("band", "Utilization", mapped(valueText("0", "0–20 %", "text"), valueText("1", "20–40 %", "text"), valueText("2", "40–60 %", "text"), valueText("3", "60–80 %", "text"), valueText("4", "80–100 %", "text"))...),
			value("Probes", `sum by (band) (sum_over_time(target_utilization:accelerator_probe_time_to_first_token_seconds_bucket:increase15s{job=~"$job",instance=~"$instance",target=~"$target",le="+Inf"}[$__range])) > 0`, unitOf(count), whole()),
			value("TTFT p50", `histogram_quantile(0.5, sum by (band, le) (sum_over_time(target_utilization:accelerator_probe_time_to_first_token_seconds_bucket:increase15s{job=~"$job",instance=~"$instance",target=~"$target"}[$__range]))) >= 0`, unitOf(seconds)),
			value("TTFT p99", `histogram_quantile(0.99, sum by (band, le) (sum_over_time(target_utilization:accelerator_probe_time_to_first_token_seconds_bucket:increase15s{job=~"$job",instance=~"$instance",target=~"$target"}[$__range]))) >= 0`, unitOf(seconds)),
			value("ITL p50", `histogram_quantile(0.5, sum by (band, le) (sum_over_time(target_utilization:accelerator_probe_inter_token_latency_seconds_bucket:increase15s{job=~"$job",instance=~"$instance",target=~"$target"}[$__range]))) >= 0`, unitOf(seconds)),
			value("ITL p99", `histogram_quantile(0.99, sum by (band, le) (sum_over_time(target_utilization:accelerator_probe_inter_token_latency_seconds_bucket:increase15s{job=~"$job",instance=~"$instance",target=~"$target"}[$__range]))) >= 0`, unitOf(seconds)),
		).Span(12).Height(9).NoValue("no probe, or Prometheus lacks the recording rules").SortBy(sortAscending("Utilization")),
		rowsOf("By requests in the server", "Latency of probes by how many requests ran or waited in the servers of their target, by vLLM's own metrics. Over the dashboard's time range, all chosen targets together; each probe counts for the highest load of its target in the half minute in which it ended.",
			label("band", "Requests", mapped(valueText("0", "none", "text"), valueText("1", "1–3", "text"), valueText("2", "4–15", "text"), valueText("3", "16–63", "text"), valueText("4", "64–255", "text"), valueText("5", "256–1023", "text"), valueText("6", "1024 and more", "text"))...),
			value("Probes", `sum by (band) (sum_over_time(target_requests:accelerator_probe_time_to_first_token_seconds_bucket:increase15s{job=~"$job",instance=~"$instance",target=~"$target",le="+Inf"}[$__range])) > 0`, unitOf(count), whole()),
			value("TTFT p50", `histogram_quantile(0.5, sum by (band, le) (sum_over_time(target_requests:accelerator_probe_time_to_first_token_seconds_bucket:increase15s{job=~"$job",instance=~"$instance",target=~"$target"}[$__range]))) >= 0`, unitOf(seconds)),
			value("TTFT p99", `histogram_quantile(0.99, sum by (band, le) (sum_over_time(target_requests:accelerator_probe_time_to_first_token_seconds_bucket:increase15s{job=~"$job",instance=~"$instance",target=~"$target"}[$__range]))) >= 0`, unitOf(seconds)),
			value("ITL p50", `histogram_quantile(0.5, sum by (band, le) (sum_over_time(target_requests:accelerator_probe_inter_token_latency_seconds_bucket:increase15s{job=~"$job",instance=~"$instance",target=~"$target"}[$__range]))) >= 0`, unitOf(seconds)),
			value("ITL p99", `histogram_quantile(0.99, sum by (band, le) (sum_over_time(target_requests:accelerator_probe_inter_token_latency_seconds_bucket:increase15s{job=~"$job",instance=~"$instance",target=~"$target"}[$__range]))) >= 0`, unitOf(seconds)),
		).Span(12).Height(9).NoValue("no probe, no vLLM server of its target, or Prometheus lacks the recording rules").SortBy(sortAscending("Requests")),
	}
}

// serverFigures are those of the vLLM servers of the chosen targets, beside what the probes see.
func serverFigures() []panel {
	const none = "no scraped vLLM server is known to be the target"
	return []panel{
		timeSeries("Requests in the server", "Requests that vLLM runs and that wait in its queue, all servers of the chosen targets together (left), and the share of each server's key-value cache in use (right): near 1, requests wait or are preempted.", count,
			overTime(`sum(vllm:num_requests_running{instance=~"$server"})`, "running", colorOf("green")),
			overTime(`sum(vllm:num_requests_waiting{instance=~"$server"})`, "waiting", colorOf("orange")),
			overTime(`max by (instance) (vllm:kv_cache_usage_perc{instance=~"$server"} or vllm:gpu_cache_usage_perc{instance=~"$server"})`, "KV cache {{instance}}", onTheRight(dashed(notStacked())...)...)).
			Min(0).Stacking(stacked()).FillOpacity(30).NoValue(none),
		timeSeries("Tokens a second", "Tokens that vLLM gave out and took in, and those of the probes, as the server counts them.", tokensPerSec,
			overTime(`sum(rate(vllm:generation_tokens_total{instance=~"$server"}[$window]))`, "output"),
			overTime(`sum(rate(vllm:prompt_tokens_total{instance=~"$server"}[$window]))`, "prompt"),
			overTime(`sum(rate(accelerator_probe_output_tokens_total{job=~"$job",instance=~"$instance",target=~"$target"}[$window]))`, "probes' output")).
			Min(0).NoValue(none),
		timeSeries("Joules a token", "Power of the cards that serve a target over the output tokens of its servers, means of 15 minutes (left): it falls as the batch fills. With a price of a kilowatt-hour, what a million output tokens cost in its currency (right). deploy/prometheus/README.md says what must hold for a target to have them.", joules,
			overTime(`target:accelerator_joules_per_output_token:ratio_rate15m{job=~"$job",instance=~"$instance",target=~"$target"}`, "{{instance}} {{target}}"),
			overTime(`target:accelerator_cost_per_million_output_tokens:ratio_rate15m{job=~"$job",instance=~"$instance",target=~"$target"}`, "cost of a million {{instance}} {{target}}", dashed(unitOf(count), property{Id: "custom.axisPlacement", Value: "right"})...)).
			Min(0).NoValue("no power and server are known of a target, or Prometheus lacks the recording rules"),
		timeSeries("Time in the queue", "How long requests waited in vLLM before they were run: what an overloaded server adds to the time to first token. The mean, since vLLM's first bucket ends at 0.3 s.", seconds,
			overTime(`sum(rate(vllm:request_queue_time_seconds_sum{instance=~"$server"}[$window])) / (sum(rate(vllm:request_queue_time_seconds_count{instance=~"$server"}[$window])) > 0)`, "mean")).
			Min(0).NoValue(none),
		timeSeries("Finish reasons", "Requests that ended, each second, by why: stop (the model ended), length (max_tokens), abort (the client went away), and others of newer versions.", reqPerS,
			overTime(`sum by (finished_reason) (rate(vllm:request_success_total{instance=~"$server"}[$window])) > 0`, "{{finished_reason}}")).
			Min(0).Stacking(stacked()).FillOpacity(30).NoValue(none).
			OverrideByName("stop", []property{colorOf("green")}).
			OverrideByName("length", []property{colorOf("blue")}).
			OverrideByName("abort", []property{colorOf("orange")}).
			OverrideByName("error", []property{colorOf("red")}),
		timeSeries("Speculative decoding", "Share of the tokens that vLLM drafted and its model accepted (right), and the tokens that a draft brought on the mean, the model's own among them (left).", count,
			overTime(`sum(rate(vllm:spec_decode_num_accepted_tokens_total{instance=~"$server"}[$window])) / (sum(rate(vllm:spec_decode_num_draft_tokens_total{instance=~"$server"}[$window])) > 0)`, "accepted", onTheRight(colorOf("blue"))...),
			overTime(`1 + sum(rate(vllm:spec_decode_num_accepted_tokens_total{instance=~"$server"}[$window])) / (sum(rate(vllm:spec_decode_num_drafts_total{instance=~"$server"}[$window])) > 0)`, "accepted length, mean", colorOf("green"))).
			Min(0).NoValue("no drafts"),
	}
}

func probeTrust() panel {
	return timeSeries("How late the prober is", "How late the exporter reads what has arrived, and how late it sends a probe that is due (p99). Where these are not small against the latencies, the exporter's machine is too busy.", seconds,
		overTime(`histogram_quantile(0.99, sum by (le) (rate(accelerator_probe_client_lag_seconds_bucket{job=~"$job",instance=~"$instance",target=~"$target"}[$window]))) >= 0`, "reading"),
		overTime(`histogram_quantile(0.99, sum by (le) (rate(accelerator_probe_start_delay_seconds_bucket{job=~"$job",instance=~"$instance",target=~"$target"}[$window]))) >= 0`, "sending")).
		Span(24).Min(0)
}
