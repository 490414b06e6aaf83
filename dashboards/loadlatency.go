package dashboards

import "slices"

func loadLatency() page {
	return page{
		uid:   uidLoadLatency,
		title: "Accelerators: load and latency",
		description: "Does latency follow load, is the endpoint fast, and how many requests fail? " +
			"Latencies are those of the exporter's own probes, the load is that of the cards that serve the probed endpoint.",
		refresh: "30s",
		variables: slices.Concat(hosts(), cards(), probes(), []variable{
			serverVariable(serversOfTargets()), windowVariable(), linesVariable(),
		}),
		scope:       chosenCards(),
		annotations: []annotation{hostAlerts(), stepMarks("")},
		rows: []row{
			{panels: []panel{loadAndLatency()}},
			shown("Now", loadLatencyNow()...),
			shown("Latency of the probes", probeLatencies()...),
			folded("Latency by load", latencyByLoad()...),
			shown("Cards that serve", servingCards()...),
			shown("The server's own figures", serverFigures()...),
			folded("Failures, and how far the probe can be trusted", probeTrust()...),
			folded("Distributions", latencyHeatMaps()...),
		},
	}
}

// loadAndLatency is what the dashboard is for. Load and latencies are means over the same window, so that neither lags
// behind the other.
func loadAndLatency() panel {
	load := serving(servingLoad)
	return logSeries("Load and latency",
		"Utilization of the cards that serve the chosen targets (right), and what their probes took (left): means of the same window, so that one line follows the other within it. Failed: the share of the probes. Choose one target to see it alone, and a longer window where no latency is shown.",
		overTime(`avg(`+load+`)`, "utilization, mean", onTheRight(colorOf("blue"), filled(25))...),
		overTime(`max(`+load+`)`, "utilization, busiest card", onTheRight(colorOf("super-light-blue"))...),
		overTime(probeLatency(ttft).mean(), "time to first token, mean", colorOf("orange"), thick()),
		overTime(probeLatency(itl).mean(), "inter-token latency, mean", colorOf("green"), thick()),
		overTime(failureRatio(), "failed probes", onTheRight(colorOf("red"), filled(50), property{Id: "custom.drawStyle", Value: "bars"})...)).
		Span(24).Height(13).Legend(figures())
}

// servingLoad is the utilization of each chosen card, as a mean over the window as the latencies are.
const servingLoad = `avg_over_time(accelerator_utilization_ratio{` + ofCard + `}[$window])`

func loadLatencyNow() []panel {
	return []panel{
		statPanel("Firing alerts", "Alerts that fire now for the chosen hosts, those of severity info left out. None: no alert fires, or Prometheus lacks the rules.", count,
			"none", now(`count(ALERTS{`+firing+`,severity!="info"})`, "")).Thresholds(thresholds("red")),
		statPanel("Failed probes", "Share of the probes of the last window that failed, for whatever reason but that the exporter withdrew them.", ratio,
			"no probe", now(failureRatio(), "")).Thresholds(thresholds("green", failing()...)),
		statPanel("Last success", "Time since the last probe that succeeded, of the target that waits longest; never: none has since the exporter started.", seconds,
			"no probe", now(`max(`+sinceSuccess(ofProbe)+`)`, "")).
			Mappings(append(neverWord(), absent("no probe"))).
			Thresholds(thresholds("green", late()...)),
		statPanel("Unhealthy serving cards", "Cards that serve the chosen targets and that their tool does not call Available or OK.", count,
			"not reported", now(`sum(`+serving(`(accelerator_healthy{`+ofCard+`} == bool 0)`)+`)`, "")).Thresholds(troubles("red")),
		statPanel("Time to first token", "Mean over the last window.", seconds,
			"no probe", now(probeLatency(ttft).mean(), "")).ColorScheme(fixed("orange")),
		statPanel("Time per output token", "Mean over the last window.", seconds,
			"no probe", now(probeLatency(tpot).mean(), "")).ColorScheme(fixed("green")),
		alertTable().Span(12).Height(7),
		servingTable(),
	}
}

// sinceSuccess is the time since the last good probe of each target, since 1970 where there was none.
func sinceSuccess(matchers string) string {
	return `time() - (max by (` + byTarget + `) (accelerator_probe_last_success_timestamp_seconds{` + matchers + `})` +
		` or 0 * max by (` + byTarget + `) (accelerator_probe_requests_total{` + matchers + `}))`
}

// notCanceled leaves out probes that the exporter itself withdrew, at its stop or at a reload: they say nothing of the
// endpoint, and the alerts do not count them either.
const notCanceled = `,reason!="canceled"`

// failureRatio is the part of the probes of the window that failed.
func failureRatio() string {
	return `sum(rate(accelerator_probe_failures_total{` + ofProbe + notCanceled + `}[$window])) / (sum(rate(` + probed + `[$window])) > 0)`
}

// servingTable has the cards that serve, those that need a look first.
func servingTable() panel {
	return rowsOf("Cards that serve", "Cards known to serve the chosen targets; where none is known, all chosen cards of the exporter that probes. Unhealthy ones first. Process: the share of the CPUs of the process on the card that are on the card's NUMA node. Of several pods on a card one is named.",
		append([]column{
			value("Health", `min by (`+byCard+`) (`+serving(`accelerator_healthy{`+ofCard+`}`)+`)`, mappedCell(healthMappings())...),
			hostColumn(),
			label("vendor", "Vendor"),
			cardColumn(),
			value("Utilization", `max by (`+byCard+`) (`+serving(`accelerator_utilization_ratio{`+ofCard+`}`)+`)`, gaugeCell("blue")...),
			value("Memory", `max by (`+byCard+`) (`+serving(memoryShare)+`)`, gaugeCell("green", full()...)...),
			value("Power", `max by (`+byCard+`) (`+serving(`accelerator_power_watts{`+ofCard+`}`)+`)`, unitOf(watts)),
			value("°C", `max by (`+byCard+`) (`+serving(`accelerator_temperature_celsius{`+ofCard+`,sensor="chip"}`)+`)`, unitOf(plain)),
			servedFrom(),
		}, onePod(serving(workloads(ofCard)))...)).
		Span(12).Height(7).SortBy(ascending("Health"))
}

const memoryShare = `accelerator_memory_used_bytes{` + ofCard + `,type!="host_mapped"} / accelerator_memory_total_bytes{` + ofCard + `,type!="host_mapped"}`

func servingCards() []panel {
	return []panel{
		cardLines("Utilization", "Utilization of the cards that serve.", ratio, "busiest", serving(`accelerator_utilization_ratio{`+ofCard+`}`)),
		cardLines("Power", "Power of the cards that serve, and the lowest power limit where the tool prints one.", watts, "highest", serving(`accelerator_power_watts{`+ofCard+`}`)).
			WithTarget(overTime(`min(`+serving(`accelerator_power_limit_watts{`+ofCard+`}`)+`)`, "lowest limit").RefId("D")).
			OverrideByQuery("D", dashed(colorOf("red"), noLink())),
		cardLines("Memory in use", "Share of the memory of the cards that serve, of the fuller kind where a card has two.", ratio, "fullest", `max by (`+byCard+`) (`+serving(memoryShare)+`)`),
		cardLines("Temperature", "Temperature of the cards that serve.", celsius, "hottest", serving(`accelerator_temperature_celsius{`+ofCard+`,sensor="chip"}`)),
	}
}

func probeLatencies() []panel {
	of := func(title, description, name string) panel {
		return latencyPanel(title, description+" A p99 of a window with less than a hundred observations is its slowest one.", probeLatency(name), "$window",
			overTime(serverLatency(name).mean(), "server, mean")).
			OverrideByName("server, mean", dashed(colorOf("text")))
	}
	const server = " Dashed: the mean of all requests that vLLM had, by its own clock; the distance is network and queueing before vLLM only where users' requests are like probes."
	return []panel{
		of("Time to first token", "From the start of a probe to its first text."+server, ttft),
		of("Inter-token latency", "Gaps between successive chunks of text."+server, itl),
		of("Time per output token", "Time after the first token divided by the tokens after it: one value a probe."+server, tpot),
		of("Whole answer", "From the start of a probe to its last text, successful probes only."+server, duration),
	}
}

// latencyHeatMaps show the bounds that are given: more rows would write their labels over one another.
func latencyHeatMaps() []panel {
	first := probeLatency(ttft).buckets("0.01", "0.02", "0.04", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "20", "40")
	gaps := probeLatency(itl).buckets("0.005", "0.01", "0.025", "0.05", "0.1", "0.2", "0.5", "1", "2.5", "5", "10")
	// A column of a minute holds a probe or more at the default interval of 30 s.
	return []panel{
		heatMap("Time to first token", "Probes by the time to their first text.", seconds, asBuckets(first)).Interval("1m"),
		heatMap("Inter-token latency", "Gaps between chunks of text by their length.", seconds, asBuckets(gaps)).Interval("1m"),
	}
}

func probeTrust() []panel {
	return []panel{
		timeSeries("Failed probes by reason", "Share of all probes of the window that failed for this reason. canceled: withdrawn by the exporter itself, at its stop or at a reload; no other panel and no alert counts these.", ratio,
			overTime(`sum by (reason) (rate(accelerator_probe_failures_total{`+ofProbe+`}[$window])) / on () group_left () (sum(rate(`+probed+`[$window])) > 0) > 0`, "{{reason}}")).
			Stacking(stacked()).FillOpacity(40).NoValue("no probe failed").
			Legend(figures().SortBy("Max").SortDesc(true)),
		timeSeries("Probes outside an objective", "Share of the probes of the window that missed an objective of the probe's slo.", ratio,
			overTime(withHost(`sum by (`+byTarget+`, objective) (rate(accelerator_probe_slo_violations_total{`+ofProbe+`}[$window])) / on (`+byTarget+`) group_left () (sum by (`+byTarget+`) (rate(`+probed+`[$window])) > 0)`), targetLegend+" {{objective}}")).
			NoValue("no objectives"),
		timeSeries("Skipped probes", "Probes of the window that were due and not sent: the one before was still in flight, or a key could not be read or a token not be had.", count,
			overTime(withHost(`sum by (`+byTarget+`) (increase(accelerator_probe_skipped_total{`+ofProbe+`}[$window]))`), targetLegend)).
			Min(0),
		timeSeries("Phases of a probe", "Where a probe's time goes before the response begins: name, connection, TLS, sending, and the wait for the response's headers. Mean over the window.", seconds,
			overTime(`avg by (phase) (avg_over_time(accelerator_probe_phase_seconds{`+ofProbe+`}[$window]))`, "{{phase}}")).
			Span(12).Min(0).Stacking(stacked()).FillOpacity(30),
		timeSeries("How late the prober is", "p99 of the time from the kernel's receipt of bytes to their reading, and from the instant a probe was due to its sending. Where these are not small against the latencies, the exporter's machine is too busy.", seconds,
			overTime(probeLatency("client_lag").quantile(0.99, "$window"), "reading"),
			overTime(probeLatency("start_delay").quantile(0.99, "$window"), "sending")).
			Span(12).Min(0),
	}
}
