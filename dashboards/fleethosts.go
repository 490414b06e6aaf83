package dashboards

func hostTable() panel {
	const by = `by (` + byVendor + `)`
	return rowsOf("Hosts", "One row a host and vendor, so that a thousand hosts are a thousand rows: click a head to sort, narrow by the variables above. The host leads to load and latency and to NUMA.",
		[]column{
			hostColumn(),
			label("vendor", "Vendor"),
			value("Expected", expected, unitOf(count)),
			value("Missing", missing, textCell(count, "green", step{1, "red"})...),
			value("Unhealthy", `sum `+by+` (accelerator_healthy{`+ofCard+`} == bool 0)`, textCell(count, "green", step{1, "red"})...),
			value("Utilization", `avg `+by+` (accelerator_utilization_ratio{`+ofCard+`})`, gaugeCell("blue")...),
			value("Memory held", `sum `+by+` (accelerator_memory_used_bytes{`+ofCard+`,type!="host_mapped"}) / sum `+by+` (accelerator_memory_total_bytes{`+ofCard+`,type!="host_mapped"})`, gaugeCell("green", full()...)...),
			value("Hottest", `max `+by+` (accelerator_temperature_celsius{`+ofCard+`,sensor="chip"})`, unitOf(celsius)),
		}).
		Height(7).SortBy(descending("Missing"))
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
			hostColumn(),
			targetColumn(),
			value("Failed", top, gaugeCell("green", failing()...)...),
			value("Last probe", `min by (`+byTarget+`) (accelerator_probe_success{`+ofHost+`})`+listed, mappedCell(yesNo("succeeded", "failed"))...),
			value("Last success", sinceSuccess(ofHost)+listed, ageCell(late()...)...),
			value("First token p90", `histogram_quantile(0.9, sum by (`+byTarget+`, le) (rate(accelerator_probe_time_to_first_token_seconds_bucket{`+ofHost+`}[$__range])))`+listed, unitOf(seconds)),
			value("Over objective", `sum by (`+byTarget+`) (increase(accelerator_probe_slo_violations_total{`+ofHost+`}[$__range]))`+listed, wholeCell(step{0.5, "orange"})...),
		}).
		SortBy(descending("Failed"))
}

func collectorTable() panel {
	const (
		top    = `topk($top, time() - accelerator_collector_last_success_timestamp_seconds{` + ofCollector + `}` + noFailure + `)`
		listed = ` and on (` + byCollector + `) ` + top
	)
	return rowsOf("Collectors longest without a success", "As many as Top says. An age of a few seconds is normal; above 40 s, with the usual interval, the host's card series are gone.",
		[]column{
			hostColumn(),
			label("collector", "Collector"),
			value("Last success", top, ageCell(silent()...)...),
			value("Last poll", `accelerator_collector_success{`+ofCollector+`}`+listed, mappedCell(yesNo("succeeded", "failed"))...),
			value("Took", `accelerator_collector_duration_seconds{`+ofCollector+`}`+listed, textCell(seconds, "green", step{5, "orange"}, step{10, "red"})...),
			value("Failures in range", `sum by (`+byCollector+`) (increase(accelerator_collector_failures_total{`+ofCollector+`}[$__range]))`+listed, wholeCell(step{0.5, "orange"})...),
			value("Warnings in range", `increase(accelerator_parse_warnings_total{`+ofCollector+`}[$__range])`+listed, wholeCell(step{0.5, "orange"})...),
		}).
		SortBy(descending("Last success"))
}

// hostsBy counts the hosts, and not the pods, that have the same values of labels.
func hostsBy(labels, expr string) string {
	return `count by (` + labels + `) (group by (job, instance, ` + labels + `) (` + expr + `))`
}

func versions() []panel {
	return []panel{
		rowsOf("Tools and drivers", "Hosts by version of the vendor's tool, driver, runtime (MACA, HPCC) and firmware. More than one row a vendor is an unfinished upgrade; the same model behaving in two ways often sits on two rows. Empty columns are not printed by the tool.",
			[]column{
				label("vendor", "Vendor"),
				label("tool", "Tool"),
				label("tool_version", "Tool version"),
				label("driver_version", "Driver"),
				label("runtime_version", "Runtime"),
				label("firmware_version", "Firmware"),
				value("Hosts", hostsBy(`vendor, tool, tool_version, driver_version, runtime_version, firmware_version`, `accelerator_tool_info{`+ofVendor+`}`), unitOf(count)),
			}).
			Span(14).Height(7),
		rowsOf("Exporter versions", "Hosts by version of this exporter. Metrics keep their names between versions; a new one may read layouts that an older one warns about.",
			[]column{
				label("version", "Version"), label("revision", "Revision"), label("goversion", "Go"), label("goarch", "Architecture"),
				value("Hosts", hostsBy(`version, revision, goversion, goarch`, `accelerator_exporter_build_info{`+ofHost+`}`), unitOf(count)),
			}).
			Span(10).Height(7),
	}
}
