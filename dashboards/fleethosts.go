package dashboards

func hostTable() panel {
	const by = `by (` + byVendor + `)`
	return rowsOf("Hosts", "One row a host and vendor, so that a thousand hosts are a thousand rows: click a head to sort, narrow by the variables above. The host leads to load and latency and to NUMA.",
		[]column{
			{"instance", "Host"},
			{"vendor", "Vendor"},
			{"Value #A", "Expected"},
			{"Value #B", "Missing"},
			{"Value #C", "Unhealthy"},
			{"Value #D", "Utilization"},
			{"Value #E", "Memory held"},
			{"Value #F", "Hottest"},
		},
		asRows(expected),
		asRows(missing),
		asRows(`sum `+by+` (accelerator_healthy{`+ofCard+`} == bool 0)`),
		asRows(`avg `+by+` (accelerator_utilization_ratio{`+ofCard+`})`),
		asRows(`sum `+by+` (accelerator_memory_used_bytes{`+ofCard+`}) / sum `+by+` (accelerator_memory_total_bytes{`+ofCard+`})`),
		asRows(`max `+by+` (accelerator_temperature_celsius{`+ofCard+`})`)).
		Height(7).
		SortBy(descending("Missing")).
		OverrideByName("Host", toHost()).
		OverrideByName("Expected", []property{unitOf(count)}).
		OverrideByName("Missing", textCell(count, "green", step{1, "red"})).
		OverrideByName("Unhealthy", textCell(count, "green", step{1, "red"})).
		OverrideByName("Utilization", gaugeCell("blue")).
		OverrideByName("Memory held", gaugeCell("green", full()...)).
		OverrideByName("Hottest", []property{unitOf(celsius)})
}

func probeFailures() panel {
	return timeSeries("Probes that fail", "Share of all probes that failed, and by reason how much each adds; those that the exporter withdrew are left out. Many targets at once: look at the network or the exporters' side; one target: at its server. A line by reason is there only while something fails.",
		ratio,
		overTime(`sum(rate(accelerator_probe_failures_total{`+ofHost+notCanceled+`}[$window])) / (sum(rate(accelerator_probe_requests_total{`+ofHost+`}[$window])) > 0)`, "all"),
		overTime(`sum by (reason) (rate(accelerator_probe_failures_total{`+ofHost+notCanceled+`}[$window])) / on () group_left () (sum(rate(accelerator_probe_requests_total{`+ofHost+`}[$window])) > 0) > 0`, "{{reason}}")).
		Span(12).MaxDataPoints(300).NoValue("no probe")
}

func targetTable() panel {
	const (
		failed = `sum by (` + byTarget + `) (increase(accelerator_probe_failures_total{` + ofHost + notCanceled + `}[$__range]))`
		sent   = `(sum by (` + byTarget + `) (increase(accelerator_probe_requests_total{` + ofHost + `}[$__range])) > 0)`
		top    = `topk($top, ` + failed + ` / ` + sent + `)`
		listed = ` and on (` + byTarget + `) ` + top
	)
	return rowsOf("Targets that fail most", "Probed endpoints by the share of probes that failed over the time range, as many as Top says; the time to the first token is of the probes that got one. A target leads to its load and latency.",
		[]column{
			{"instance", "Host"},
			{"target", "Target"},
			{"Value #A", "Failed"},
			{"Value #B", "Last probe"},
			{"Value #C", "Last success"},
			{"Value #D", "First token p90"},
			{"Value #E", "Over objective"},
		},
		asRows(top),
		asRows(`min by (`+byTarget+`) (accelerator_probe_success{`+ofHost+`})`+listed),
		asRows(sinceSuccess(ofHost)+listed),
		asRows(`histogram_quantile(0.9, sum by (`+byTarget+`, le) (rate(accelerator_probe_time_to_first_token_seconds_bucket{`+ofHost+`}[$__range])))`+listed),
		asRows(`sum by (`+byTarget+`) (increase(accelerator_probe_slo_violations_total{`+ofHost+`}[$__range]))`+listed)).
		OverrideByName("Host", toHost()).
		OverrideByName("Target", toTarget()).
		OverrideByName("Failed", gaugeCell("green", failing()...)).
		OverrideByName("Last probe", mappedCell(yesNo("succeeded", "failed"))).
		OverrideByName("Last success", ageCell(late()...)).
		OverrideByName("First token p90", []property{unitOf(seconds)}).
		OverrideByName("Over objective", wholeCell(step{0.5, "orange"})).
		SortBy(descending("Failed"))
}

func collectorFailures() panel {
	return timeSeries("Failed polls", "Failed polls of all collectors by reason, and parts of the tools' output that could not be read (warnings). timeout and stuck: the tool hangs, mostly on a sick card. driver: reload it. parse and warnings: a layout that the exporter does not know; send a capture. A line by reason is there only while something fails.",
		"suffix:/min",
		overTime(`60 * sum by (collector, reason) (rate(accelerator_collector_failures_total{`+ofCollector+`}[$__rate_interval])) > 0`, "{{collector}} {{reason}}"),
		overTime(`60 * sum by (collector) (rate(accelerator_parse_warnings_total{`+ofCollector+`}[$__rate_interval]))`, "{{collector}} warnings")).
		Span(12).MaxDataPoints(300).Min(0)
}

func collectorTable() panel {
	const (
		top    = `topk($top, time() - accelerator_collector_last_success_timestamp_seconds{` + ofCollector + `})`
		listed = ` and on (` + byCollector + `) ` + top
	)
	return rowsOf("Collectors longest without a success", "As many as Top says. An age of a few seconds is normal; above 40 s, with the usual interval, the host's card series are gone.",
		[]column{
			{"instance", "Host"},
			{"collector", "Collector"},
			{"Value #A", "Last success"},
			{"Value #B", "Last poll"},
			{"Value #C", "Took"},
			{"Value #D", "Failures in range"},
			{"Value #E", "Warnings in range"},
		},
		asRows(top),
		asRows(`accelerator_collector_success{`+ofCollector+`}`+listed),
		asRows(`accelerator_collector_duration_seconds{`+ofCollector+`}`+listed),
		asRows(`sum by (`+byCollector+`) (increase(accelerator_collector_failures_total{`+ofCollector+`}[$__range]))`+listed),
		asRows(`increase(accelerator_parse_warnings_total{`+ofCollector+`}[$__range])`+listed)).
		OverrideByName("Host", toHost()).
		OverrideByName("Last success", ageCell(step{40, "orange"}, step{120, "red"})).
		OverrideByName("Last poll", mappedCell(yesNo("succeeded", "failed"))).
		OverrideByName("Took", textCell(seconds, "green", step{5, "orange"}, step{10, "red"})).
		OverrideByName("Failures in range", wholeCell(step{0.5, "orange"})).
		OverrideByName("Warnings in range", wholeCell(step{0.5, "orange"})).
		SortBy(descending("Last success"))
}

// hostsBy counts the hosts, and not the pods, that have the same values of labels.
func hostsBy(labels, expr string) string {
	return `count by (` + labels + `) (group by (job, instance, ` + labels + `) (` + expr + `))`
}

func toolVersions() panel {
	return rowsOf("Tools and drivers", "Hosts by version of the vendor's tool, driver, runtime (MACA, HPCC) and firmware. More than one row a vendor is an unfinished upgrade; the same model behaving in two ways often sits on two rows. Empty columns are not printed by the tool.",
		[]column{
			{"vendor", "Vendor"},
			{"tool", "Tool"},
			{"tool_version", "Tool version"},
			{"driver_version", "Driver"},
			{"runtime_version", "Runtime"},
			{"firmware_version", "Firmware"},
			{"Value", "Hosts"},
		},
		asRows(hostsBy(`vendor, tool, tool_version, driver_version, runtime_version, firmware_version`, `accelerator_tool_info{`+ofVendor+`}`))).
		Span(14).Height(7).
		OverrideByName("Hosts", []property{unitOf(count)})
}

func exporterVersions() panel {
	return rowsOf("Exporter versions", "Hosts by version of this exporter. Metrics keep their names between versions; a new one may read layouts that an older one warns about.",
		[]column{{"version", "Version"}, {"revision", "Revision"}, {"goversion", "Go"}, {"goarch", "Architecture"}, {"Value", "Hosts"}},
		asRows(hostsBy(`version, revision, goversion, goarch`, `accelerator_exporter_build_info{`+ofHost+`}`))).
		Span(10).Height(7).
		OverrideByName("Hosts", []property{unitOf(count)})
}
