package dashboards

import "strings"

func goneCards() panel {
	return rowsOf("Cards gone", "Cards that were listed in the time range and are not now, of hosts whose exporter answers; at most 200. Empty is good. "+
		"One card of a host: reset it or power-cycle the host, and check the slot if it comes again. All cards of a vendor: the tool fails, see the collectors below.",
		[]column{
			{"instance", "Host"}, {"vendor", "Vendor"}, {"device", "Card"}, {"name", "Model"}, {"bus_id", "Bus"}, {"uuid", "UUID"},
		},
		asRows(`topk(200, group by (`+byCard+`, name, bus_id, uuid) (last_over_time(accelerator_info{`+ofCard+`}[$__range]))`+
			` unless on (`+byCard+`) accelerator_info{`+ofCard+`} and on (job, instance) (up{`+ofHost+`} == 1))`)).
		Span(12).Height(7).
		OverrideByName("Host", toHost()).
		OverrideByName("Card", toCard())
}

func sickCards() panel {
	return rowsOf("Unhealthy cards", "Cards in a state other than Available or OK, with state and reason as the tool prints them; at most 200. Empty is good. "+
		"Move work away, then follow the vendor's guide for that state. UNKNOWN on Ascend is a card that is absent or did not start.",
		[]column{{"instance", "Host"}, {"vendor", "Vendor"}, {"device", "Card"}, {"state", "State"}, {"reason", "Reason"}},
		asRows(`topk(200, accelerator_health_info{`+ofCard+`} and on (`+byCard+`) (accelerator_healthy{`+ofCard+`} == 0))`)).
		Span(12).Height(7).
		OverrideByName("Host", toHost()).
		OverrideByName("Card", toCard())
}

// worst are the cards that were least often there and healthy, as a share of the time for which their host was to be scraped.
// Both are counted at the same instants, and by host: a host may have several exporters, and pods that followed one another.
const worst = `bottomk($top, sum_over_time((min by (` + byCard + `) (accelerator_healthy{` + ofCard + `}))[$__range:$__interval] @ end())` +
	` / on (job, instance) group_left () count_over_time((group by (job, instance) (up{` + ofHost + `}))[$__range:$__interval] @ end()))`

func healthTimeline() panel {
	return stateTimeline("Health of the worst cards", "The cards that were healthy for the smallest share of the time range, as many as Top says; with few cards, all of them. "+
		"A gap is a card that was not listed, or a host that could not be scraped. A click leads to the card. To see chosen cards, narrow host, vendor and device.",
		healthMappings(),
		overTime(`min by (`+byCard+`) (accelerator_healthy{`+ofCard+`}) and on (`+byCard+`) `+worst, cardLegend)).
		Span(24).Height(11).
		MaxDataPoints(300).
		DataLinks(cardLink(ofSeries))
}

func healthCounts() panel {
	return timeSeries("Cards by health", "Healthy, unhealthy and missing cards, piled up: the whole is what ought to be there, less cards whose tool prints no state. A step down of the whole is a host that cannot be scraped.",
		count,
		overTime(`sum(accelerator_healthy{`+ofCard+`})`, "healthy"),
		overTime(`count(accelerator_healthy{`+ofCard+`}) - sum(accelerator_healthy{`+ofCard+`})`, "unhealthy"),
		overTime(`sum(`+missing+`)`, "missing")).
		MaxDataPoints(300).Min(0).Decimals(0).
		FillOpacity(40).Stacking(stacked()).
		OverrideByName("healthy", []property{colorOf("green")}).
		OverrideByName("unhealthy", []property{colorOf("red")}).
		OverrideByName("missing", []property{colorOf("orange")})
}

func loadHeatmap() panel {
	const load = `accelerator_utilization_ratio{` + ofCard + `}`
	below := func(expr, le string) string {
		return `label_replace(` + expr + `, "le", "` + le + `", "", "")`
	}
	// A filter costs a server half of what a comparison to 0 and 1 does, which counts over thousands of cards.
	var bands []string
	for _, le := range []string{"0.05", "0.25", "0.5", "0.75", "0.95"} {
		bands = append(bands, below(`(count(`+load+` <= `+le+`) or vector(0))`, le))
	}
	bands = append(bands, below(`count(`+load+`)`, "1"))
	return heatMap("Utilization of all cards", "How many cards were how busy: the darker, the more cards in that band. Two bands far apart are work that is spread unevenly; a dark lowest band is unused capacity.",
		ratio, asBuckets(strings.Join(bands, " or "))).
		MaxDataPoints(60)
}

func loadByVendor() panel {
	return timeSeries("Utilization", "Mean and 90th percentile over the cards of a vendor. A high percentile over a low mean: a few cards carry the load.",
		ratio,
		overTime(`avg by (vendor) (accelerator_utilization_ratio{`+ofCard+`})`, "{{vendor}} mean"),
		overTime(`quantile by (vendor) (0.9, accelerator_utilization_ratio{`+ofCard+`})`, "{{vendor}} p90")).
		Span(12).MaxDataPoints(150).Min(0).Max(1)
}

func memoryByVendor() panel {
	return timeSeries("Memory held", "Share of all memory of a vendor's cards, by kind of memory. Steps are servers that start or end.",
		ratio,
		overTime(`sum by (vendor, type) (accelerator_memory_used_bytes{`+ofCard+`}) / sum by (vendor, type) (accelerator_memory_total_bytes{`+ofCard+`})`, "{{vendor}} {{type}}")).
		MaxDataPoints(300).Min(0).Max(1)
}

func powerByVendor() panel {
	return timeSeries("Power", "Sum over a vendor's cards, and the sum of the limits of those that print one (MetaX from mx-smi 2.1.12). Plan feeds and cooling by the limit, not by the load of a day.",
		watts,
		overTime(`sum by (vendor) (accelerator_power_watts{`+ofCard+`})`, "{{vendor}}"),
		overTime(`sum by (vendor) (accelerator_power_limit_watts{`+ofCard+`})`, "{{vendor}} limit")).
		MaxDataPoints(300).Min(0).
		OverrideByRegexp(".* limit", dashed())
}

func temperatureByVendor() panel {
	return timeSeries("Temperature", "Mean and hottest of a vendor's cards. A hottest card that leaves the mean behind has a cooling problem of its own; both rising together is the room.",
		celsius,
		overTime(`avg by (vendor) (accelerator_temperature_celsius{`+ofCard+`})`, "{{vendor}} mean"),
		overTime(`max by (vendor) (accelerator_temperature_celsius{`+ofCard+`})`, "{{vendor}} hottest")).
		MaxDataPoints(300)
}

func hottest() panel {
	return byHeat(barGauge("Hottest cards", "As many as Top says. "+heatColors()+" Look at fans, filters and the neighbours of the card; a click leads to it.",
		celsius, now(`topk($top, accelerator_temperature_celsius{`+ofCard+`})`, cardLegend)).
		Span(8).Height(12).Min(20).Max(110).
		Thresholds(thresholds("blue")).
		DataLinks(cardLink(ofSeries)))
}

func fullest() panel {
	return barGauge("Fullest cards", "Memory in use, as many cards as Top says. Model servers hold 90 % by intent; from "+percent(memoryFull)+" on the next allocation may fail. Lower the server's share (vLLM: --gpu-memory-utilization), or find the second process on the card's page.",
		ratio, now(`topk($top, accelerator_memory_used_bytes{`+ofCard+`} / accelerator_memory_total_bytes{`+ofCard+`})`, cardLegend+` {{type}}`)).
		Span(8).Height(12).Min(0).Max(1).
		Thresholds(thresholds("green", full()...)).
		DataLinks(cardLink(ofSeries))
}

func busiest() panel {
	return barGauge("Busiest cards", "Mean utilization over the time range, as many cards as Top says. Cards of one server should stand together here: one far above the others holds them up.",
		ratio, now(`topk($top, `+meanLoad+`)`, cardLegend)).
		Span(8).Height(12).Min(0).Max(1).
		Thresholds(thresholds("blue")).
		ColorScheme(byThreshold()).
		DataLinks(cardLink(ofSeries))
}

func idleFullTable() panel {
	top := `topk($top, ` + idleFull() + `)`
	return rowsOf("Idle with memory held", whichIdleFull()+"choose the range by how long a card may rest. Empty is good. "+
		"The process is the one that holds the most, empty where the tool prints none: end it, or give the server work.",
		[]column{
			{"instance", "Host"},
			{"vendor", "Vendor"},
			{"device", "Card"},
			{"Value #A", "Memory held"},
			{"Value #B", "Highest utilization"},
			{"process", "Process"},
			{"pid", "PID"},
			{"Value #C", "Process memory"},
		},
		asRows(top),
		asRows(peakLoad+` and on (`+byCard+`) `+top),
		asRows(`topk by (`+byCard+`) (1, max by (`+byCard+`, pid, process) (accelerator_process_memory_used_bytes{`+ofCard+`})) and on (`+byCard+`) `+top)).
		OverrideByName("Host", toHost()).
		OverrideByName("Card", toCard()).
		OverrideByName("Memory held", gaugeCell("orange")).
		OverrideByName("Highest utilization", []property{unitOf(ratio), {Id: "decimals", Value: 1}}).
		OverrideByName("Process memory", []property{unitOf(bytes)}).
		SortBy(descending("Memory held"))
}

func cardTable() panel {
	const (
		load   = `max by (` + byCard + `) (accelerator_utilization_ratio{` + ofCard + `})`
		shown  = `topk(500, ` + load + ` or 2 * group by (` + byCard + `) (accelerator_info{` + ofCard + `}))`
		listed = ` and on (` + byCard + `) ` + shown
	)
	return rowsOf("Cards", "Every chosen card, at most 500: those whose utilization is not known first, then the busiest. Click a head to sort, narrow by the variables above; the card leads to its own page.",
		[]column{
			{"instance", "Host"},
			{"vendor", "Vendor"},
			{"device", "Card"},
			{"name", "Model"},
			{"Value #B", "Health"},
			{"Value #C", "Utilization"},
			{"Value #D", "Memory held"},
			{"Value #E", "Power"},
			{"Value #F", "Temperature"},
			{"node", "NUMA node"},
		},
		asRows(`group by (`+byCard+`, name) (accelerator_info{`+ofCard+`})`+listed),
		asRows(`min by (`+byCard+`) (accelerator_healthy{`+ofCard+`})`+listed),
		asRows(load+listed),
		asRows(held+listed),
		asRows(`max by (`+byCard+`) (accelerator_power_watts{`+ofCard+`})`+listed),
		asRows(`max by (`+byCard+`) (accelerator_temperature_celsius{`+ofCard+`})`+listed),
		asRows(nodeOf(ofCard)+listed)).
		Height(12).
		SortBy(ascending("Host")).
		OverrideByName("Host", toHost()).
		OverrideByName("Card", toCard()).
		OverrideByName("Health", mappedCell(healthMappings())).
		OverrideByName("Utilization", gaugeCell("blue")).
		OverrideByName("Memory held", gaugeCell("green", full()...)).
		OverrideByName("Power", []property{unitOf(watts)}).
		OverrideByName("Temperature", []property{unitOf(celsius)})
}
