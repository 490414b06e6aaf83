package dashboards

// What the deeper commands tell of a card. Not every tool and card tells all of it: the rows are folded, and ask nothing
// until they are opened.

const (
	bytesPerSec  = "Bps"
	bitsPerSec   = "bps"
	hertz        = "hertz"
	eventsPerSec = "eps"
	transfers    = "suffix:T/s"
)

// inRange is what a counter of the chosen card grew by in the time range, by the given labels.
func inRange(labels, metric string) string {
	return `sum by (` + labels + `) (increase(` + metric + `{` + ofOneCard + `}[$__range]))`
}

// perSecond is how fast a counter of the chosen card grows, by the given labels.
func perSecond(labels, metric string) string {
	return `sum by (` + labels + `) (rate(` + metric + `{` + ofOneCard + `}[$__rate_interval]))`
}

// longer is how fast the sum of a list of the chosen card grows, by the given labels. A list may get shorter, which is
// no counter that began anew: where it does, there is no point.
func longer(labels, metric string) string {
	of := metric + `{` + ofOneCard + `}[$__rate_interval]`
	return `sum by (` + labels + `) (rate(` + of + `) unless resets(` + of + `) > 0)`
}

// largest is the largest value of a metric of the chosen card, by the given labels.
func largest(labels, metric string) string {
	return `max by (` + labels + `) (` + metric + `{` + ofOneCard + `})`
}

// someIsBad colours a number of errors.
func someIsBad(color string) []property { return wholeCell(step{0.5, color}) }

func cardClocks() []panel {
	return []panel{
		timeSeries("Clocks", "By part of the card, and the rated clock where it is printed (Ascend). A compute clock that stays low under load is held down: by heat or power, which the panel beside tells for MetaX.", hertz,
			overTime(largest("clock", "accelerator_clock_hertz"), "{{clock}}"),
			overTime(largest("clock", "accelerator_clock_max_hertz"), "{{clock}} rated", dashed()...)).
			Span(12).Min(0),
		stateTimeline("What holds the clock down", "Reasons that mx-smi calls active. idle, applications_limit and low_usage are normal; over_power is normal at full load, and heat never is. npu-smi tells no reasons.",
			words(word{"1", "active", "orange"}, word{"0", "no", "transparent"}),
			overTime(largest("reason", "accelerator_throttled"), "{{reason}}")).
			Span(12),
	}
}

func cardEngines() []panel {
	return []panel{
		timeSeries("Engines", "Share of time that each kind of engine was busy.", ratio,
			overTime(largest("engine", "accelerator_engine_utilization_ratio"), "{{engine}}")),
		timeSeries("Memory bandwidth", "Traffic of the card's memory; Ascend prints a share of what it can do, MetaX bytes.", bytesPerSec,
			overTime(largest("type", "accelerator_memory_bandwidth_bytes_per_second"), "{{type}}"),
			overTime(largest("type", "accelerator_memory_bandwidth_ratio"), "{{type}} share", onTheRight()...)).
			Min(0),
		timeSeries("Power by rail", "Power of each rail that the tool prints. A rail that draws much more than on the cards beside it is a fault of the board.", watts,
			overTime(largest("rail", "accelerator_rail_power_watts"), "{{rail}}")).
			Min(0),
	}
}

func cardErrors() []panel {
	return []panel{
		rowsOf("Memory errors", "ECC by memory. Uncorrectable errors: drain the card and restart its server, then reset the card. Pages to be retired wait for the next start.",
			[]column{
				label("memory", "Memory"),
				label("type", "Type"),
				value("In the time range", inRange("memory, type", "accelerator_ecc_errors_total"), someIsBad("orange")...),
				value("Since the driver's start", largest("memory, type", "accelerator_ecc_errors_total"), unitOf(plain)),
				value("In the card's life", largest("memory, type", "accelerator_ecc_lifetime_errors_total"), unitOf(plain)),
				value("Pages retired", largest("memory, type", "accelerator_ecc_retired_pages"), unitOf(plain)),
				value("To be retired", largest("memory, type", "accelerator_ecc_pending_pages"), someIsBad("red")...),
			}).
			Span(14).NoValue("not reported").SortBy(descending("In the time range")),
		rowsOf("Fault codes", "Codes that npu-smi reports now, by the vendor's list of faults. Asked while Health is not OK.",
			[]column{label("code", "Code"), value("Reported", largest("code", "accelerator_error_info"), unitOf(plain))}).
			Span(10).NoValue("none, or not reported"),
		timeSeries("Errors", "Errors and events by kind, at the time they were counted: memory, RAS units and PCI events (MetaX), PCIe and the link between dies (Ascend). Corrected ones are a sign, uncorrected ones a fault.", eventsPerSec,
			overTime(perSecond("memory, type", "accelerator_ecc_errors_total"), "{{memory}} {{type}}"),
			overTime(longer("type", "accelerator_ras_errors_total"), "RAS {{type}}"),
			overTime(longer("event", "accelerator_pci_events_total"), "PCI {{event}}"),
			overTime(perSecond("type", "accelerator_pcie_errors_total"), "PCIe {{type}}"),
			overTime(perSecond("direction", "accelerator_sio_errors_total"), "dies {{direction}}")).
			Span(24).Min(0),
	}
}

func cardLinkState() []panel {
	speeds := func(metric string) string { return largest(byCard, "accelerator_pcie_link_"+metric) }
	return []panel{
		rowsOf("Links to other cards", "Speed, lanes, errors over the time range and traffic of each link. Links of a card are alike: one with fewer lanes, or with errors, is the bad one.",
			[]column{
				label("link", "Link"),
				value("Speed", largest("link", "accelerator_link_speed_bits_per_second"), unitOf(bitsPerSec)),
				value("Lanes", largest("link", "accelerator_link_width"), unitOf(plain)),
				value("Errors", inRange("link", "accelerator_link_errors_total"), someIsBad("orange")...),
				value("Traffic", perSecond("link", "accelerator_link_bytes_total"), unitOf(bytesPerSec)),
			}).
			Span(12).NoValue("not reported").SortBy(ascending("Link")),
		timeSeries("Traffic over links", "All links of the card together, by direction.", bytesPerSec,
			overTime(perSecond("direction", "accelerator_link_bytes_total"), "{{direction}}")).
			Span(12).Min(0),
		rowsOf("PCIe link", "What the link runs at and what it can do. Fewer lanes than the card can use may be the slot's; fewer than last week are a fault of contact. Errors are among those above.",
			[]column{
				label("device", "Card"),
				value("Speed", speeds("transfers_per_second"), unitOf(transfers)),
				value("Best speed", speeds("transfers_per_second_max"), unitOf(transfers)),
				value("Lanes", speeds("width"), unitOf(plain)),
				value("Most lanes", speeds("width_max"), unitOf(plain)),
			}).
			Span(12).Height(6).NoValue("not reported"),
		timeSeries("Traffic over PCIe", "As mx-smi prints it, by direction. A model is loaded, or memory is swapped, over this link.", bytesPerSec,
			overTime(largest("direction", "accelerator_pcie_bytes_per_second"), "{{direction}}")).
			Span(12).Height(6).Min(0),
	}
}

func cardNetwork() []panel {
	const port = "udie, port"
	return []panel{
		rowsOf("Network ports", "Ports of the card as hccn_tool tells; udie and port are empty where a card has one. A port without cable is down, and that is normal. Times down: how often it lost its link in the time range.",
			[]column{
				label("udie", "UDie"),
				label("port", "Port"),
				value("Link", largest(port, "accelerator_network_up"), mappedCell(words(word{"1", "up", "green"}, word{"0", "down", gray}))...),
				value("Speed", largest(port, "accelerator_network_speed_bits_per_second"), unitOf(bitsPerSec)),
				value("Times down", `sum by (`+port+`) (increase(accelerator_network_link_changes_total{`+ofOneCard+`,state="down"}[$__range]))`, someIsBad("orange")...),
			}).
			Span(12).NoValue("not reported"),
		timeSeries("Network traffic", "Of the card's RoCE port, by direction.", bytesPerSec,
			overTime(perSecond("direction", "accelerator_network_bytes_total"), "{{direction}}")).
			Span(12).Min(0),
		timeSeries("Network trouble", "Bad packets and wrong checksums are the fibre or the module; pause frames are congestion; retransmissions and the like cost RoCE its speed.", eventsPerSec,
			overTime(perSecond("direction", "accelerator_network_bad_packets_total"), "bad packets {{direction}}"),
			overTime(`sum(rate(accelerator_network_fcs_errors_total{`+ofOneCard+`}[$__rate_interval]))`, "wrong checksums"),
			overTime(perSecond("direction", "accelerator_network_pfc_frames_total"), "priority pause {{direction}}"),
			overTime(perSecond("event", "accelerator_roce_events_total"), "RoCE {{event}}"),
			overTime(perSecond("kind", "accelerator_ub_errors_total")+` > 0`, "bus {{kind}}")).
			Span(12).Min(0),
		timeSeries("Traffic of the unified bus", "Flits through each port of an Ascend 950, over 15 minutes, as the tool is asked every 5. How many bytes a flit has is not documented: compare ports, and a port with itself.", "suffix: flits/s",
			overTime(`sum by (udie, port, direction) (rate(accelerator_ub_packets_total{`+ofOneCard+`,kind="busi_flit"}[15m]))`, "{{udie}}/{{port}} {{direction}}")).
			Span(12).Min(0),
	}
}

func cardOptics() []panel {
	return []panel{
		timeSeries("Optical power", "By direction and lane, with the limits that the module tells. Light received that falls over weeks is a dirty or bent fibre; light sent that falls is a module at its end.", watts,
			overTime(largest("direction, lane", "accelerator_optical_power_watts"), "{{direction}} {{lane}}"),
			overTime(largest("direction, bound", "accelerator_optical_power_limit_watts"), "{{direction}} {{bound}}", dashed(colorOf("red"))...)).
			Span(12).Min(0),
		timeSeries("Temperature of the optical module", "With the limits that the module tells.", celsius,
			overTime(ofTheCard("accelerator_optical_temperature_celsius"), "module"),
			overTime(largest("bound", "accelerator_optical_temperature_limit_celsius"), "{{bound}}", dashed(colorOf("red"))...)).
			Span(12),
	}
}
