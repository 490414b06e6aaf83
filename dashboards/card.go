package dashboards

import "slices"

// others are the cards of the same host and vendor beside the chosen one.
const others = ofMaker + `,device!~"$card"`

func card() page {
	return page{
		uid: uidCard, title: "Accelerators: card", refresh: "30s",
		description: "One card in depth: what it is, how it is, who uses it, where it sits, and which probed endpoints it serves.",
		variables: slices.Concat([]variable{datasourceVariable(), jobVariable()}, scope(), []variable{
			one("host", "Host", `label_values(accelerator_info{`+ofHost+`}, instance)`),
			one("maker", "Vendor", `label_values(accelerator_info{`+ofOneHost+`,vendor=~"$vendor"}, vendor)`),
			one("card", "Card", `label_values(accelerator_info{`+ofMaker+`,device=~"$device"}, device)`),
		}),
		scope:       chosenHost(),
		annotations: []annotation{alertMarks(`ALERTS{alertname=~"Accelerator.+",alertstate="firing",`+ofOneCard+`}`, "{{severity}}")},
		rows: []row{
			shown("Now: $maker $card on $host", cardNow()...),
			shown("Load", append(cardLoad(), cardClocks()...)...),
			shown("Processes and endpoints", cardProcesses(), cardProcessMemory(), cardTargets()),
			folded("Pods", cardPods()),
			folded("Where it sits", cardLinks(), hostLinks()),
			folded("Memory errors, hardware errors and fault codes", cardErrors()...),
			folded("Links and PCIe", cardLinkState()...),
			folded("Network and optics", append(cardNetwork(), cardOptics()...)...),
			folded("Engines, memory bandwidth and rails", cardEngines()...),
			folded("Slices (MetaX sGPU)", cardSlices()),
			folded("Performance level (MetaX) and huge pages (Ascend)", cardExtras()...),
		},
	}
}

// ofTheCard is the largest value of a metric of the chosen card.
func ofTheCard(metric string) string { return `max(` + metric + `{` + ofOneCard + `})` }

func cardNow() []panel {
	states := append(healthMappings(), words(word{"2", "printed", "blue"})...)
	return []panel{
		statPanel("Health", "Healthy is Available (MetaX) or OK (Ascend). Unhealthy: take the card out of service; state and reason are below.", plain,
			"not reported", now(`min(accelerator_healthy{`+ofOneCard+`})`, "")).
			Span(3).Mappings(append(healthMappings(), absent("not reported"))).ColorMode("background"),
		statPanel("Utilization", "Share of the time in which the card computed, as the tool prints it. On Ascend under vNPU the tool prints 0 whatever runs.", ratio,
			"not reported", now(ofTheCard("accelerator_utilization_ratio"), "")).
			Span(3).Decimals(0).ColorScheme(fixed("blue")),
		byHeat(statPanel("Temperature", "Of the chip. "+heatColors()+" Look at fans, filters and the cards beside it.", celsius,
			"not reported", now(`max by (vendor) (accelerator_temperature_celsius{`+ofOneCard+`,sensor="chip"})`, "{{vendor}}")).
			Span(3).Thresholds(thresholds("blue")).TextMode("value")),
		statPanel("Power", "Drawn by the card.", watts,
			"not reported", now(ofTheCard("accelerator_power_watts"), "")).
			Span(3).ColorScheme(fixed("blue")),
		statPanel("Of its power limit", "From "+percent(powerLimited)+" on the card is about to lower its clock to stay within: latency then rises at the same load. Ascend prints no limit.", ratio,
			"no limit reported", now(`max(accelerator_power_watts{`+ofOneCard+`} / accelerator_power_limit_watts{`+ofOneCard+`})`, "")).
			Span(3).Decimals(0).Thresholds(thresholds("green", step{0.9, "orange"}, step{powerLimited, "red"})),
		statPanel("Memory in use", "By kind of memory, the driver's own included. A model server takes most of it at its start.", ratio,
			"not reported", now(`max by (type) (accelerator_memory_used_bytes{`+ofOneCard+`} / accelerator_memory_total_bytes{`+ofOneCard+`})`, "{{type}}")).
			Span(3).Decimals(0).Thresholds(thresholds("green", full()...)),
		statPanel("NUMA node", "The node the card is attached to. The process that feeds it should run there: compare with the NUMA dashboard.", plain,
			"not known", now(ofTheCard("accelerator_numa_node"), "")).
			Span(3).ColorScheme(fixed("blue")),
		statPanel("Last good poll", "Age of the newest figures from the vendor's tool. It should stay under a few polling intervals; after 40 s, with the usual interval, the card's series end.", seconds,
			"never", now(`max(time() - accelerator_collector_last_success_timestamp_seconds{`+ofOneHost+`,collector=~"$maker"})`, "")).
			Span(3).Mappings(append(neverWord(), absent("never"))).Thresholds(thresholds("green", silent()...)),
		rowsOf("Identity and versions", "What to give to the vendor's support, and what to look for in the rack. Empty fields are not printed by the tool.",
			[]column{
				label("name", "Model"), label("bus_id", "Bus"), label("uuid", "UUID"), label("board", "Board"), label("npu", "NPU"), label("chip", "Chip"),
				label("cpus", "CPUs beside it"), label("tool", "Tool"), label("tool_version", "Tool version"), label("driver_version", "Driver"),
				label("runtime_version", "Runtime"), label("firmware_version", "Firmware"),
			},
			asRows(`accelerator_info{`+ofOneCard+`}`),
			asRows(`accelerator_cpu_affinity_info{`+ofOneCard+`}`),
			asRows(`accelerator_tool_info{`+ofMaker+`}`)).
			Height(3),
		stateTimeline("Health over time", "The first row is the verdict, the others are the states and reasons as the tool printed them. A gap is time in which the card was not listed, or the host could not be scraped.", states,
			overTime(`min(accelerator_healthy{`+ofOneCard+`})`, "health"),
			overTime(`2 * max by (state, reason) (accelerator_health_info{`+ofOneCard+`})`, "{{state}} {{reason}}")).
			Height(5),
	}
}

func cardLoad() []panel {
	return []panel{
		timeSeries("Utilization", "This card, and the mean of the same vendor's other cards of the host. Cards of one tensor-parallel server should run together: one that is busier than the rest is waited for, one that is idle does not take part.", ratio,
			overTime(ofTheCard("accelerator_utilization_ratio"), "this card", filled(15)),
			overTime(`avg(accelerator_utilization_ratio{`+others+`})`, "mean of the others", dashed()...)).
			Span(12),
		timeSeries("Power", "Power, and the limit where one is printed. A line that lies flat at the limit is a card that lowers its clock.", watts,
			overTime(ofTheCard("accelerator_power_watts"), "this card", filled(15)),
			overTime(ofTheCard("accelerator_power_limit_watts"), "limit", dashed(colorOf("red"))...)).
			Span(12).Min(0),
		timeSeries("Temperature", "This card by sensor, and the hottest chip of the host's other cards. Hotter than its neighbours at the same power: dust, a fan, or bad seating.", celsius,
			overTime(`max by (sensor) (accelerator_temperature_celsius{`+ofOneCard+`})`, "this card, {{sensor}}"),
			overTime(`max(accelerator_temperature_celsius{`+others+`,sensor="chip"})`, "hottest other chip", dashed()...)).
			Span(12),
		timeSeries("Memory", "In use and present, by kind: vram on MetaX, hbm and ddr on Ascend. Use that climbs without new work is a leak; the processes below tell whose.", bytes,
			overTime(`max by (type) (accelerator_memory_used_bytes{`+ofOneCard+`})`, "{{type}} used"),
			overTime(`max by (type) (accelerator_memory_total_bytes{`+ofOneCard+`})`, "{{type}} total", dashed()...)).
			Span(12).Min(0),
	}
}

func cardExtras() []panel {
	return []panel{
		timeSeries("Performance level", "MetaX, P and a number: larger is faster. It follows load; a level that stays low under load is held back by power, heat or a setting.", plain,
			overTime(ofTheCard("accelerator_performance_level"), "this card")).
			Span(12).Min(0).Decimals(0).LineInterpolation("stepAfter"),
		timeSeries("Huge pages", "Ascend, where the tool has that column: pages in use and reserved. All in use: the next process on the card fails to start.", count,
			overTime(ofTheCard("accelerator_hugepages_used"), "used"),
			overTime(ofTheCard("accelerator_hugepages_total"), "total", dashed()...)).
			Span(12).Min(0),
	}
}

func cardProcesses() panel {
	return rowsOf("Processes", "What the tool lists now, PIDs of the host. npu-smi prints at most eight for a chip and no names in a container; a process on a slice is counted on the card. None: nobody uses the card, or the exporter was told not to list them.",
		[]column{
			label("pid", "PID"), label("process", "Process"), value("Memory", memoryInPods(ofOneCard)+` or on (`+byProcess+`) `+memoryOf(ofOneCard), unitOf(bytes)),
			label("namespace", "Namespace"), label("pod", "Pod"), label("container", "Container"),
		}).
		Span(8).Height(7).SortBy(descending("Memory"))
}

func cardProcessMemory() panel {
	return timeSeries("Memory by process", "Piled up. What lies between this and the card's memory in use is the driver's own, or a process that the tool does not list.", bytes,
		overTime(memoryByProcess, "{{process}} {{pid}}")).
		Height(7).Min(0).FillOpacity(30).Stacking(stacked()).NoValue("no process is listed")
}

const memoryByProcess = `max by (pid, process) (accelerator_process_memory_used_bytes{` + ofOneCard + `})`

func cardSlices() panel {
	bySlice := func(metric string) string { return `max by (slice) (` + metric + `{` + ofOneCard + `})` }
	return rowsOf("Slices", "What each slice of the card may use and uses. A slice at its memory quota fails to allocate while the card has room: raise its quota, or move it. None: the card is not sliced.",
		[]column{
			label("slice", "Slice"),
			value("Memory used", bySlice("accelerator_slice_memory_used_bytes")),
			value("Memory quota", bySlice("accelerator_slice_memory_quota_bytes")),
			value("Of its quota", `max by (slice) (accelerator_slice_memory_used_bytes{`+ofOneCard+`} / accelerator_slice_memory_quota_bytes{`+ofOneCard+`})`),
			value("Utilization", bySlice("accelerator_slice_utilization_ratio")),
			value("Compute quota", bySlice("accelerator_slice_compute_quota_ratio")),
		}).
		Height(6).NoValue("the card is not sliced").
		OverrideByRegexp("Memory .*", []property{unitOf(bytes)}).
		OverrideByName("Of its quota", gaugeCell("green", nearlyFull()...)).
		OverrideByName("Utilization", gaugeCell("blue")).
		OverrideByName("Compute quota", []property{unitOf(ratio)}).
		SortBy(descending("Of its quota"))
}
