package dashboards

// What the deeper commands tell of a card. Not every tool and card tells all of it: the rows are folded, and ask nothing
// until they are opened. Counters of Ascend are polled each minute: rates over less than 5 would fall to 0 in between. Of 5
// minutes a scrape sees four polls or five: traffic is the mean of a minute of rates, which would dip by a fifth in each.

func cardErrors() []panel {
	return []panel{
		rowsOf("Memory errors", "ECC by memory. Uncorrectable errors: drain the card and restart its server, then reset the card. Pages to be retired wait for the next start.",
			label("memory", "Memory"),
			label("type", "Type"),
			value("In the range", `sum by (memory, type) (increase(accelerator_ecc_errors_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[$__range]))`, someIsBad("orange")...),
			value("In its life", `max by (memory, type) (accelerator_ecc_lifetime_errors_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, unitOf(plain)),
			value("Pages retired", `max by (memory, type) (accelerator_ecc_retired_pages{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, unitOf(plain)),
			value("To be retired", `max by (memory, type) (accelerator_ecc_pending_pages{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, someIsBad("red")...),
		).Span(12).NoValue("not reported").SortBy(sortDescending("In the range")),
		// Lists of RAS and PCI events may get shorter, which is no counter that began anew: where one does, there is no point.
		timeSeries("Errors", "Errors and events by kind, at the time they were counted: memory, RAS units and PCI events (MetaX), PCIe and the link between dies (Ascend). Corrected ones are a sign, uncorrected ones a fault.", eventsPerSec,
			overTime(`sum by (memory, type) (rate(accelerator_ecc_errors_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[5m]))`, "{{memory}} {{type}}"),
			overTime(`sum by (type) (rate(accelerator_ras_errors_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[5m]) unless resets(accelerator_ras_errors_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[5m]) > 0)`, "RAS {{type}}"),
			overTime(`sum by (event) (rate(accelerator_pci_events_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[5m]) unless resets(accelerator_pci_events_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[5m]) > 0)`, "PCI {{event}}"),
			overTime(`sum by (type) (rate(accelerator_pcie_errors_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[5m]))`, "PCIe {{type}}"),
			overTime(`sum by (direction) (rate(accelerator_sio_errors_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[5m]))`, "dies {{direction}}")).
			Span(12).Min(0),
	}
}

func cardLinks() []panel {
	return []panel{
		tablePanel("Links of all cards", "Rows and columns are the cards of this host and vendor, and its NICs as columns. Cards of one tensor-parallel server should meet over the same fast link (green: MX, HCCS, SIO); orange goes through the host, red crosses sockets.",
			asRows(`accelerator_link_info{job=~"$job",instance=~"$host",vendor=~"$maker"}`)).
			Transformations(matrix("device", "peer", "link")).
			Span(14).Height(11).NoValue("no topology").
			OverrideByRegexp("[^\\\\]*", append(mapped(valueText("MX", "MX", "green"), valueText("HCCS", "HCCS", "green"), valueText("HCCS_SW", "HCCS_SW", "green"), valueText("SIO", "SIO", "green"),
				valueText("PIX", "PIX", "blue"), valueText("PXB", "PXB", "blue"), valueText("PHB", "PHB", "orange"), valueText("NODE", "NODE", "orange"), valueText("SYS", "SYS", "red")), colored("text"))).
			OverrideByName(`device\peer`, []property{{Id: "displayName", Value: "Card"}}),
		rowsOf("Links to other cards", "Speed, lanes, errors over the time range and traffic of each link. Links of a card are alike: one with fewer lanes, or with errors, is the bad one.",
			label("link", "Link"),
			value("Speed", `max by (link) (accelerator_link_speed_bits_per_second{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, unitOf(bitsPerSec)),
			value("Lanes", `max by (link) (accelerator_link_width{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, unitOf(plain)),
			value("Errors", `sum by (link) (increase(accelerator_link_errors_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[$__range]))`, someIsBad("orange")...),
			value("Traffic", `sum by (link) (rate(accelerator_link_bytes_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[5m]))`, unitOf(bytesPerSec)),
		).Span(10).Height(11).NoValue("not reported").SortBy(sortAscending("Link")),
		rowsOf("PCIe link", "What the link runs at and what it can do. Fewer lanes than the card can use may be the slot's; fewer than last week are a fault of contact. Errors are among those above.",
			label("device", "Card"),
			value("Speed", `max by (instance, device) (accelerator_pcie_link_transfers_per_second{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}) / 1e9`, unitOf("suffix: GT/s")),
			value("Best speed", `max by (instance, device) (accelerator_pcie_link_transfers_per_second_max{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}) / 1e9`, unitOf("suffix: GT/s")),
			value("Lanes", `max by (instance, device) (accelerator_pcie_link_width{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, unitOf(plain)),
			value("Most lanes", `max by (instance, device) (accelerator_pcie_link_width_max{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, unitOf(plain)),
		).Span(12).Height(6).NoValue("not reported"),
		timeSeries("Traffic", "Links to other cards together, the RoCE port, and PCIe as mx-smi prints it, by direction. A model is loaded, or memory is swapped, over PCIe.", bytesPerSec,
			overTime(`avg_over_time((sum by (direction) (rate(accelerator_link_bytes_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[5m])))[1m:15s])`, "cards {{direction}}"),
			overTime(`avg_over_time((sum by (direction) (rate(accelerator_network_bytes_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[5m])))[1m:15s])`, "network {{direction}}"),
			overTime(`max by (direction) (accelerator_pcie_bytes_per_second{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "PCIe {{direction}}")).
			Span(12).Height(6).Min(0),
	}
}

func cardNetwork() []panel {
	return []panel{
		rowsOf("Network ports", "Ports of the card as hccn_tool tells; udie and port are empty where a card has one. Never up: not in the last 7 days, as a port without cable. Times down: how often it lost its link in the time range.",
			label("instance", ""), label("device", ""), label("udie", "UDie"), label("port", "Port"),
			value("Link", `max by (instance, device, udie, port) (accelerator_network_up{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})
  - (max by (instance, device, udie, port) (max_over_time(accelerator_network_up{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[7d])) == bool 0)`, mapped(valueText("1", "up", "green"), valueText("0", "down", "red"), valueText("-1", "never up", gray))...),
			value("Speed", `max by (instance, device, udie, port) (accelerator_network_speed_bits_per_second{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, unitOf(bitsPerSec)),
			value("Times down", `sum by (instance, device, udie, port) (increase(accelerator_network_link_changes_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card",state="down"}[$__range]))`, someIsBad("orange")...),
		).Span(12).NoValue("not reported"),
		timeSeries("Network trouble", "Bad packets and wrong checksums are the fibre or the module; pause frames are congestion; retransmissions slow RoCE down.", eventsPerSec,
			overTime(`sum by (direction) (rate(accelerator_network_bad_packets_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[5m]))`, "bad packets {{direction}}"),
			overTime(`sum(rate(accelerator_network_fcs_errors_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[5m]))`, "wrong checksums"),
			overTime(`sum by (direction) (rate(accelerator_network_pfc_frames_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[5m]))`, "priority pause {{direction}}"),
			overTime(`sum by (event) (rate(accelerator_roce_events_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[5m]))`, "RoCE {{event}}"),
			overTime(`sum by (kind) (rate(accelerator_ub_errors_total{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"}[15m])) > 0`, "bus {{kind}}")).
			Span(12).Min(0),
		timeSeries("Optical power", "By direction and lane, with the limits that the module tells. Light received that falls over weeks is a dirty or bent fibre; light sent that falls is a module at its end.", watts,
			overTime(`max by (direction, lane) (accelerator_optical_power_watts{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "{{direction}} {{lane}}"),
			overTime(`max by (direction, bound) (accelerator_optical_power_limit_watts{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "{{direction}} {{bound}}", dashed(colorOf("red"))...)).
			Span(12).Min(0),
	}
}

func cardEngines() panel {
	return timeSeries("Engines", "Share of time that each kind of engine was busy, and on Ascend the share of its memory's bandwidth that is in use.", ratio,
		overTime(`max by (engine) (accelerator_engine_utilization_ratio{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "{{engine}}"),
		overTime(`max by (type) (accelerator_memory_bandwidth_ratio{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, "bandwidth of {{type}}", dashed()...)).
		Span(12)
}

func cardSlices() panel {
	return rowsOf("Slices", "What each slice of the card may use and uses. A slice at its memory quota fails to allocate while the card has room: raise its quota, or move it. None: the card is not sliced.",
		label("slice", "Slice"),
		value("Memory used", `max by (slice) (accelerator_slice_memory_used_bytes{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, unitOf(bytes)),
		value("Of its quota", `max by (slice) (accelerator_slice_memory_used_bytes{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"} / accelerator_slice_memory_quota_bytes{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, gaugeCell("green", memorySteps()...)...),
		value("Utilization", `max by (slice) (accelerator_slice_utilization_ratio{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, gaugeCell("blue")...),
		value("Compute quota", `max by (slice) (accelerator_slice_compute_quota_ratio{job=~"$job",instance=~"$host",vendor=~"$maker",device=~"$card"})`, unitOf(ratio)),
	).Span(12).NoValue("the card is not sliced").SortBy(sortDescending("Of its quota"))
}
