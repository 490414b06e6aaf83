package dashboards

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// nodeOf gives each card a label with the number of its NUMA node.
func nodeOf(matchers string) string {
	return `count_values by (` + byCard + `) ("node", accelerator_numa_node{` + matchers + `})`
}

// onNodeOfCard are the figures of the NUMA node that the chosen card is attached to.
func onNodeOfCard(expr string) string {
	return expr + ` and on (job, instance, node) ` + nodeOf(ofCard)
}

func cardNode() panel {
	return rowsOf("Its NUMA node", "The memory and CPUs beside the card, and how many cards share them. A node short of free memory makes the feeding process take pages from another node, which is slower. Other nodes' share: pages given here to processes that run elsewhere.",
		[]column{
			{"instance", "Host"}, {"node", "Node"}, {"Value #A", "Memory"}, {"Value #B", "Free"}, {"Value #C", "CPUs"}, {"Value #D", "Cards on it"}, {"Value #E", "Other nodes' share"},
		},
		asRows(onNodeOfCard(`sum by (job, instance, node) (accelerator_numa_memory_total_bytes{`+ofHost+`})`)),
		asRows(onNodeOfCard(`sum by (job, instance, node) (accelerator_numa_memory_free_bytes{`+ofHost+`})`)),
		asRows(onNodeOfCard(`sum by (job, instance, node) (accelerator_numa_cpus{`+ofHost+`})`)),
		asRows(onNodeOfCard(`count by (job, instance, node) (`+nodeOf(ofHost)+`)`)),
		asRows(onNodeOfCard(elsewhere(`job, instance, node`, `$__range`)))).
		Span(24).Height(4).
		OverrideByName("Memory", []property{unitOf(bytes)}).
		OverrideByName("Free", []property{unitOf(bytes)}).
		OverrideByName("CPUs", []property{unitOf(plain)}).
		OverrideByName("Cards on it", []property{unitOf(plain)}).
		OverrideByName("Other nodes' share", textCell(ratio, "green", step{0.1, "orange"}, step{0.3, "red"}))
}

func cardLinks() panel {
	return rowsOf("Links", "What joins this card to each other card and NIC, as the tool prints it, and the other's NUMA node. Cards of one tensor-parallel server should meet over the fast link (MX, HCCS, SIO); PHB, NODE and SYS go through the host.",
		ofChosenCard(column{"peer", "Peer"}, column{"link", "Link"}, column{"Value #B", "Peer's node"}),
		asRows(`accelerator_link_info{`+ofCard+`}`),
		asRows(`group by (`+byCard+`, peer) (accelerator_link_info{`+ofCard+`}) * on (`+byVendor+`, peer) group_left () `+
			`max by (`+byVendor+`, peer) (label_replace(accelerator_numa_node{`+ofVendor+`}, "peer", "$1", "device", "(.*)"))`)).
		Span(12).Height(9).
		SortBy(ascending("Peer")).
		OverrideByName("Peer's node", []property{unitOf(plain)}).
		OverrideByName("Link", linkWords())
}

// linkWords colours the words of the topologies: green stays off the host, orange passes through it, red crosses sockets.
func linkWords() []property {
	colors := map[string]string{
		"MX": "green", "HCCS": "green", "HCCS_SW": "green", "SIO": "green",
		"PIX": "blue", "PXB": "blue", "PHB": "orange", "NODE": "orange", "SYS": "red",
	}
	words := map[string]dashboard.ValueMappingResult{}
	for word, color := range colors {
		words[word] = dashboard.ValueMappingResult{Text: &word, Color: &color}
	}
	return mappedCell([]dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: words}}})
}

func hostLinks() panel {
	const corner = `device\peer`
	return tablePanel("Links of all cards", "Rows and columns are the cards of one host and vendor, and its NICs as columns. Choose the cards of a server so that they meet over the same fast link.",
		asRows(`accelerator_link_info{`+ofVendor+`}`)).
		Transformations(matrix("device", "peer", "link")).
		Span(12).Height(9).
		OverrideByRegexp("[^\\\\]*", linkWords()).
		OverrideByName(corner, []property{{Id: "displayName", Value: "Card"}})
}

func cardTargets() panel {
	const (
		served = ` and on (` + byTarget + `) accelerator_probe_target_device_info{` + ofCard + `}`
		sent   = `sum by (` + byTarget + `) (increase(accelerator_probe_requests_total{` + ofHost + `}[$__range]))`
		failed = `sum by (` + byTarget + `) (increase(accelerator_probe_failures_total{` + ofHost + notCanceled + `}[$__range]))`
	)
	quantile := func(metric string) string {
		return `histogram_quantile(0.9, sum by (` + byTarget + `, le) (rate(` + metric + `{` + ofHost + `}[$__range])))` + served
	}
	return rowsOf("Probed endpoints", "Endpoints whose process uses this card, over the time range. A target leads to its load and latency, where this card's load is drawn beside it.",
		[]column{
			{"instance", "Host"}, {"target", "Target"}, {"Value #A", "Last probe"}, {"Value #B", "Failed"}, {"Value #C", "First token p90"}, {"Value #D", "Per token p90"},
		},
		asRows(`min by (`+byTarget+`) (accelerator_probe_success{`+ofHost+`})`+served),
		asRows(failed+` / (`+sent+` > 0)`+served),
		asRows(quantile("accelerator_probe_time_to_first_token_seconds_bucket")),
		asRows(quantile("accelerator_probe_time_per_output_token_seconds_bucket"))).
		Span(12).
		OverrideByName("Host", toHost()).
		OverrideByName("Target", toTarget()).
		OverrideByName("Last probe", mappedCell(yesNo("succeeded", "failed"))).
		OverrideByName("Failed", textCell(ratio, "green", failing()...)).
		OverrideByName("First token p90", []property{unitOf(seconds)}).
		OverrideByName("Per token p90", []property{unitOf(seconds)})
}

func cardLatency() panel {
	return timeSeries("First token of these endpoints, and this card", "The 90th percentile of the time to the first token, and this card's utilization on the right. Latency that rises with utilization is load; latency that rises without it is not the card: look at the server, the host and the network.",
		seconds,
		overTime(`histogram_quantile(0.9, sum by (`+byTarget+`, le) (rate(accelerator_probe_time_to_first_token_seconds_bucket{`+ofHost+`}[$window])))`+
			` and on (`+byTarget+`) accelerator_probe_target_device_info{`+ofCard+`}`, targetLegend),
		overTime(`accelerator_utilization_ratio{`+ofCard+`}`, cardLegend+" utilization")).
		Span(12).Min(0).
		OverrideByQuery("B", onTheRight(ratio, property{Id: "max", Value: 1}))
}
