package dashboards

func numa() page {
	return page{
		uid: "accelerator-numa", title: "Accelerators: NUMA", refresh: "1m", from: "now-1h",
		description: "The NUMA nodes of one host: memory and CPUs of each, where allocations land, how far the nodes are apart, and which cards sit on which. A server whose process or memory is on another node than its cards pays for it with every token.",
		variables: []variable{
			datasourceVariable(), jobVariable(), hidden(instanceVariable()),
			singleVariable("host", "Host", `label_values(accelerator_numa_cpus{job=~"$job",instance=~"$instance"}, instance)`),
		},
		scope: "var-instance=${host:percentencode}",
		rows: []row{
			openRow("Nodes of $host", nodeTable()),
			openRow("Processes and their cards", processPlaces()),
			openRow("Memory and allocations", numaLines()...),
			openRow("Where things are", distances(), cardNodes()),
		},
	}
}

func nodeTable() panel {
	return rowsOf("Nodes", "One row a node. Used holds the page cache, so a high figure is only bad when misses rise with it. Misses of more than a few per cent: the node was short of memory; move a process, or bind memory with numactl --membind. One row: there is nothing to bind. Cards on a node without CPUs or memory use those of another node: the firmware makes the nodes (NPS, sub-NUMA clustering), so change it there.",
		label("node", "Node"),
		value("CPUs", `sum by (job, instance, node) (accelerator_numa_cpus{job=~"$job",instance=~"$host"})`, unitOf(plain), cells("color-text"), colored("orange", step{1, "text"})),
		value("Memory", `sum by (job, instance, node) (accelerator_numa_memory_total_bytes{job=~"$job",instance=~"$host"})`, unitOf(bytes)),
		value("Used", `max by (job, instance, node) (accelerator_numa_memory_used_bytes{job=~"$job",instance=~"$host"} / accelerator_numa_memory_total_bytes{job=~"$job",instance=~"$host"})`, gaugeCell("green", memorySteps()...)...),
		value("Cards", `count by (job, instance, node) (count_values by (job, instance, vendor, device) ("node", accelerator_numa_node{job=~"$job",instance=~"$host"}))`, unitOf(plain)),
		value("Miss ratio", `sum by (job, instance, node) (rate(accelerator_numa_allocations_total{job=~"$job",instance=~"$host",result="miss"}[$__range])) / (sum by (job, instance, node) (rate(accelerator_numa_allocations_total{job=~"$job",instance=~"$host",result=~"hit|miss"}[$__range])) > 0)`, textCell(ratio, remotePageSteps()...)...),
		value("Used from other nodes", `sum by (job, instance, node) (rate(accelerator_numa_allocations_total{job=~"$job",instance=~"$host",result="other_node"}[$__range])) / (sum by (job, instance, node) (rate(accelerator_numa_allocations_total{job=~"$job",instance=~"$host",result=~"local_node|other_node"}[$__range])) > 0)`, textCell(ratio, remotePageSteps()...)...),
	).Height(10).SortBy(sortAscending("Node"))
}

// processPlaces says of each process, in the words of accelbench placement, where it runs; the first verdict that holds counts.
// As in the alert, of cards on several nodes one that the process may use is enough.
func processPlaces() panel {
	return rowsOf("Processes and their cards", "Each process on a card: whether its CPUs and memory are those of the card's node. Bound to another node, it pays for every access to the card: bind it to the node. "+
		"May run elsewhere too: the kernel may move it; bind it, and compare (accelbench compare --bindings). Cards span nodes: no one node is right; choose cards of one node. accelbench placement prints the binding. No row: no process is listed, or its /proc cannot be read.",
		vendorColumn(), cardColumn(), label("instance", "Host"), label("pid", "PID", width(80)), label("process", "Process"),
		value("Memory held", `max by (job, instance, vendor, device, pid, process) (accelerator_process_memory_used_bytes{job=~"$job",instance=~"$host"})`, unitOf(bytes)),
		value("Where it runs", `1 * group by (job, instance, vendor, pid) (max by (job, instance, vendor, pid) (accelerator_process_near_cpus_ratio{job=~"$job",instance=~"$host"}) == 0)
  or on (job, instance, vendor, pid) 2 * group by (job, instance, vendor, pid) (max by (job, instance, vendor, pid) (accelerator_process_near_memory_allowed{job=~"$job",instance=~"$host"}) == 0)
  or on (job, instance, vendor, pid) 3 * group by (job, instance, vendor, pid) (
    count by (job, instance, vendor, pid) (group by (job, instance, vendor, pid, node) (max by (job, instance, vendor, device, pid) (accelerator_process_memory_used_bytes{job=~"$job",instance=~"$host"}) * on (job, instance, vendor, device) group_left (node) count_values by (job, instance, vendor, device) ("node", accelerator_numa_node{job=~"$job",instance=~"$host"}))) > 1
      and on (job, instance, vendor, pid) accelerator_process_near_cpus_ratio{job=~"$job",instance=~"$host"})
  or on (job, instance, vendor, pid) 4 * group by (job, instance, vendor, pid) (min by (job, instance, vendor, pid) (accelerator_process_near_cpus_ratio{job=~"$job",instance=~"$host"}) == 1)
  or on (job, instance, vendor, pid) 5 * group by (job, instance, vendor, pid) (accelerator_process_near_cpus_ratio{job=~"$job",instance=~"$host"})`,
			append(mapped(valueText("1", "bound to another node", "red"), valueText("2", "memory on another node", "red"), valueText("3", "cards span nodes", "blue"), valueText("4", "on the node of its cards", "green"), valueText("5", "may run elsewhere too", "orange")), width(190))...),
		labelFrom("cpus", "May run on CPUs", `group by (job, instance, vendor, pid, cpus, mems) (accelerator_process_cpus_info{job=~"$job",instance=~"$host"})`),
		label("mems", "Memory of nodes"),
	).Height(11).NoValue("no process is listed").SortBy(sortAscending("Card"))
}

func numaLines() []panel {
	return []panel{
		timeSeries("Memory used", "Share of each node's memory, the page cache included. One node full while others are empty: everything was started on one node.", ratio,
			overTime(`accelerator_numa_memory_used_bytes{job=~"$job",instance=~"$host"} / accelerator_numa_memory_total_bytes{job=~"$job",instance=~"$host"}`, "node {{node}}")).Span(12),
		timeSeries("Miss ratio", "Share of a node's new pages that were meant for another node, which was full. It should be 0. Rising: the other node is full. No line: no pages were given out on that node.", ratio,
			overTime(`sum by (node) (rate(accelerator_numa_allocations_total{job=~"$job",instance=~"$host",result="miss"}[$__rate_interval])) / (sum by (node) (rate(accelerator_numa_allocations_total{job=~"$job",instance=~"$host",result=~"hit|miss"}[$__rate_interval])) > 0)`, "node {{node}}")).Span(12),
		timeSeries("Used from other nodes", "Share of a node's pages that went to a process on another node's CPUs. High with no misses: the process is not bound, or is bound to the wrong node: bind it with numactl --cpunodebind. Compare runs with accelbench compare.", ratio,
			overTime(`sum by (node) (rate(accelerator_numa_allocations_total{job=~"$job",instance=~"$host",result="other_node"}[$__rate_interval])) / (sum by (node) (rate(accelerator_numa_allocations_total{job=~"$job",instance=~"$host",result=~"local_node|other_node"}[$__rate_interval])) > 0)`, "node {{node}}")).Span(12),
		logSeries("Misses and the first token", "The mean time to the first token of the endpoints that this host probes, and on the right the worst miss ratio. Rising together, placement is the cause, not load.", "no probe of this host succeeded, and no pages were given out",
			overTime(`sum(rate(accelerator_probe_time_to_first_token_seconds_sum{job=~"$job",instance=~"$host"}[$__rate_interval])) / (sum(rate(accelerator_probe_time_to_first_token_seconds_count{job=~"$job",instance=~"$host"}[$__rate_interval])) > 0)`, "time to first token, mean", colorOf("orange")),
			overTime(`max(sum by (node) (rate(accelerator_numa_allocations_total{job=~"$job",instance=~"$host",result="miss"}[$__rate_interval])) / (sum by (node) (rate(accelerator_numa_allocations_total{job=~"$job",instance=~"$host",result=~"hit|miss"}[$__rate_interval])) > 0))`, "worst miss ratio", onTheRight(colorOf("blue"), filled(15))...)).Span(12),
	}
}

func distances() panel {
	return tablePanel("Distances", "Of one host, from row to column as the firmware tells: 10 is local, 20 costs about twice as much. Bind a server to the node of its cards, else to the nearest one that has CPUs and memory.",
		asRows(`max by (node, peer) (accelerator_numa_distance{job=~"$job",instance=~"$host"})`)).
		Transformations(matrix("node", "peer", "Value")).
		Span(9).Height(11).MinWidth(50). // eight nodes fit
		OverrideByRegexp("[0-9]+", []property{unitOf(plain), cells("color-background"), colored("green", step{11, "yellow"}, step{20, "orange"}, step{30, "red"})}).
		OverrideByName(`node\peer`, []property{{Id: "displayName", Value: "Node"}})
}

func cardNodes() panel {
	return rowsOf("Cards and their nodes", "The node each card is attached to and the CPUs that the tool puts beside it. Start a server with numactl --cpunodebind and --membind of the node of its cards. A card without a row has no known node.",
		labelFrom("node", "Node", `count_values by (job, instance, vendor, device) ("node", accelerator_numa_node{job=~"$job",instance=~"$host"})`),
		label("instance", "Host"), vendorColumn(), cardColumn(),
		labelFrom("cpus", "CPUs beside it", `group by (job, instance, vendor, device, cpus) (accelerator_cpu_affinity_info{job=~"$job",instance=~"$host"})`),
		value("Tool and kernel", `max by (job, instance, vendor, device) (accelerator_numa_node_conflict{job=~"$job",instance=~"$host"})`, mapped(valueText("0", "agree", "green"), valueText("1", "disagree", "red"))...),
	).Span(15).Height(11).NoValue("no card's node is known").SortBy(sortAscending("Node"))
}
