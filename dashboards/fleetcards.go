package dashboards

import "strings"

// worst are the cards that were least often there and healthy, as a share of the time for which their host was to be scraped.
// Both are counted at the same instants, and by host: a host may have several exporters, and pods that followed one another.
const worst = `bottomk($top, sum_over_time((min by (` + byCard + `) (accelerator_healthy{` + ofCard + `}))[$__range:$__interval] @ end())` +
	` / on (job, instance) group_left () count_over_time((group by (job, instance) (up{` + ofHost + `}))[$__range:$__interval] @ end()))`

func fleetHealth() []panel {
	return []panel{
		stateTimeline("Health of the worst cards", "The cards that were healthy for the smallest share of the time range, as many as Top says; with few cards, all of them. "+
			"A gap is a card that was not listed, or a host that could not be scraped. A click leads to the card. To see chosen cards, narrow host, vendor and device.",
			healthMappings(),
			overTime(withHost(`min by (`+byCard+`) (accelerator_healthy{`+ofCard+`}) and on (`+byCard+`) `+worst), cardLegend)).
			Height(9).MaxDataPoints(300).DataLinks(toCardOfSeries()),
		timeSeries("Probes that fail", "Share of all probes that failed, and by reason how much each adds; those that the exporter withdrew are left out. Many targets at once: look at the network or the exporters' side; one target: at its server. A line by reason is there only while something fails.", ratio,
			overTime(`sum(rate(accelerator_probe_failures_total{`+ofHost+notCanceled+`}[$window])) / (sum(rate(accelerator_probe_requests_total{`+ofHost+`}[$window])) > 0)`, "all"),
			overTime(`sum by (reason) (rate(accelerator_probe_failures_total{`+ofHost+notCanceled+`}[$window])) / on () group_left () (sum(rate(accelerator_probe_requests_total{`+ofHost+`}[$window])) > 0) > 0`, "{{reason}}")).
			Span(12).MaxDataPoints(300).NoValue("no probe"),
		timeSeries("Failed polls", "Failed polls of all collectors by reason, and parts of the tools' output that could not be read (warnings). timeout and stuck: the tool hangs, mostly on a sick card. driver: reload it. parse and warnings: a layout that the exporter does not know; send a capture. A line by reason is there only while something fails.", "suffix:/min",
			overTime(`60 * sum by (collector, reason) (rate(accelerator_collector_failures_total{`+ofCollector+`}[$__rate_interval])`+noFailure+`) > 0`, "{{collector}} {{reason}}"),
			overTime(`60 * sum by (collector) (rate(accelerator_parse_warnings_total{`+ofCollector+`}[$__rate_interval]))`, "{{collector}} warnings")).
			Span(12).MaxDataPoints(300).Min(0),
	}
}

func fleetLoad() []panel {
	// "bool" has every band at 0 while no card is in it, and no band before there are cards.
	var bands []string
	for _, le := range []string{"0.05", "0.25", "0.5", "0.75", "0.95", "1"} {
		bands = append(bands, `label_replace(sum(accelerator_utilization_ratio{`+ofCard+`} <= bool `+le+`), "le", "`+le+`", "", "")`)
	}
	return []panel{
		heatMap("Utilization of all cards", "How many cards were how busy: the brighter, the more cards in that band. Two bands far apart are work that is spread unevenly; a bright lowest band is unused capacity.", ratio,
			asBuckets(strings.Join(bands, " or "))).
			MaxDataPoints(60),
		timeSeries("Memory held", "Share of all memory of a vendor's cards, by kind of memory. Steps are servers that start or end.", ratio,
			overTime(`sum by (vendor, type) (accelerator_memory_used_bytes{`+ofCard+`}) / sum by (vendor, type) (accelerator_memory_total_bytes{`+ofCard+`})`, "{{vendor}} {{type}}")).
			Span(12).MaxDataPoints(300),
		timeSeries("Power", "Sum over a vendor's cards, and the sum of the limits of those that print one (MetaX from mx-smi 2.1.12). Plan feeds and cooling by the limit, not by the load of a day.", watts,
			overTime(`sum by (vendor) (accelerator_power_watts{`+ofCard+`})`, "{{vendor}}"),
			overTime(`sum by (vendor) (accelerator_power_limit_watts{`+ofCard+`})`, "{{vendor}} limit")).
			Span(12).MaxDataPoints(300).Min(0).
			OverrideByRegexp(".* limit", dashed()),
		timeSeries("Temperature", "Mean and hottest chip of a vendor's cards. A hottest card that leaves the mean behind has a cooling problem of its own; both rising together is the room.", celsius,
			overTime(`avg by (vendor) (accelerator_temperature_celsius{`+ofCard+`,sensor="chip"})`, "{{vendor}} mean"),
			overTime(`max by (vendor) (accelerator_temperature_celsius{`+ofCard+`,sensor="chip"})`, "{{vendor}} hottest")).
			Span(12).MaxDataPoints(300),
	}
}

func idleFullTable() panel {
	top := `topk($top, ` + idleFull() + `)`
	return rowsOf("Idle with memory held", whichIdleFull()+"choose the range by how long a card may rest. Empty is good. "+
		"The process is the one that holds the most, empty where the tool prints none: end it, or give the server work.",
		[]column{
			hostColumn(),
			label("vendor", "Vendor"),
			cardColumn(),
			value("Memory held", top, gaugeCell("orange")...),
			value("Highest utilization", peakLoad+` and on (`+byCard+`) `+top, unitOf(ratio), property{Id: "decimals", Value: 1}),
			label("process", "Process"),
			label("pid", "PID"),
			value("Process memory", `topk by (`+byCard+`) (1, max by (`+byCard+`, pid, process) (accelerator_process_memory_used_bytes{`+ofCard+`})) and on (`+byCard+`) `+top, unitOf(bytes)),
		}).
		SortBy(descending("Memory held"))
}

func cardTable() panel {
	const (
		load   = `max by (` + byCard + `) (accelerator_utilization_ratio{` + ofCard + `})`
		shown  = `topk(500, ` + load + ` or 2 * group by (` + byCard + `) (accelerator_info{` + ofCard + `}))`
		listed = ` and on (` + byCard + `) ` + shown
	)
	return rowsOf("Cards", "Every chosen card, at most 500: the unhealthy first. Click a head to sort by another column, such as the hottest or the fullest; the card leads to its own page. Of several pods on a card one is named: the card's page has all.",
		append([]column{
			value("Health", `min by (`+byCard+`) (accelerator_healthy{`+ofCard+`})`+listed),
			hostColumn(),
			label("vendor", "Vendor"),
			cardColumn(),
			label("name", "Model"),
			value("Utilization", load+listed),
			value("Memory held", held+listed),
			value("Power", `max by (`+byCard+`) (accelerator_power_watts{`+ofCard+`})`+listed),
			value("Temperature", heatNow+listed),
			{head: "NUMA node", field: "node", expr: nodeOf(ofCard) + listed},
		}, onePod(workloads(ofCard)+listed)...),
		asRows(`group by (`+byCard+`, name) (accelerator_info{`+ofCard+`})`+listed)).
		Height(10).SortBy(ascending("Health")).
		OverrideByName("Health", mappedCell(healthMappings())).
		OverrideByName("Utilization", gaugeCell("blue")).
		OverrideByName("Memory held", gaugeCell("green", full()...)).
		OverrideByName("Power", []property{unitOf(watts)}).
		OverrideByName("Temperature", []property{unitOf(celsius)})
}
