package dashboards

const (
	// byNode are the labels that tell one NUMA node from all others, byHost groups by those of a host.
	byNode = `job, instance, node`
	byHost = `by (job, instance)`

	// One host is what the page is for; a link from another page may bring all.
	hostLegend = `{{instance}}`
	nodeLegend = `{{instance}} node {{node}}`
)

func numa() page {
	return page{
		uid: uidNUMA, title: "Accelerators: NUMA", from: "3h", refresh: "1m",
		description: "The NUMA nodes of one host: memory and CPUs of each, where allocations land, how far the nodes are apart, and which cards sit on which. " +
			"A server whose process or memory is on another node than its cards pays for it with every token.",
		variables: []variable{
			datasourceVariable(), jobVariable(),
			one("instance", "Instance", `label_values(accelerator_numa_cpus{job=~"$job"}, instance)`),
			windowVariable(),
		},
		rows: []row{
			{"Now: $instance", numaNow()},
			{"Memory", []panel{nodeTable(), nodeUsed(), nodeFree()}},
			{"Allocations", []panel{missRatio(), elsewhereRatio(), allocationRates(), allocationsByNode(), missAndLatency()}},
			{"Where things are", []panel{distances(), cardNodes(), cardsPerNode()}},
		},
	}
}

// allocations is the rate of pages that ended as result says.
func allocations(by, result, over string) string {
	return `sum by (` + by + `) (rate(accelerator_numa_allocations_total{` + ofHost + `,result=~"` + result + `"}[` + over + `]))`
}

// missed is the share of a node's pages that were wanted on another node.
func missed(over string) string {
	return allocations(byNode, "miss", over) + ` / (` + allocations(byNode, "hit|miss", over) + ` > 0)`
}

// elsewhere is the share of a node's pages that went to processes on another node's CPUs.
func elsewhere(by, over string) string {
	return allocations(by, "other_node", over) + ` / (` + allocations(by, "local_node|other_node", over) + ` > 0)`
}

const usedShare = `accelerator_numa_memory_used_bytes{` + ofHost + `} / accelerator_numa_memory_total_bytes{` + ofHost + `}`

func numaNow() []panel {
	return []panel{
		statPanel("Nodes", "NUMA nodes of the host, those without memory or without CPUs too. One node: there is nothing to bind.",
			count, now(`count `+byHost+` (accelerator_numa_cpus{`+ofHost+`})`, hostLegend)).
			ColorScheme(fixed("blue")),
		statPanel("CPUs", "Of all nodes.",
			count, now(`sum `+byHost+` (accelerator_numa_cpus{`+ofHost+`})`, hostLegend)).
			ColorScheme(fixed("blue")),
		statPanel("Memory used", "Of all nodes, the page cache included.",
			ratio, now(`sum `+byHost+` (accelerator_numa_memory_used_bytes{`+ofHost+`}) / sum `+byHost+` (accelerator_numa_memory_total_bytes{`+ofHost+`})`, hostLegend)).
			Decimals(0).ColorScheme(fixed("blue")),
		statPanel("Fullest node", "The node with the least room. Memory used holds the page cache, so a high figure is only bad when misses rise with it: then a process bound there takes pages from elsewhere.",
			ratio, now(`max `+byHost+` (`+usedShare+`)`, hostLegend)).
			Decimals(0).Thresholds(thresholds("green", step{0.9, "orange"}, step{0.98, "red"})),
		statPanel("Worst miss ratio", "Of the node where most pages were wanted elsewhere, over the time range. Above a few per cent a node was short of memory: move a process, or bind memory with numactl --membind.",
			ratio, now(`max `+byHost+` (`+missed("$__range")+`)`, hostLegend)).
			Decimals(1).Thresholds(thresholds("green", misses()...)),
		statPanel("Used from other nodes", "Share of all pages given to a process that ran on another node, over the time range. High with few misses: processes run on other nodes than their memory; bind them with numactl --cpunodebind.",
			ratio, now(elsewhere(`job, instance`, `$__range`), hostLegend)).
			Decimals(1).Thresholds(thresholds("green", step{0.1, "orange"}, step{0.3, "red"})),
	}
}

func nodeTable() panel {
	return rowsOf("Nodes", "One row a node. Cards on a node without CPUs or without memory are fed from elsewhere: that is how the firmware made the nodes (NPS or sub-NUMA clustering), to be changed there.",
		[]column{
			{"instance", "Host"},
			{"node", "Node"},
			{"Value #A", "CPUs"},
			{"Value #B", "Memory"},
			{"Value #C", "Used"},
			{"Value #D", "Free"},
			{"Value #E", "Used share"},
			{"Value #F", "Cards"},
			{"Value #G", "Miss ratio"},
			{"Value #H", "Used from other nodes"},
		},
		asRows(`sum by (`+byNode+`) (accelerator_numa_cpus{`+ofHost+`})`),
		asRows(`sum by (`+byNode+`) (accelerator_numa_memory_total_bytes{`+ofHost+`})`),
		asRows(`sum by (`+byNode+`) (accelerator_numa_memory_used_bytes{`+ofHost+`})`),
		asRows(`sum by (`+byNode+`) (accelerator_numa_memory_free_bytes{`+ofHost+`})`),
		asRows(`max by (`+byNode+`) (`+usedShare+`)`),
		asRows(`count by (`+byNode+`) (`+nodeOf(ofHost)+`)`),
		asRows(missed("$__range")),
		asRows(elsewhere(byNode, "$__range"))).
		SortBy(ascending("Node")).
		OverrideByName("CPUs", textCell(plain, "orange", step{1, "text"})).
		OverrideByName("Memory", []property{unitOf(bytes)}).
		OverrideByName("Used", []property{unitOf(bytes)}).
		OverrideByName("Free", []property{unitOf(bytes)}).
		OverrideByName("Used share", gaugeCell("green", step{0.9, "orange"}, step{0.98, "red"})).
		OverrideByName("Cards", []property{unitOf(plain)}).
		OverrideByName("Miss ratio", textCell(ratio, "green", misses()...)).
		OverrideByName("Used from other nodes", textCell(ratio, "green", step{0.1, "orange"}, step{0.3, "red"}))
}

func nodeUsed() panel {
	return timeSeries("Memory used", "Share of each node's memory, the page cache included. One node full while others are empty: everything was started on one node.",
		ratio, overTime(usedShare, nodeLegend)).
		Span(12).Min(0).Max(1)
}

func nodeFree() panel {
	return timeSeries("Memory free", "What a process can still get on each node before the kernel drops caches or takes pages from another node. Loading a model reads it through the page cache: a dip at that time is normal.",
		bytes, overTime(`accelerator_numa_memory_free_bytes{`+ofHost+`}`, nodeLegend)).
		Span(12).Min(0)
}

func missRatio() panel {
	return timeSeries("Miss ratio", "Share of a node's pages that were wanted on another node, which had no room. It should be nothing. Rising: the other node is full; see memory free. No line: no pages were given out on that node.",
		ratio, overTime(missed("$__rate_interval"), nodeLegend)).
		Min(0)
}

func elsewhereRatio() panel {
	return timeSeries("Used from other nodes", "Share of a node's pages that went to a process on another node's CPUs. High with no misses: the process is not bound, or is bound to the wrong node. Compare runs with accelbench compare.",
		ratio, overTime(elsewhere(byNode, "$__rate_interval"), nodeLegend)).
		Min(0).Max(1)
}

func allocationRates() panel {
	return timeSeries("Pages by result", "All nodes. hit: on the node wanted; miss: here, though wanted elsewhere; foreign: wanted here, given elsewhere; interleave_hit: as an interleave policy wanted; local_node and other_node: by where the process ran.",
		"suffix:pages/s",
		overTime(allocations("job, instance, result", "hit|miss|foreign|interleave_hit|local_node|other_node", "$__rate_interval"), "{{instance}} {{result}}")).
		Min(0)
}

func allocationsByNode() panel {
	return timeSeries("Pages by node", "Pages given out on each node. All on one node while work runs on several: memory is bound, or first touched, in one place.",
		"suffix:pages/s",
		overTime(allocations(byNode, "local_node|other_node", "$__rate_interval"), nodeLegend)).
		Span(12).Min(0)
}

func missAndLatency() panel {
	return timeSeries("Misses and the first token", "The 90th percentile of the time to the first token of this host's probed endpoints, and on the right the worst miss ratio. Rising together, placement is the cause, not load.",
		seconds,
		overTime(`histogram_quantile(0.9, sum by (`+byTarget+`, le) (rate(accelerator_probe_time_to_first_token_seconds_bucket{`+ofHost+`}[$window])))`, targetLegend),
		overTime(`max `+byHost+` (`+missed("$window")+`)`, "{{instance}} worst miss ratio")).
		Span(12).Min(0).
		OverrideByQuery("B", onTheRight(ratio))
}

func distances() panel {
	return tablePanel("Distances", "Of one host, from row to column as the firmware tells: 10 is local, 20 costs about twice as much. Bind a server to the node of its cards, else to the nearest one that has CPUs and memory.",
		asRows(`max by (node, peer) (accelerator_numa_distance{`+ofHost+`})`)).
		Transformations(matrix("node", "peer", "Value")).
		Span(8).
		OverrideByRegexp("[0-9]+", coloredCell(plain, "green", step{11, "yellow"}, step{20, "orange"}, step{30, "red"})).
		OverrideByName(`node\peer`, []property{{Id: "displayName", Value: "Node"}})
}

func cardNodes() panel {
	return rowsOf("Cards and their nodes", "The node each card is attached to and the CPUs that the tool puts beside it. Start a server with numactl --cpunodebind and --membind of the node of its cards. A card without a row has no known node.",
		[]column{
			{"node", "Node"}, {"instance", "Host"}, {"vendor", "Vendor"}, {"device", "Card"}, {"cpus", "CPUs beside it"}, {"Value #B", "Utilization"}, {"Value #C", "Memory held"},
		},
		asRows(nodeOf(ofHost)),
		asRows(`avg by (`+byCard+`) (accelerator_utilization_ratio{`+ofHost+`})`),
		asRows(`max by (`+byCard+`) (accelerator_memory_used_bytes{`+ofHost+`} / accelerator_memory_total_bytes{`+ofHost+`})`),
		asRows(`accelerator_cpu_affinity_info{`+ofHost+`}`)).
		Span(16).
		SortBy(ascending("Node")).
		OverrideByName("Card", toCard()).
		OverrideByName("Utilization", gaugeCell("blue")).
		OverrideByName("Memory held", gaugeCell("green", full()...))
}

func cardsPerNode() panel {
	return rowsOf("Cards against what feeds them", "For each node with cards: host memory and CPUs for each card on it, and the cards' own memory. Rules of thumb: a few CPUs a card, and at least as much host memory as card memory where models are loaded or caches are offloaded through it.",
		[]column{
			{"instance", "Host"}, {"node", "Node"}, {"Value #A", "Cards"}, {"Value #B", "Card memory"}, {"Value #C", "Host memory"}, {"Value #D", "Host memory a card"}, {"Value #E", "CPUs a card"},
		},
		asRows(cardsOn(nodeOf(ofHost))),
		asRows(cardsOn(`sum by (`+byCard+`) (accelerator_memory_total_bytes{`+ofHost+`}) * on (`+byCard+`) group_right () `+nodeOf(ofHost))),
		asRows(`sum by (`+byNode+`) (accelerator_numa_memory_total_bytes{`+ofHost+`}) and on (`+byNode+`) `+nodeOf(ofHost)),
		asRows(`sum by (`+byNode+`) (accelerator_numa_memory_total_bytes{`+ofHost+`}) / `+cardsOn(nodeOf(ofHost))),
		asRows(`sum by (`+byNode+`) (accelerator_numa_cpus{`+ofHost+`}) / `+cardsOn(nodeOf(ofHost)))).
		Height(6).
		SortBy(ascending("Node")).
		OverrideByRegexp(".*emory.*", []property{unitOf(bytes)}).
		OverrideByName("Cards", []property{unitOf(plain)}).
		OverrideByName("CPUs a card", textCell(plain, "orange", step{1, "green"}))
}

// cardsOn adds up a figure of the cards of each node.
func cardsOn(expr string) string { return `sum by (` + byNode + `) (` + expr + `)` }
