package dashboards

// nodeOf gives each card a label with the number of its NUMA node.
func nodeOf(matchers string) string {
	return `count_values by (` + byCard + `) ("node", accelerator_numa_node{` + matchers + `})`
}

func cardLinks() panel {
	return rowsOf("Links", "What joins this card to each other card and NIC, as the tool prints it, and the other's NUMA node. Cards of one tensor-parallel server should meet over the fast link (MX, HCCS, SIO); PHB, NODE and SYS go through the host.",
		[]column{
			label("peer", "Peer"),
			label("link", "Link"),
			value("Peer's node", `group by (`+byCard+`, peer) (accelerator_link_info{`+ofOneCard+`}) * on (`+byVendor+`, peer) group_left () `+
				`max by (`+byVendor+`, peer) (label_replace(accelerator_numa_node{`+ofMaker+`}, "peer", "$1", "device", "(.*)"))`, unitOf(plain)),
		},
		asRows(`accelerator_link_info{`+ofOneCard+`}`)).
		Span(10).Height(9).NoValue("no topology").SortBy(ascending("Peer")).
		OverrideByName("Link", linkWords())
}

// linkWords colours the words of the topologies: green stays off the host, orange passes through it, red crosses sockets.
func linkWords() []property {
	var all []word
	for _, group := range [][]string{{"green", "MX", "HCCS", "HCCS_SW", "SIO"}, {"blue", "PIX", "PXB"}, {"orange", "PHB", "NODE"}, {"red", "SYS"}} {
		for _, link := range group[1:] {
			all = append(all, word{link, link, group[0]})
		}
	}
	return mappedCell(words(all...))
}

func hostLinks() panel {
	const corner = `device\peer`
	return tablePanel("Links of all cards", "Rows and columns are the cards of this host and vendor, and its NICs as columns. Choose the cards of a server so that they meet over the same fast link.",
		asRows(`accelerator_link_info{`+ofMaker+`}`)).
		Transformations(matrix("device", "peer", "link")).
		Span(14).Height(9).NoValue("no topology").
		OverrideByRegexp("[^\\\\]*", linkWords()).
		OverrideByName(corner, []property{{Id: "displayName", Value: "Card"}})
}

func cardTargets() panel {
	const (
		served = ` and on (` + byTarget + `) accelerator_probe_target_device_info{` + ofOneCard + `}`
		sent   = `sum by (` + byTarget + `) (increase(accelerator_probe_requests_total{` + ofOneHost + `}[$__range]))`
		failed = `sum by (` + byTarget + `) (increase(accelerator_probe_failures_total{` + ofOneHost + notCanceled + `}[$__range]))`
	)
	quantile := func(metric string) string {
		return `histogram_quantile(0.9, sum by (` + byTarget + `, le) (rate(` + metric + `{` + ofOneHost + `}[$__range])))` + served
	}
	return rowsOf("Probed endpoints", "Endpoints whose process uses this card, over the time range. A target leads to its load and latency, where the load of its cards is drawn beside it.",
		[]column{
			hostColumn(),
			targetColumn(),
			value("Last probe", `min by (`+byTarget+`) (accelerator_probe_success{`+ofOneHost+`})`+served, mappedCell(yesNo("succeeded", "failed"))...),
			value("Failed", failed+` / (`+sent+` > 0)`+served, textCell(ratio, "green", failing()...)...),
			value("First token p90", quantile("accelerator_probe_time_to_first_token_seconds_bucket"), unitOf(seconds)),
			value("Per token p90", quantile("accelerator_probe_time_per_output_token_seconds_bucket"), unitOf(seconds)),
		}).
		Span(8).Height(7).NoValue("no probed endpoint is known to use this card")
}
