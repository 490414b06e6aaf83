package dashboards

import "github.com/grafana/grafana-foundation-sdk/go/stat"

func fleet() page {
	return page{
		uid: "accelerator-fleet", title: "Accelerators: fleet", refresh: "1m", from: "now-1h",
		description: "All hosts and all cards: what needs a hand now, how load, power and memory are spread, which probes fail, which versions run. Made for up to a thousand hosts: panels hold totals, or the few at the top.",
		variables: []variable{
			datasourceVariable(), jobVariable(), instanceVariable(),
			allVariable("vendor", "Vendor", `label_values(accelerator_info{job=~"$job",instance=~"$instance"}, vendor)`),
		},
		scope: "${instance:queryparam}&${vendor:queryparam}",
		rows: []row{
			openRow("Now", fleetNow()...),
			openRow("What needs a hand", hostAlertTable(), worstCards()),
			openRow("Load and failures", fleetLines()...),
			openRow("Cards, hosts and targets", cardTable(), hostTable(), targetTable()),
			foldedRow("Cards by namespace", namespaceTable()),
			foldedRow("Idle with memory held", idleTable()),
			foldedRow("Tools and drivers", versions()),
		},
	}
}

func fleetNow() []panel {
	return []panel{
		statPanel("Hosts", "Hosts of the scrape jobs that hold exporters, whether they answer or not; several exporters of one instance are one host. Give exporters a scrape job of their own, or other programs are counted too.", count, "none",
			now(`count(count by (job, instance) (up{job=~"$job",instance=~"$instance"} and on (job) last_over_time(accelerator_exporter_build_info{job=~"$job"}[$__range])))`, "")).
			Span(3).ColorScheme(blue()),
		statPanel("Exporters down", "Exporters that Prometheus cannot scrape: host off, service stopped, or port closed. Their cards are in no other figure here.", count, "no exporter",
			now(`sum((up{job=~"$job",instance=~"$instance"} and on (job) last_over_time(accelerator_exporter_build_info{job=~"$job"}[$__range])) == bool 0)`, "")).
			Span(3).Thresholds(thresholds("green", step{1, "red"})),
		known(statPanel("Cards missing", "Cards expected that the last good poll lacks, as AcceleratorCardsMissing counts them: neither those of a host or tool that says nothing, nor those that the tool lists as unhealthy. Gray: not all cards are known.", count, "no cards",
			now(`sum(clamp_min(max by (job, instance, vendor) (accelerator_devices_expected{job=~"$job",instance=~"$instance",vendor=~"$vendor"})
  - (max by (job, instance, vendor) (accelerator_devices{job=~"$job",instance=~"$instance",vendor=~"$vendor"})
    or 0 * max by (job, instance, vendor) (label_replace(increase(accelerator_collector_failures_total{job=~"$job",instance=~"$instance",reason="no_device"}[5m]) > 0, "vendor", "$1", "collector", "(.+)")))
  - (count by (job, instance, vendor) (accelerator_device_missing_info{job=~"$job",instance=~"$instance",vendor=~"$vendor"} and on (job, instance, vendor, device) accelerator_healthy == 0)
    or 0 * max by (job, instance, vendor) (accelerator_devices_expected{job=~"$job",instance=~"$instance",vendor=~"$vendor"})), 0)) * on () group_left (known, what) (
  label_replace(count_values("known", count(accelerator_info{job=~"$job",instance=~"$instance",vendor=~"$vendor"})), "what", "known", "", "") and on () (last_over_time(accelerator_devices_expected{job=~"$job",instance=~"$instance",vendor=~"$vendor"}[$__range]) unless on (job, instance, vendor) accelerator_devices
    or up{job=~"$job",instance=~"$instance"} == 0 and on (job) last_over_time(accelerator_exporter_build_info{job=~"$job"}[$__range]))
  or on () label_replace(count_values("known", count(accelerator_info{job=~"$job",instance=~"$instance",vendor=~"$vendor"})), "what", "cards", "", ""))`, knownLegend))),
		known(statPanel("Cards unhealthy", "Cards in a state other than Available or OK. They stand first in the table of cards: take such a card out of service. Gray: not all cards are known.", count, "not reported",
			now(`sum(accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"} == bool 0) * on () group_left (known, what) (
  label_replace(count_values("known", count(accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"})), "what", "known", "", "") and on () (last_over_time(accelerator_devices_expected{job=~"$job",instance=~"$instance",vendor=~"$vendor"}[$__range]) unless on (job, instance, vendor) accelerator_devices
    or up{job=~"$job",instance=~"$instance"} == 0 and on (job) last_over_time(accelerator_exporter_build_info{job=~"$job"}[$__range]))
  or on () label_replace(count_values("known", count(accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"})), "what", "cards", "", ""))`, knownLegend))),
		known(statPanel("Collectors failing", "Collectors whose last poll failed. While a vendor's fails its cards have no data after three intervals and a timeout. The collector containers does not count where the exporter has a PID namespace of its own. Gray: an exporter is down.", count, "none",
			now(`sum((accelerator_collector_success{job=~"$job",instance=~"$instance",collector=~"$vendor|numa|containers|allocations"} unless on (job, instance, collector) increase(accelerator_collector_failures_total{job=~"$job",instance=~"$instance",collector="containers",reason="unsupported"}[5m]) > 0) == bool 0) * on () group_left (known, what) (
  label_replace(count_values("known", count(accelerator_collector_success{job=~"$job",instance=~"$instance",collector=~"$vendor|numa|containers|allocations"})), "what", "known", "", "") and on () (up{job=~"$job",instance=~"$instance"} == 0 and on (job) last_over_time(accelerator_exporter_build_info{job=~"$job"}[$__range]))
  or on () label_replace(count_values("known", count(accelerator_collector_success{job=~"$job",instance=~"$instance",collector=~"$vendor|numa|containers|allocations"})), "what", "collectors", "", ""))`, knownLegend))),
		known(statPanel("Targets failing", "Probed endpoints that are stalled or failing. One that is busy is not. Gray: an exporter is down.", count, "no probe",
			now(`sum(accelerator_probe_state{job=~"$job",instance=~"$instance",state=~"stalled|failing"}) * on () group_left (known, what) (
  label_replace(count_values("known", count(accelerator_probe_state{job=~"$job",instance=~"$instance",state="ok"})), "what", "known", "", "") and on () (up{job=~"$job",instance=~"$instance"} == 0 and on (job) last_over_time(accelerator_exporter_build_info{job=~"$job"}[$__range]))
  or on () label_replace(count_values("known", count(accelerator_probe_state{job=~"$job",instance=~"$instance",state="ok"})), "what", "targets", "", ""))`, knownLegend))),
		alertCount().Span(6),
	}
}

// knownLegend says of how many a figure is, and whether these are all.
const knownLegend = "of {{known}} {{what}}"

// known counts what is wrong: none is good news only where all is known.
func known(p *stat.PanelBuilder) *stat.PanelBuilder {
	return p.Span(3).TextMode("value_and_name").Thresholds(thresholds("green", step{1, "red"})).
		OverrideByRegexp(".* known", []property{colored(gray, step{1, "red"})})
}

// worstCards has as many rows as its height holds. Their order is that of their labels, hence a_rank: three digits, the
// lowest of cards that were unhealthy, then of those that were not listed. A restart of the exporter is within the last 1 %.
func worstCards() panel {
	return stateTimeline("Health of the worst cards", "Up to 20 cards that were unhealthy in the time range, or not listed for more than 1 % of it, the worst first; below, when alerts fired. A gap is a card that was not listed, or a host that could not be scraped. A click leads to the card.",
		append(healthy(), alertStates()...),
		overTime(`min by (job, instance, vendor, device) (accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"}) * on (job, instance, vendor, device) group_left (a_rank)
  count_values by (job, instance, vendor, device) ("a_rank", floor(550 + 449 * bottomk(20, sum_over_time((min by (job, instance, vendor, device) (accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"}))[$__range:$__interval] @ end()) / on (job, instance) group_left () count_over_time((group by (job, instance) (up{job=~"$job",instance=~"$instance"}))[$__range:$__interval] @ end())
    - 1 + min_over_time((min by (job, instance, vendor, device) (accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"}))[$__range:$__interval] @ end()) < 0.99)))`, cardLegend),
		overTime(`min(accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"}) unless on () (sum_over_time((min by (job, instance, vendor, device) (accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"}))[$__range:$__interval] @ end()) / on (job, instance) group_left () count_over_time((group by (job, instance) (up{job=~"$job",instance=~"$instance"}))[$__range:$__interval] @ end())
    - 1 + min_over_time((min by (job, instance, vendor, device) (accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"}))[$__range:$__interval] @ end()) < 0.99)`, "all healthy"),
		overTime(`-3 * max by (alertname) (ALERTS{alertname=~"Accelerator.+",alertstate="firing",severity="critical",job=~"$job",instance=~"$instance"})`, "{{alertname}}"),
		overTime(`-2 * max by (alertname) (ALERTS{alertname=~"Accelerator.+",alertstate="firing",severity="warning",job=~"$job",instance=~"$instance"})`, "{{alertname}}")).
		Span(24).Height(10).MaxDataPoints(300).DataLinks(toCardOfSeries()).
		OverrideByRegexp("all healthy|Accelerator.*", []property{noLink()})
}

func fleetLines() []panel {
	return []panel{
		colorByVendor(timeSeries("Utilization", "Mean of a vendor's cards, and the share of all chosen cards that do nothing (less than 5 %). Many idle beside a high mean: the work is spread unevenly.", ratio,
			overTime(`avg by (vendor) (accelerator_utilization_ratio{job=~"$job",instance=~"$instance",vendor=~"$vendor"})`, "{{vendor}} mean"),
			overTime(`avg(accelerator_utilization_ratio{job=~"$job",instance=~"$instance",vendor=~"$vendor"} < bool 0.05)`, "idle cards", dashed(colorOf("text"))...))).
			MaxDataPoints(300),
		colorByVendor(timeSeries("Power", "Sum over a vendor's cards, and the sum of the limits of those that print one (MetaX from mx-smi 2.1.12). Plan feeds and cooling by the limit, not by the load of a day.", watts,
			overTime(`sum by (vendor) (accelerator_power_watts{job=~"$job",instance=~"$instance",vendor=~"$vendor"})`, "{{vendor}}"),
			overTime(`sum by (vendor) (accelerator_power_limit_watts{job=~"$job",instance=~"$instance",vendor=~"$vendor"})`, "{{vendor}} limit", dashed()...))).
			MaxDataPoints(300).Min(0),
		colorByVendor(timeSeries("Temperature", "Mean and hottest chip of a vendor's cards. A hottest card that leaves the mean behind has a cooling problem of its own; both rising together is the room.", celsius,
			overTime(`avg by (vendor) (accelerator_temperature_celsius{job=~"$job",instance=~"$instance",vendor=~"$vendor",sensor="chip"})`, "{{vendor}} mean", dashed()...),
			overTime(`max by (vendor) (accelerator_temperature_celsius{job=~"$job",instance=~"$instance",vendor=~"$vendor",sensor="chip"})`, "{{vendor}} hottest"))).
			MaxDataPoints(300),
		colorByReason(timeSeries("Probes that fail", "Share of all probes that failed, by reason; those that the exporter withdrew are left out. Many targets at once: look at the network or the exporters' side; one target: at its server.", ratio,
			overTime(`sum by (reason) (rate(accelerator_probe_failures_total{job=~"$job",instance=~"$instance",reason!="canceled"}[5m])) / on () group_left () sum(rate(accelerator_probe_requests_total{job=~"$job",instance=~"$instance"}[5m])) > 0`, "{{reason}}"))).
			Span(12).MaxDataPoints(300).Stacking(stacked()).FillOpacity(40).NoValue("no probe failed"),
		colorByReason(timeSeries("Failed polls", "Failed polls of all collectors by reason, and parts of the tools' output that could not be read (warnings). timeout and stuck: the tool hangs, mostly on a sick card. driver: reload it. parse and warnings: a layout that the exporter does not know; send a capture.", "suffix:/min",
			overTime(`60 * sum by (collector, reason) (rate(accelerator_collector_failures_total{job=~"$job",instance=~"$instance",collector=~"$vendor|numa|containers|allocations"}[5m])
  unless on (job, instance, collector) increase(accelerator_collector_failures_total{job=~"$job",instance=~"$instance",collector="containers",reason="unsupported"}[5m]) > 0) > 0`, "{{collector}} {{reason}}"),
			overTime(`60 * sum by (collector) (rate(accelerator_parse_warnings_total{job=~"$job",instance=~"$instance",collector=~"$vendor|numa|containers|allocations"}[5m]))`, "{{collector}} warnings"))).
			Span(12).MaxDataPoints(300).Min(0).NoValue("no poll failed"),
	}
}

func cardTable() panel {
	return rowsOf("Cards", "The first 500 cards, the unhealthy first. Click a head to sort by another column, such as the hottest or the fullest; the card leads to its own page. Of several pods on a card one is named, by the recording rules.",
		value("Health", `topk(500, 1 - min by (job, instance, vendor, device) (accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"}))`, append(mapped(valueText("0", "healthy", "green"), valueText("1", "unhealthy", "red")), width(90))...),
		hostColumn(),
		vendorColumn(),
		cardColumn(),
		label("name", "Model"),
		value("Utilization", `max by (job, instance, vendor, device, name) (accelerator_utilization_ratio{job=~"$job",instance=~"$instance",vendor=~"$vendor"} * on (job, instance, vendor, device) group_left (name) max by (job, instance, vendor, device, name) (accelerator_info{job=~"$job",instance=~"$instance",vendor=~"$vendor"}))
  and on (job, instance, vendor, device) topk(500, 1 - min by (job, instance, vendor, device) (accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"}))`, gaugeCell("blue")...),
		value("Memory held", `max by (job, instance, vendor, device) (accelerator_memory_used_bytes{job=~"$job",instance=~"$instance",vendor=~"$vendor",type!="host_mapped"} / accelerator_memory_total_bytes{job=~"$job",instance=~"$instance",vendor=~"$vendor"})
  and on (job, instance, vendor, device) topk(500, 1 - min by (job, instance, vendor, device) (accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"}))`, gaugeCell("green", memorySteps()...)...),
		value("Power", `max by (job, instance, vendor, device) (accelerator_power_watts{job=~"$job",instance=~"$instance",vendor=~"$vendor"}) and on (job, instance, vendor, device) topk(500, 1 - min by (job, instance, vendor, device) (accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"}))`, unitOf(watts), width(70)),
		value("Temperature", `max by (job, instance, vendor, device) (accelerator_temperature_celsius{job=~"$job",instance=~"$instance",vendor=~"$vendor",sensor="chip"}) and on (job, instance, vendor, device) topk(500, 1 - min by (job, instance, vendor, device) (accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"}))`, unitOf(celsius), width(100)),
		labelFrom("namespace", "Namespace", `topk by (job, instance, vendor, device) (1, card_pod:accelerator_workload:info{job=~"$job",instance=~"$instance",vendor=~"$vendor"}) and on (job, instance, vendor, device) topk(500, 1 - min by (job, instance, vendor, device) (accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"}))`),
		label("pod", "Pod"),
	).Height(12).SortBy(sortDescending("Health"))
}

func hostTable() panel {
	return rowsOf("Hosts", "One row a host and vendor, so that a thousand hosts are a thousand rows: click a head to sort, narrow by the variables above. Down: Prometheus cannot scrape the exporter. Tool fails: no cards are known. Such a host stays for the time range. The host leads to load and latency and to NUMA.",
		value("State", `2 + 0 * max by (job, instance, vendor) (accelerator_devices{job=~"$job",instance=~"$instance",vendor=~"$vendor"})
  or 0 * max by (job, instance, vendor) (last_over_time(accelerator_devices_expected{job=~"$job",instance=~"$instance",vendor=~"$vendor"}[$__range])) + on (job, instance) group_left () max by (job, instance) (up{job=~"$job",instance=~"$instance"})
  or on (job, instance) max by (job, instance) (up{job=~"$job",instance=~"$instance"} == 0 and on (job) last_over_time(accelerator_exporter_build_info{job=~"$job"}[$__range]))`, append(mapped(valueText("0", "down", "red"), valueText("1", "tool fails", "red"), valueText("2", "known", "green")), width(100))...),
		hostColumn(),
		vendorColumn(),
		value("Expected", `max by (job, instance, vendor) (last_over_time(accelerator_devices_expected{job=~"$job",instance=~"$instance",vendor=~"$vendor"}[$__range]))`, unitOf(count)),
		value("Missing", `clamp_min(max by (job, instance, vendor) (accelerator_devices_expected{job=~"$job",instance=~"$instance",vendor=~"$vendor"})
  - (max by (job, instance, vendor) (accelerator_devices{job=~"$job",instance=~"$instance",vendor=~"$vendor"})
    or 0 * max by (job, instance, vendor) (label_replace(increase(accelerator_collector_failures_total{job=~"$job",instance=~"$instance",reason="no_device"}[5m]) > 0, "vendor", "$1", "collector", "(.+)")))
  - (count by (job, instance, vendor) (accelerator_device_missing_info{job=~"$job",instance=~"$instance",vendor=~"$vendor"} and on (job, instance, vendor, device) accelerator_healthy == 0)
    or 0 * max by (job, instance, vendor) (accelerator_devices_expected{job=~"$job",instance=~"$instance",vendor=~"$vendor"})), 0)`, textCell(count, step{1, "red"})...),
		value("Unhealthy", `sum by (job, instance, vendor) (accelerator_healthy{job=~"$job",instance=~"$instance",vendor=~"$vendor"} == bool 0)`, textCell(count, step{1, "red"})...),
		value("Utilization", `avg by (job, instance, vendor) (accelerator_utilization_ratio{job=~"$job",instance=~"$instance",vendor=~"$vendor"})`, gaugeCell("blue")...),
		value("Hottest", `max by (job, instance, vendor) (accelerator_temperature_celsius{job=~"$job",instance=~"$instance",vendor=~"$vendor",sensor="chip"})`, unitOf(celsius)),
	).Height(8).SortBy(sortAscending("State"))
}

func targetTable() panel {
	return rowsOf("Targets that fail most", "Probed endpoints, those with the largest share of failed probes in the time range first; the time to the first token is of the probes that got one. A target leads to its load and latency.",
		hostColumn(),
		targetColumn(),
		value("Failed", `sum by (job, instance, target) (increase(accelerator_probe_failures_total{job=~"$job",instance=~"$instance",reason!="canceled"}[$__range])) / (sum by (job, instance, target) (increase(accelerator_probe_requests_total{job=~"$job",instance=~"$instance"}[$__range])) > 0)`, gaugeCell("green", failureSteps()...)...),
		value("State", `max by (job, instance, target) (4 * accelerator_probe_state{job=~"$job",instance=~"$instance",state="stalled"}
  or 3 * accelerator_probe_state{job=~"$job",instance=~"$instance",state="failing"}
  or 2 * accelerator_probe_state{job=~"$job",instance=~"$instance",state="busy"}
  or 1 * accelerator_probe_state{job=~"$job",instance=~"$instance",state="unknown"}
  or 0 * accelerator_probe_state{job=~"$job",instance=~"$instance",state="ok"})`, mapped(targetStates()...)...),
		value("Last success", `time() - (max by (job, instance, target) (accelerator_probe_last_success_timestamp_seconds{job=~"$job",instance=~"$instance"}) or 0 * max by (job, instance, target) (accelerator_probe_requests_total{job=~"$job",instance=~"$instance"}))`, age(probeAgeSteps()...)...),
		value("First token p90", `histogram_quantile(0.9, sum by (job, instance, target, le) (rate(accelerator_probe_time_to_first_token_seconds_bucket{job=~"$job",instance=~"$instance"}[$__range])))`, unitOf(seconds)),
		value("Over objective", `sum by (job, instance, target) (increase(accelerator_probe_slo_violations_total{job=~"$job",instance=~"$instance"}[$__range]))`, someIsBad("orange")...),
	).Height(8).NoValue("no probe").SortBy(sortDescending("Failed"))
}

func namespaceTable() panel {
	return rowsOf("Cards by namespace", "Whose cards they are, by the recording rules: cards with a process of the namespace's pods, or allocated to them. A card that two namespaces share counts for both, with its whole utilization. Idle: no utilization above 5 % in the time range, and a fifth of the memory or more in use: ask the owner.",
		label("namespace", "Namespace"),
		value("Cards", `count by (namespace) (group by (job, instance, vendor, device, namespace) (card_pod:accelerator_workload:info{job=~"$job",instance=~"$instance",vendor=~"$vendor"}))`, unitOf(count)),
		value("Utilization", `avg by (namespace) (group by (job, instance, vendor, device, namespace) (card_pod:accelerator_workload:info{job=~"$job",instance=~"$instance",vendor=~"$vendor"}) * on (job, instance, vendor, device) group_left () max by (job, instance, vendor, device) (accelerator_utilization_ratio{job=~"$job",instance=~"$instance",vendor=~"$vendor"}))`, gaugeCell("blue")...),
		value("Idle with memory held", `count by (namespace) (group by (job, instance, vendor, device, namespace) (card_pod:accelerator_workload:info{job=~"$job",instance=~"$instance",vendor=~"$vendor"}) and on (job, instance, vendor, device)
  (max_over_time(accelerator_utilization_ratio{job=~"$job",instance=~"$instance",vendor=~"$vendor"}[$__range]) <= 0.05 and on (job, instance, vendor, device) accelerator_memory_used_bytes{job=~"$job",instance=~"$instance",vendor=~"$vendor",type!="host_mapped"} / accelerator_memory_total_bytes{job=~"$job",instance=~"$instance",vendor=~"$vendor"} >= 0.2))`, textCell(count, step{1, "orange"})...),
	).Height(8).NoValue("no pod is known, or Prometheus lacks the recording rules").SortBy(sortDescending("Cards"))
}

func idleTable() panel {
	return rowsOf("Idle with memory held", "Up to 50 cards with a fifth of their memory or more in use and a utilization that never rose above 5 % in the time range: choose the range by how long a card may rest. "+
		"The process is the one that holds the most, empty where the tool prints none: end it, or give the server work.",
		hostColumn(),
		vendorColumn(),
		cardColumn(),
		value("Memory held", `topk(50, max by (job, instance, vendor, device) (accelerator_memory_used_bytes{job=~"$job",instance=~"$instance",vendor=~"$vendor",type!="host_mapped"} / accelerator_memory_total_bytes{job=~"$job",instance=~"$instance",vendor=~"$vendor"}) >= 0.2
  and on (job, instance, vendor, device) max_over_time(accelerator_utilization_ratio{job=~"$job",instance=~"$instance",vendor=~"$vendor"}[$__range]) <= 0.05)`, gaugeCell("orange")...),
		label("process", "Process"),
		label("pid", "PID"),
		value("Process memory", `topk by (job, instance, vendor, device) (1, max by (job, instance, vendor, device, pid, process) (accelerator_process_memory_used_bytes{job=~"$job",instance=~"$instance",vendor=~"$vendor"}))
  and on (job, instance, vendor, device) (accelerator_memory_used_bytes{job=~"$job",instance=~"$instance",vendor=~"$vendor",type!="host_mapped"} / accelerator_memory_total_bytes{job=~"$job",instance=~"$instance",vendor=~"$vendor"} >= 0.2)
  and on (job, instance, vendor, device) max_over_time(accelerator_utilization_ratio{job=~"$job",instance=~"$instance",vendor=~"$vendor"}[$__range]) <= 0.05`, unitOf(bytes)),
	).NoValue("no card is idle with memory held").SortBy(sortDescending("Memory held"))
}

func versions() panel {
	return rowsOf("Tools and drivers", "Hosts by version of the vendor's tool, driver, runtime (MACA, HPCC) and firmware. More than one row a vendor is an unfinished upgrade; the same model behaving in two ways often sits on two rows. Empty columns are not printed by the tool.",
		vendorColumn(), label("tool", "Tool"), label("tool_version", "Tool version"), label("driver_version", "Driver"),
		label("runtime_version", "Runtime"), label("firmware_version", "Firmware"),
		value("Hosts", `count by (vendor, tool, tool_version, driver_version, runtime_version, firmware_version) (group by (job, instance, vendor, tool, tool_version, driver_version, runtime_version, firmware_version) (accelerator_tool_info{job=~"$job",instance=~"$instance",vendor=~"$vendor"}))`, unitOf(count)),
	).Height(7)
}
