package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// others are the cards of the same host and vendor beside the chosen one.
const others = ofVendor + `,device!~"$device"`

func card() page {
	return page{
		uid: uidCard, title: "Accelerators: card", from: "3h", refresh: "30s",
		description: "One card in depth: what it is, how it is, who uses it, where it sits, and which probed endpoints it serves.",
		variables: []variable{
			datasourceVariable(), jobVariable(),
			one("instance", "Instance", `label_values(accelerator_info{job=~"$job"}, instance)`),
			one("vendor", "Vendor", `label_values(accelerator_info{`+ofHost+`}, vendor)`),
			one("device", "Device", `label_values(accelerator_info{`+ofVendor+`}, device)`),
			windowVariable(),
		},
		rows: []row{
			{"Now: $vendor $device on $instance", cardNow()},
			{"What it is", []panel{cardIdentity(), cardTool()}},
			{"Health", []panel{cardStates()}},
			{"Load", []panel{cardUtilization(), cardPower(), cardTemperature(), cardMemory(), cardHugepages(), cardLevel()}},
			{"Processes and slices", []panel{cardProcesses(), cardProcessMemory(), cardSlices(), cardSliceMemory()}},
			{"Where it sits", []panel{cardNode(), cardLinks(), hostLinks()}},
			{"Whom it serves", []panel{cardTargets(), cardLatency()}},
		},
	}
}

// ofChosenCard are columns after those that name the card: a link from another page may bring all cards here.
func ofChosenCard(columns ...column) []column {
	return append([]column{{"instance", "Host"}, {"vendor", "Vendor"}, {"device", "Card"}}, columns...)
}

func cardNow() []panel {
	return []panel{
		statPanel("Health", "Healthy is Available (MetaX) or OK (Ascend). Unhealthy: take the card out of service; state and reason are below. No data: the tool prints no state, or the card is gone.",
			plain, now(`accelerator_healthy{`+ofCard+`}`, cardLegend)).
			Mappings(healthMappings()).ColorMode("background"),
		statPanel("Utilization", "Share of the time in which the card computed, as the tool prints it. On Ascend under vNPU the tool prints 0 whatever runs.",
			ratio, now(`accelerator_utilization_ratio{`+ofCard+`}`, cardLegend)).
			Decimals(0).ColorScheme(fixed("blue")),
		byHeat(statPanel("Temperature", "Of the chip. "+heatColors()+" Look at fans, filters and the cards beside it.",
			celsius, now(`accelerator_temperature_celsius{`+ofCard+`}`, cardLegend)).
			Thresholds(thresholds("blue"))),
		statPanel("Power", "Drawn by the card. No data on models that do not print it.",
			watts, now(`accelerator_power_watts{`+ofCard+`}`, cardLegend)).
			ColorScheme(fixed("blue")),
		statPanel("Of its power limit", "From "+percent(powerLimited)+" on the card is about to lower its clock to stay within: latency then rises at the same load. No data where no limit is printed (Ascend).",
			ratio, now(`accelerator_power_watts{`+ofCard+`} / accelerator_power_limit_watts{`+ofCard+`}`, cardLegend)).
			Decimals(0).Thresholds(thresholds("green", step{0.9, "orange"}, step{powerLimited, "red"})),
		statPanel("Memory in use", "By kind of memory, the driver's own included. A model server takes most of it at its start.",
			ratio, now(`accelerator_memory_used_bytes{`+ofCard+`} / accelerator_memory_total_bytes{`+ofCard+`}`, "{{type}} "+cardLegend)).
			Decimals(0).Thresholds(thresholds("green", full()...)),
		statPanel("Last good poll", "Age of the newest figures from the vendor's tool. It should stay under a few polling intervals; after 40 s, with the usual interval, the card's series end.",
			seconds, now(`time() - accelerator_collector_last_success_timestamp_seconds{`+ofHost+`,collector=~"$vendor"}`, "{{instance}} {{collector}}")).
			Mappings(neverFrom()).Thresholds(thresholds("green", step{40, "orange"}, step{120, "red"})),
		statPanel("Processes", "Processes that the tool lists on the card. No data: none, or the exporter was told not to list them.",
			count, now(`count by (`+byCard+`) (accelerator_process_memory_used_bytes{`+ofCard+`})`, cardLegend)).
			ColorScheme(fixed("blue")),
		statPanel("Slices", "Slices (sGPU) cut from the card. No data: it is not sliced.",
			count, now(`count by (`+byCard+`) (accelerator_slice_info{`+ofCard+`})`, cardLegend)).
			ColorScheme(fixed("blue")),
		statPanel("NUMA node", "The node the card is attached to. The process that feeds it should run there: compare with the NUMA dashboard.",
			plain, now(`accelerator_numa_node{`+ofCard+`}`, cardLegend)).
			ColorScheme(fixed("blue")),
		statPanel("Performance level", "MetaX prints P and a number, larger is faster. A low level under load is a card that is held back by power, heat or a setting.",
			plain, now(`accelerator_performance_level{`+ofCard+`}`, cardLegend)).
			ColorScheme(fixed("blue")),
		statPanel("Targets served", "Probed endpoints whose process uses this card. No data: none is known.",
			count, now(`count by (`+byCard+`) (accelerator_probe_target_device_info{`+ofCard+`})`, cardLegend)).
			ColorScheme(fixed("blue")),
	}
}

func cardIdentity() panel {
	return rowsOf("Identity", "What to give to the vendor's support, and what to look for in the rack. Empty fields are not printed by the tool.",
		[]column{
			{"instance", "Host"},
			{"vendor", "Vendor"},
			{"device", "Card"},
			{"name", "Model"},
			{"bus_id", "Bus"},
			{"uuid", "UUID"},
			{"board", "Board"},
			{"npu", "NPU"},
			{"chip", "Chip"},
			{"cpus", "CPUs beside it"},
		},
		asRows(`accelerator_info{`+ofCard+`}`),
		asRows(`accelerator_cpu_affinity_info{`+ofCard+`}`)).
		Span(13).Height(4).
		OverrideByName("Host", toHost())
}

func cardTool() panel {
	return rowsOf("Tool and driver", "Versions on this host. The Fleet dashboard tells which others run.",
		[]column{
			{"instance", "Host"}, {"vendor", "Vendor"}, {"tool", "Tool"}, {"tool_version", "Tool version"}, {"driver_version", "Driver"}, {"runtime_version", "Runtime"}, {"firmware_version", "Firmware"},
		},
		asRows(`accelerator_tool_info{`+ofVendor+`}`)).
		Span(11).Height(4)
}

func cardStates() panel {
	states := append(healthMappings(), dashboard.ValueMapping{ValueMap: &dashboard.ValueMap{
		Type: dashboard.MappingTypeValueToText,
		Options: map[string]dashboard.ValueMappingResult{
			"2": {Text: cog.ToPtr("printed"), Color: cog.ToPtr("blue"), Index: cog.ToPtr(int32(2))},
		},
	}})
	return stateTimeline("Health over time", "The first row is the verdict, the others are the states and reasons as the tool printed them. A gap is time in which the card was not listed, or the host could not be scraped.",
		states,
		overTime(`accelerator_healthy{`+ofCard+`}`, cardLegend+" health"),
		overTime(`2 * accelerator_health_info{`+ofCard+`}`, cardLegend+" {{state}} {{reason}}")).
		Height(6)
}

func cardUtilization() panel {
	return timeSeries("Utilization", "This card, and the mean of the same vendor's other cards of the host. Cards of one tensor-parallel server should run together: one that is busier than the rest is waited for, one that is idle does not take part.",
		ratio,
		overTime(`accelerator_utilization_ratio{`+ofCard+`}`, cardLegend),
		overTime(`avg by (`+byVendor+`) (accelerator_utilization_ratio{`+others+`})`, "{{instance}} {{vendor}} others' mean")).
		Min(0).Max(1).OverrideByQuery("B", dashed())
}

func cardPower() panel {
	return timeSeries("Power", "Power, and the limit where one is printed. A line that lies flat at the limit is a card that lowers its clock.",
		watts,
		overTime(`accelerator_power_watts{`+ofCard+`}`, cardLegend),
		overTime(`accelerator_power_limit_watts{`+ofCard+`}`, cardLegend+" limit")).
		Min(0).OverrideByQuery("B", dashed())
}

func cardTemperature() panel {
	return timeSeries("Temperature", "This card, and the hottest other card of the host. Hotter than its neighbours at the same power: dust, a fan, or bad seating.",
		celsius,
		overTime(`accelerator_temperature_celsius{`+ofCard+`}`, cardLegend+" {{sensor}}"),
		overTime(`max by (`+byVendor+`) (accelerator_temperature_celsius{`+others+`})`, "{{instance}} {{vendor}} hottest other")).
		OverrideByQuery("B", dashed())
}

func cardMemory() panel {
	return timeSeries("Memory", "In use and present, by kind: vram on MetaX, hbm and ddr on Ascend. Use that climbs without new work is a leak; the processes below tell whose.",
		bytes,
		overTime(`accelerator_memory_used_bytes{`+ofCard+`}`, cardLegend+" {{type}} used"),
		overTime(`accelerator_memory_total_bytes{`+ofCard+`}`, cardLegend+" {{type}} total")).
		Min(0).OverrideByQuery("B", dashed())
}

func cardHugepages() panel {
	return timeSeries("Huge pages", "Ascend only, and only where the tool has that column: pages in use and reserved. All in use: the next process on the card fails to start.",
		count,
		overTime(`accelerator_hugepages_used{`+ofCard+`}`, cardLegend+" used"),
		overTime(`accelerator_hugepages_total{`+ofCard+`}`, cardLegend+" total")).
		Min(0).OverrideByQuery("B", dashed())
}

func cardLevel() panel {
	return timeSeries("Performance level", "MetaX only, P and a number: larger is faster. It follows load; a level that stays low under load is held back by power, heat or a setting.",
		plain,
		overTime(`accelerator_performance_level{`+ofCard+`}`, cardLegend)).
		Min(0).Decimals(0).LineInterpolation("stepAfter")
}

func cardProcesses() panel {
	return rowsOf("Processes", "What the tool lists now, PIDs of the host. npu-smi prints at most eight for a chip and no names in a container; a process on a slice is counted on the card. Empty: nobody uses the card.",
		ofChosenCard(column{"pid", "PID"}, column{"process", "Process"}, column{"Value", "Memory"}),
		asRows(`accelerator_process_memory_used_bytes{`+ofCard+`}`)).
		Span(12).Height(8).
		OverrideByName("Memory", []property{unitOf(bytes)}).
		SortBy(descending("Memory"))
}

func cardProcessMemory() panel {
	return timeSeries("Memory by process", "Piled up. What lies between this and the card's memory in use is the driver's own, or a process that the tool does not list.",
		bytes,
		overTime(`accelerator_process_memory_used_bytes{`+ofCard+`}`, cardLegend+" {{process}} {{pid}}")).
		Span(12).Min(0).FillOpacity(30).Stacking(stacked())
}

func cardSlices() panel {
	return rowsOf("Slices", "MetaX sGPU: what each slice may use and uses. A slice at its memory quota fails to allocate while the card has room: raise its quota, or move it.",
		ofChosenCard(
			column{"slice", "Slice"},
			column{"Value #B", "Memory used"},
			column{"Value #C", "Memory quota"},
			column{"Value #D", "Of its quota"},
			column{"Value #E", "Utilization"},
			column{"Value #F", "Compute quota"},
		),
		asRows(`accelerator_slice_info{`+ofCard+`}`),
		asRows(`accelerator_slice_memory_used_bytes{`+ofCard+`}`),
		asRows(`accelerator_slice_memory_quota_bytes{`+ofCard+`}`),
		asRows(`accelerator_slice_memory_used_bytes{`+ofCard+`} / accelerator_slice_memory_quota_bytes{`+ofCard+`}`),
		asRows(`accelerator_slice_utilization_ratio{`+ofCard+`}`),
		asRows(`accelerator_slice_compute_quota_ratio{`+ofCard+`}`)).
		Span(12).Height(8).
		OverrideByRegexp("Memory .*", []property{unitOf(bytes)}).
		OverrideByName("Of its quota", gaugeCell("green", step{0.9, "orange"}, step{0.98, "red"})).
		OverrideByName("Utilization", gaugeCell("blue")).
		OverrideByName("Compute quota", []property{unitOf(ratio)})
}

func cardSliceMemory() panel {
	return timeSeries("Slices over time", "Memory of each slice as a share of its quota, and its utilization. A slice whose utilization lies at its compute quota is held back by it.",
		ratio,
		overTime(`accelerator_slice_memory_used_bytes{`+ofCard+`} / accelerator_slice_memory_quota_bytes{`+ofCard+`}`, cardLegend+" slice {{slice}} memory"),
		overTime(`accelerator_slice_utilization_ratio{`+ofCard+`}`, cardLegend+" slice {{slice}} utilization"),
		overTime(`accelerator_slice_compute_quota_ratio{`+ofCard+`}`, cardLegend+" slice {{slice}} compute quota")).
		Span(12).Min(0).OverrideByQuery("C", dashed())
}
