package dashboards

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

func card() page {
	return page{
		uid: "accelerator-card", title: "Accelerators: card", refresh: "30s", from: "now-1h",
		description: "One card in depth: what fires, how it is, who uses it, where it sits, and which probed endpoints it serves.",
		variables: []variable{
			datasourceVariable(), jobVariable(), hidden(instanceVariable()),
			hidden(allVariable("vendor", "Vendors", `label_values(accelerator_info, vendor)`)),
			singleVariable("host", "Host", `label_values({__name__=~"accelerator_info|accelerator_device_missing_info",job=~"$job",instance=~"$instance"}, instance)`),
			singleVariable("maker", "Vendor", `label_values({__name__=~"accelerator_info|accelerator_device_missing_info",job=~"$job",instance=~"$host",vendor=~"$vendor"}, vendor)`),
			singleVariable("card", "Card", `label_values({__name__=~"accelerator_info|accelerator_device_missing_info",job=~"$job",instance=~"$host",vendor=~"$maker"}, device)`),
		},
		scope: "var-instance=${host:percentencode}",
		rows: []row{
			{panels: append([]panel{cardAlerts()}, cardNow()...)},
			openRow("Load", cardLoad()...),
			openRow("Processes and endpoints", cardProcesses(), cardTargets()),
			foldedRow("Memory and hardware errors", cardErrors()...),
			foldedRow("Links, network and optics", append(cardLinks(), cardNetwork()...)...),
			foldedRow("Engines and slices", cardEngines(), cardSlices()),
		},
	}
}

// cardAlerts stands first, since a card that its tool calls healthy may have alerts. One of the host or the vendor, without a
// card, may be what is wrong with this one.
func cardAlerts() panel {
	return alertTable(`label_join(label_replace(label_replace(label_replace(1000 * (
      topk(200, ALERTS_FOR_STATE{alertname=~"Accelerator.+",alertname!="AcceleratorCardsMissing",severity="critical",job=~"$job",instance=~"$host",vendor=~"$maker|",device=~"$card|",collector=~"$maker|",target=""} and ignoring (alertstate) ALERTS{alertstate="firing"})
    or topk(100, ALERTS_FOR_STATE{alertname=~"Accelerator.+",alertname!="AcceleratorCardsMissing",severity="warning",job=~"$job",instance=~"$host",vendor=~"$maker|",device=~"$card|",collector=~"$maker|",target=""} and ignoring (alertstate) ALERTS{alertstate="firing"})
    or topk(50, ALERTS_FOR_STATE{alertname=~"Accelerator.+",alertname!="AcceleratorCardsMissing",severity="info",job=~"$job",instance=~"$host",vendor=~"$maker|",device=~"$card|",collector=~"$maker|",target=""} and ignoring (alertstate) ALERTS{alertstate="firing"})
    or (ALERTS_FOR_STATE{alertname="AcceleratorCardsMissing",job=~"$job",instance=~"$host",vendor=~"$maker"} and ignoring (alertstate) ALERTS{alertstate="firing"})
      * on (job, instance, vendor) group_right (alertname, severity) (accelerator_device_missing_info{job=~"$job",instance=~"$host",vendor=~"$maker"} unless on (job, instance, vendor, device) accelerator_healthy == 0)
    or ALERTS_FOR_STATE{alertname="AcceleratorCardsMissing",job=~"$job",instance=~"$host",vendor=~"$maker"} and ignoring (alertstate) ALERTS{alertstate="firing"}
      unless on (job, instance, vendor) (accelerator_device_missing_info{job=~"$job",instance=~"$host",vendor=~"$maker"} unless on (job, instance, vendor, device) accelerator_healthy == 0)
  ), "severity", "1", "severity", "critical"), "severity", "2", "severity", "warning"), "severity", "3", "severity", "info"),
  "about", " ", "collector", "name", "bus_id", "pid", "lacks", "reason", "code", "reading", "of", "link", "port", "memory", "type", "state", "direction", "lane", "sensor", "udie", "rail", "slice", "engine", "clock", "event", "kind", "pod")`).
		Height(5)
}

// temperatureNow is coloured where the alerts of the card's vendor come. A table could not be coloured so: its cells do not
// know their row's vendor.
func temperatureNow() panel {
	p := statPanel("Temperature", "Of the chip. Orange and red as the alerts come: each vendor has its own limits. Look at fans, filters and the cards beside it.", celsius, "not reported",
		now(`max by (vendor) (accelerator_temperature_celsius{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card",sensor="chip"})`, "{{vendor}}")).
		Thresholds(thresholds("blue")).TextMode("value")
	for _, v := range []struct {
		name        string
		hot, tooHot float64
	}{
		{"metax", 100, 110},
		{"ascend", 85, 95},
		{"nvidia", 87, 89},
		{"hygon", 85, 95},
		{"iluvatar", 95, 100},
		{"kunlunxin", 85, 95},
		{"moorethreads", 85, 95},
		{"enflame", 85, 95},
	} {
		p.OverrideByName(v.name, []property{colored("green", step{v.hot, "orange"}, step{v.tooHot, "red"})})
	}
	return p
}

func cardNow() []panel {
	return []panel{
		statPanel("Health", "What the vendor's tool says. Unhealthy: take the card out of service; state and reason are below. Missing: the tool answers, and its table lacks the card.", plain, "not reported",
			now(`-1 * max(accelerator_device_missing_info{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"} unless on (job, instance, vendor, device) accelerator_healthy == 0)
  or min(accelerator_healthy{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "")).
			Mappings(append(healthy(), valueText("-1", "missing", "red"), absent("not reported"))).ColorMode("background"),
		statPanel("Utilization", "Share of the time in which the card computed, as the tool prints it. On Ascend under vNPU the tool prints 0 whatever runs.", ratio, "not reported",
			now(`max(accelerator_utilization_ratio{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "")).
			Decimals(0).ColorScheme(blue()),
		temperatureNow(),
		statPanel("Power", "Drawn by the card.", watts, "not reported",
			now(`max(accelerator_power_watts{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "")).
			ColorScheme(blue()),
		statPanel("Memory in use", "By kind of memory of the card, the driver's own included. A model server takes most of it at its start.", ratio, "not reported",
			now(`max by (type) (accelerator_memory_used_bytes{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card",type!="host_mapped"} / accelerator_memory_total_bytes{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "{{type}}")).
			Decimals(0).Thresholds(thresholds("green", memorySteps()...)),
		statPanel("Last seen", "Age of the newest figures of the card; of a card that is gone, since when. It should stay under a few polling intervals; after 40 s, with the usual interval, the card's series end.", seconds, "not in this range",
			now(`max(time() - accelerator_collector_last_success_timestamp_seconds{job=~"$job",instance=~"$host",collector=~"$maker"} and on (job, instance) accelerator_info{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})
  or time() - max(max_over_time(timestamp(accelerator_info{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})[$__range:1m]))`, "")).
			Mappings([]dashboard.ValueMapping{neverMapping(), absent("not in this range")}).Thresholds(thresholds("green", step{40, "orange"}, step{120, "red"})),
		rowsOf("Identity and versions", "What to give to the vendor's support, what to look for in the rack, and the NUMA node where the process that feeds the card should run. Each is the last that was known in the time range, also of a card that is gone. Empty fields are not printed by the tool.",
			label("instance", ""), label("device", ""),
			labelFrom("name", "Model", `topk(1, max by (instance, device, name, bus_id, npu, chip) (max_over_time(timestamp(accelerator_info{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})[$__range:1m])))
  or on (instance, device) group by (instance, device, name, bus_id) (accelerator_device_missing_info{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, width(120)),
			label("bus_id", "Bus", width(110)),
			labelFrom("uuid", "UUID", `topk(1, max by (instance, device, uuid) (max_over_time(timestamp(accelerator_info{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card",uuid!=""})[$__range:1m])))
  or on (instance, device) group by (instance, device, uuid) (accelerator_device_missing_info{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card",uuid!=""})`, width(345)),
			labelFrom("board", "Board", `topk(1, max by (instance, device, board) (max_over_time(timestamp(accelerator_info{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card",board!=""})[$__range:1m])))`),
			label("npu", "NPU", width(45)), label("chip", "Chip", width(45)),
			value("NUMA node", `max by (instance, device) (accelerator_numa_node{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, unitOf(plain), width(95)),
			labelFrom("cpus", "CPUs beside it", `accelerator_cpu_affinity_info{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}`, width(120)),
			labelFrom("tool_version", "Tool", `accelerator_tool_info{job=~"$job",instance=~"$host",vendor=~"$maker"}`),
			label("driver_version", "Driver"), label("runtime_version", "Runtime"), label("firmware_version", "Firmware"),
		).Height(4),
		stateTimeline("Health over time", "The first row is the verdict, then come the states and reasons as the tool printed them, and alerts. A gap is time in which the card was not listed, or the host could not be scraped.",
			append(append(healthy(), valueText("2", "printed", "blue")), alertStates()...),
			overTime(`min(accelerator_healthy{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "health"),
			overTime(`2 * max by (state, reason) (accelerator_health_info{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "{{state}} {{reason}}"),
			overTime(`-3 * max by (alertname) (ALERTS{alertname=~"Accelerator.+",alertstate="firing",severity="critical",job=~"$job",instance=~"$host",vendor=~"$maker|",device=~"$card|",collector=~"$maker|",target=""})`, "{{alertname}}"),
			overTime(`-2 * max by (alertname) (ALERTS{alertname=~"Accelerator.+",alertstate="firing",severity="warning",job=~"$job",instance=~"$host",vendor=~"$maker|",device=~"$card|",collector=~"$maker|",target=""})`, "{{alertname}}")).
			Height(7),
	}
}

func cardLoad() []panel {
	return []panel{
		timeSeries("Utilization", "This card, and the mean of the same vendor's other cards of the host. Cards of one tensor-parallel server should run together: if one is busier than the rest, the others wait for it; one that is idle takes no part.", ratio,
			overTime(`max(accelerator_utilization_ratio{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "this card", filled(15)),
			overTime(`avg(accelerator_utilization_ratio{job=~"$job",instance=~"$host",vendor=~"$maker",device!~"$card"})`, "mean of the others", dashed()...)),
		timeSeries("Power", "Power, and the limit where one is printed. A line that lies flat at the limit is a card that lowers its clock: latency then rises at the same load.", watts,
			overTime(`max(accelerator_power_watts{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "this card", filled(15)),
			overTime(`max(accelerator_power_limit_watts{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "limit", dashed(colorOf("red"))...)).
			Min(0),
		timeSeries("Temperature", "This card by sensor, and the hottest chip of the host's other cards. Hotter than its neighbours at the same power: dust, a fan, or bad seating.", celsius,
			overTime(`max by (sensor) (accelerator_temperature_celsius{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "this card, {{sensor}}"),
			overTime(`max(accelerator_temperature_celsius{job=~"$job",instance=~"$host",vendor=~"$maker",device!~"$card",sensor="chip"})`, "hottest other chip", dashed()...)),
		timeSeries("Memory", "In use and present, by kind: vram on MetaX, hbm and ddr on Ascend. Use that climbs without new work is a leak; the processes below tell whose.", bytes,
			overTime(`max by (type) (accelerator_memory_used_bytes{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card",type!="host_mapped"})`, "{{type}} used"),
			overTime(`max by (type) (accelerator_memory_total_bytes{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card",type!="host_mapped"})`, "{{type}} total", dashed()...)).
			Min(0),
		timeSeries("Clocks", "By part of the card, and the rated clock where it is printed (Ascend). A compute clock that stays low under load is held down: by heat or power, which the panel beside tells for MetaX.", hertz,
			overTime(`max by (clock) (accelerator_clock_hertz{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "{{clock}}"),
			overTime(`max by (clock) (accelerator_clock_max_hertz{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "{{clock}} rated", dashed()...)).
			Min(0),
		stateTimeline("What holds the clock down", "Reasons that mx-smi calls active, without those that are no trouble (idle, low_usage and applications_limit). over_power is normal at full load, and heat never is. npu-smi tells no reasons.",
			[]dashboard.ValueMapping{valueText("1", "active", "orange"), valueText("0", "no", "transparent"), valueText("-1", "the tool tells no reasons", gray)},
			overTime(`max by (reason) (accelerator_throttled{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card",reason!~"idle|low_usage|applications_limit"})`, "{{reason}}"),
			// Grafana 9.3 has no words of ours for a timeline without states.
			overTime(`-1 * max(accelerator_info{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}) unless on () count_over_time(accelerator_throttled{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[$__range] @ end())`, "not told")).
			Span(8),
	}
}

func cardProcesses() panel {
	return rowsOf("Processes", "What the tool lists now, PIDs of the host, and the pod of each where it is known. npu-smi prints at most eight for a chip and no names in a container; a process on a slice is counted on the card. None: nobody uses the card, or the exporter was told not to list them.",
		label("instance", ""), label("pid", "PID", width(80)), label("process", "Process"),
		value("Memory", `max by (job, instance, vendor, device, pid, process) (accelerator_process_memory_used_bytes{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, unitOf(bytes)),
		labelFrom("namespace", "Namespace", `max by (instance, pid, namespace, pod, container) (
  accelerator_process_container_info{job=~"$job",instance=~"$host",vendor=~"$maker",pod!="",pod_uid!="",exported_namespace="",exported_pod="",exported_container=""}
    unless on (job, instance, namespace, pod, container) accelerator_exporter_build_info{pod!=""})
  and on (instance, pid) accelerator_process_memory_used_bytes{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}`),
		label("pod", "Pod"), label("container", "Container", width(90)),
	).Span(12).Height(8).NoValue("no process is listed").SortBy(sortDescending("Memory"))
}

func cardTargets() panel {
	return rowsOf("Probed endpoints", "Endpoints whose process uses this card, over the time range. A target leads to its load and latency, where the load of its cards is drawn beside it.",
		hostColumn(),
		targetColumn(),
		value("Last probe", `min by (job, instance, target) (accelerator_probe_success{job=~"$job",instance=~"$host"}) and on (job, instance, target) accelerator_probe_target_device_info{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}`, succeeded()...),
		value("Failed", `sum by (job, instance, target) (increase(accelerator_probe_failures_total{job=~"$job",instance=~"$host",reason!="canceled"}[$__range]))
  / (sum by (job, instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$host"}[$__range])) > 0) and on (job, instance, target) accelerator_probe_target_device_info{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}`, textCell(ratio, failureSteps()...)...),
		value("First token p90", `histogram_quantile(0.9, sum by (job, instance, target, le) (rate(accelerator_probe_time_to_first_token_seconds_bucket{job=~"$job",instance=~"$host"}[$__range]))) and on (job, instance, target) accelerator_probe_target_device_info{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}`, unitOf(seconds)),
		value("Per token p90", `histogram_quantile(0.9, sum by (job, instance, target, le) (rate(accelerator_probe_time_per_output_token_seconds_bucket{job=~"$job",instance=~"$host"}[$__range]))) and on (job, instance, target) accelerator_probe_target_device_info{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}`, unitOf(seconds)),
	).Span(12).Height(8).NoValue("no probed endpoint is known to use this card")
}
