package dashboards

import "slices"

const (
	// byNode are the labels that tell one NUMA node from all others.
	byNode = `job, instance, node`

	nodeLegend = `node {{node}}`
)

func numa() page {
	return page{
		uid: uidNUMA, title: "Accelerators: NUMA", refresh: "1m",
		description: "The NUMA nodes of one host: memory and CPUs of each, where allocations land, how far the nodes are apart, and which cards sit on which. " +
			"A server whose process or memory is on another node than its cards pays for it with every token.",
		variables: slices.Concat([]variable{datasourceVariable(), jobVariable()}, scope()[:1], []variable{
			one("host", "Host", `label_values(accelerator_numa_cpus{`+ofHost+`}, instance)`),
			windowVariable(),
		}),
		scope: chosenHost(),
		rows: []row{
			shown("Now: $host", append(numaNow(), nodeTable())...),
			shown("Processes and their cards", processPlaces()),
			shown("Memory and allocations", numaLines()...),
			shown("Where things are", distances(), cardNodes()),
		},
	}
}

// allocations is the rate of a node's pages that ended as result says.
func allocations(result, over string) string {
	return `sum by (` + byNode + `) (rate(accelerator_numa_allocations_total{` + ofOneHost + `,result=~"` + result + `"}[` + over + `]))`
}

// missed is the share of a node's pages that were wanted on another node.
func missed(over string) string {
	return allocations("miss", over) + ` / (` + allocations("hit|miss", over) + ` > 0)`
}

// elsewhere is the share of a node's pages that went to processes on another node's CPUs.
func elsewhere(over string) string {
	return allocations("other_node", over) + ` / (` + allocations("local_node|other_node", over) + ` > 0)`
}

const usedShare = `accelerator_numa_memory_used_bytes{` + ofOneHost + `} / accelerator_numa_memory_total_bytes{` + ofOneHost + `}`

func numaNow() []panel {
	return []panel{
		statPanel("Fullest node", "The node with the least room. Memory used holds the page cache, so a high figure is only bad when misses rise with it: then a process bound there takes pages from elsewhere.", ratio,
			"not reported", now(`max(`+usedShare+`)`, "")).
			Span(12).Decimals(0).Thresholds(thresholds("green", nearlyFull()...)),
		statPanel("Worst miss ratio", "Of the node where most pages were wanted elsewhere, over the time range. Above a few per cent a node was short of memory: move a process, or bind memory with numactl --membind.", ratio,
			"not reported", now(`max(`+missed("$__range")+`)`, "")).
			Span(12).Decimals(1).Thresholds(thresholds("green", misses()...)),
	}
}

func numaLines() []panel {
	first := probeLatency(ttft)
	first.matchers = ofOneHost
	return []panel{
		timeSeries("Memory used", "Share of each node's memory, the page cache included. One node full while others are empty: everything was started on one node.", ratio,
			overTime(usedShare, nodeLegend)).Span(12),
		timeSeries("Miss ratio", "Share of a node's pages that were wanted on another node, which had no room. It should be nothing. Rising: the other node is full. No line: no pages were given out on that node.", ratio,
			overTime(missed("$__rate_interval"), nodeLegend)).Span(12),
		timeSeries("Used from other nodes", "Share of a node's pages that went to a process on another node's CPUs. High with no misses: the process is not bound, or is bound to the wrong node: bind it with numactl --cpunodebind. Compare runs with accelbench compare.", ratio,
			overTime(elsewhere("$__rate_interval"), nodeLegend)).Span(12),
		logSeries("Misses and the first token", "The mean time to the first token of the endpoints that this host probes, and on the right the worst miss ratio. Rising together, placement is the cause, not load.",
			overTime(first.mean(), "time to first token, mean", colorOf("orange")),
			overTime(`max(`+missed("$window")+`)`, "worst miss ratio", onTheRight(colorOf("blue"), filled(15))...)).Span(12),
	}
}

func nodeTable() panel {
	of := func(metric string) string { return `sum by (` + byNode + `) (` + metric + `{` + ofOneHost + `})` }
	return rowsOf("Nodes", "One row a node, the one with most misses first. One row: there is nothing to bind. Cards on a node without CPUs or without memory are fed from elsewhere: that is how the firmware made the nodes (NPS or sub-NUMA clustering), to be changed there.",
		[]column{
			label("node", "Node"),
			value("CPUs", of("accelerator_numa_cpus"), textCell(plain, "orange", step{1, "text"})...),
			value("Memory", of("accelerator_numa_memory_total_bytes")),
			value("Free", of("accelerator_numa_memory_free_bytes")),
			value("Cards", `count by (`+byNode+`) (`+nodeOf(ofOneHost)+`)`),
			value("Miss ratio", missed("$__range")),
			value("Used from other nodes", elsewhere("$__range")),
		}).
		Height(5).SortBy(descending("Miss ratio")).
		OverrideByRegexp("(Memory|Free)", []property{unitOf(bytes)}).
		OverrideByName("Cards", []property{unitOf(plain)}).
		OverrideByName("Miss ratio", textCell(ratio, "green", misses()...)).
		OverrideByName("Used from other nodes", textCell(ratio, "green", fromElsewhere()...))
}

func distances() panel {
	return tablePanel("Distances", "Of one host, from row to column as the firmware tells: 10 is local, 20 costs about twice as much. Bind a server to the node of its cards, else to the nearest one that has CPUs and memory.",
		asRows(`max by (node, peer) (accelerator_numa_distance{`+ofOneHost+`})`)).
		Transformations(matrix("node", "peer", "Value")).
		Span(8).Height(6).
		OverrideByRegexp("[0-9]+", coloredCell(plain, "green", step{11, "yellow"}, step{20, "orange"}, step{30, "red"})).
		OverrideByName(`node\peer`, []property{{Id: "displayName", Value: "Node"}})
}

func cardNodes() panel {
	return rowsOf("Cards and their nodes", "The node each card is attached to and the CPUs that the tool puts beside it. Start a server with numactl --cpunodebind and --membind of the node of its cards. A card without a row has no known node.",
		[]column{
			label("node", "Node"),
			label("instance", "Host"),
			label("vendor", "Vendor"),
			cardColumn(),
			label("cpus", "CPUs beside it"),
			label("Value #D", "Tool and kernel", mappedCell(words(word{"0", "agree", "green"}, word{"1", "disagree", "red"}))...),
			label("Value #B", "Memory held", gaugeCell("green", full()...)...),
		},
		asRows(nodeOf(ofOneHost)),
		asRows(`max by (`+byCard+`) (accelerator_memory_used_bytes{`+ofOneHost+`,type!="host_mapped"} / accelerator_memory_total_bytes{`+ofOneHost+`,type!="host_mapped"})`),
		asRows(`accelerator_cpu_affinity_info{`+ofOneHost+`}`),
		asRows(`max by (`+byCard+`) (accelerator_numa_node_conflict{`+ofOneHost+`})`)).
		Span(16).Height(8).NoValue("no card's node is known").SortBy(ascending("Node"))
}
