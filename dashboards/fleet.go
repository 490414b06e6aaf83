package dashboards

import (
	"fmt"
	"slices"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

const (
	ofVendor = ofHost + `,vendor=~"$vendor"`

	// The labels that tell one host's cards of a vendor, one card, one probed endpoint and one collector from all others.
	// A pod's name is none of them: the pods of a node, at once or one after the other, are one host.
	byVendor    = `job, instance, vendor`
	byCard      = `job, instance, vendor, device`
	byTarget    = `job, instance, target`
	byCollector = `job, instance, collector`

	// exporters is up of every target in a scrape job that had an exporter in the time range.
	exporters = `(up{` + ofHost + `} and on (job) last_over_time(accelerator_exporter_build_info{job=~"$job"}[$__range]))`

	// missing cards of a host and vendor: no card is listed while the tool fails, the expected number stays. A broken card
	// that the tool still lists is there, though accelerator_devices does not count it.
	missing = `clamp_min(` + expected + ` - (count by (` + byVendor + `) (group by (` + byCard + `) (accelerator_info{` + ofVendor + `})) or 0 * ` + expected + `), 0)`

	expected = `max by (` + byVendor + `) (accelerator_devices_expected{` + ofVendor + `})`

	// held is the share of a card's memory in use, of the fuller kind where it has two.
	held = `max by (` + byCard + `) (accelerator_memory_used_bytes{` + ofCard + `} / accelerator_memory_total_bytes{` + ofCard + `})`

	meanLoad = `avg by (` + byCard + `) (avg_over_time(accelerator_utilization_ratio{` + ofCard + `}[$__range]))`

	peakLoad = `max by (` + byCard + `) (max_over_time(accelerator_utilization_ratio{` + ofCard + `}[$__range]))`
)

// idleFull are the cards whose memory is held by something that does not compute.
func idleFull() string {
	return fmt.Sprintf(`(%s >= %g and on (`+byCard+`) (%s <= %g))`, held, memoryHeld, peakLoad, idle)
}

// whichIdleFull says which those are.
func whichIdleFull() string {
	return "Cards with " + percent(memoryHeld) + " or more of their memory in use and a utilization that never rose above " + percent(idle) + " in the time range: "
}

func fleet() page {
	return page{
		uid: uidFleet, title: "Accelerators: fleet", from: "3h", refresh: "1m",
		description: "All hosts and all cards: what needs a hand now, how load, power and memory are spread, which collectors and probes fail, which versions run. " +
			"Made for up to a thousand hosts: panels hold totals, or the few at the top.",
		variables: slices.Concat(hosts(), cards(), []variable{windowVariable(), topVariable()}),
		rows: []row{
			{"Now", slices.Concat(fleetCounts(), fleetUse())},
			{"What needs a hand", []panel{attention(), goneCards(), sickCards()}},
			{"Health", []panel{healthTimeline(), healthCounts(), collectorFailures(), probeFailures()}},
			{"Load, memory and power", []panel{loadHeatmap(), loadByVendor(), memoryByVendor(), powerByVendor(), temperatureByVendor()}},
			{"At the top", []panel{hottest(), fullest(), busiest(), idleFullTable()}},
			{"All cards", []panel{cardTable()}},
			{"Hosts and models", []panel{hostTable(), modelTable()}},
			{"Probed targets", []panel{targetTable()}},
			{"Collectors and versions", []panel{collectorTable(), toolVersions(), exporterVersions()}},
		},
	}
}

// topVariable bounds every panel that names cards, targets or collectors.
func topVariable() variable {
	numbers := []string{"10", "20", "50", "100"}
	const chosen = "20"
	return dashboard.NewCustomVariableBuilder("top").
		Label("Top").
		Description("How many cards, targets or collectors the panels that name them show.").
		Values(dashboard.StringOrMap{String: cog.ToPtr(strings.Join(numbers, ","))}).
		Options(options(numbers, chosen)).
		Current(option(chosen, true))
}

// alarming is green at nothing and red at one or more.
func alarming() *dashboard.ThresholdsConfigBuilder {
	return thresholds("green", step{1, "red"})
}

// notable is green at nothing and orange at one or more.
func notable() *dashboard.ThresholdsConfigBuilder {
	return thresholds("green", step{1, "orange"})
}

func fleetCounts() []panel {
	return []panel{
		statPanel("Hosts", "Hosts of the scrape jobs that hold exporters, whether they answer or not; several exporters of one instance are one host. Give exporters a scrape job of their own, or other programs are counted too.",
			count, now(`count(count by (job, instance) (`+exporters+`))`, "")).
			ColorScheme(fixed("blue")),
		statPanel("Exporters down", "Exporters that Prometheus cannot scrape: host off, service stopped, or port closed. Their cards are in no other figure here. Start with the table below.",
			count, now(`sum(`+exporters+` == bool 0)`, "")).
			Thresholds(alarming()),
		statPanel("Cards", "Cards that the vendors' tools list now, broken ones too.",
			count, now(`count(group by (`+byCard+`) (accelerator_info{`+ofCard+`}))`, "")).
			ColorScheme(fixed("blue")),
		statPanel("Cards missing", "Cards expected and not listed, host by host; all cards of a host whose tool fails count. "+
			"A single one has most likely fallen off the bus: look at the kernel's log, then reset or power-cycle the host.",
			count, now(`sum(`+missing+`)`, "")).
			Thresholds(alarming()),
		statPanel("Cards unhealthy", "Cards that their tool lists in a state other than Available or OK. The table of unhealthy cards has the state as printed: take such a card out of service.",
			count, now(`sum(accelerator_healthy{`+ofCard+`} == bool 0)`, "")).
			Thresholds(alarming()),
		statPanel("Collectors failing", "Collectors whose last poll failed. While one fails its cards have no data after three intervals and a timeout; the collectors' table has the reason.",
			count, now(`sum(accelerator_collector_success{`+ofCollector+`} == bool 0)`, "")).
			Thresholds(alarming()),
	}
}

// ofCollector follows the choice of vendors, and always holds the reader of NUMA nodes.
const ofCollector = ofHost + `,collector=~"$vendor|numa"`

func fleetUse() []panel {
	return []panel{
		statPanel("Targets failing", "Probed endpoints whose last probe failed. No data: nothing is probed.",
			count, now(`sum(accelerator_probe_success{`+ofHost+`} == bool 0)`, "")).
			Thresholds(alarming()),
		statPanel("Utilization", "Mean over all cards now. Low with long waits for a first token points at the server or its configuration, not at the cards.",
			ratio, now(`avg(accelerator_utilization_ratio{`+ofCard+`})`, "")).
			Decimals(0).ColorScheme(fixed("blue")),
		statPanel("Memory held", "Share of all card memory in use, the driver's own included. A model server takes most of a card at its start, so this says what is reserved, not what is needed.",
			ratio, now(`sum(accelerator_memory_used_bytes{`+ofCard+`}) / sum(accelerator_memory_total_bytes{`+ofCard+`})`, "")).
			Decimals(0).ColorScheme(fixed("blue")),
		statPanel("Power", "Sum over the cards that print it. The second die of a dual-die card prints none, so nothing counts twice.",
			watts, now(`sum(accelerator_power_watts{`+ofCard+`})`, "")).
			ColorScheme(fixed("blue")),
		statPanel("At their power limit", "Cards at "+percent(powerLimited)+" of their limit or more: they are about to lower their clock, and latency then rises at the same load. Compare cooling and limits. Only cards that print a limit.",
			count, now(`sum(accelerator_power_watts{`+ofCard+`} / accelerator_power_limit_watts{`+ofCard+`} >= bool `+fmt.Sprint(powerLimited)+`)`, "")).
			Thresholds(notable()),
		statPanel("Idle with memory held", whichIdleFull()+"forgotten processes, or servers that nobody asks. The table below names them.",
			count, now(`count(`+idleFull()+`) or 0 * count(accelerator_utilization_ratio{`+ofCard+`})`, "")).
			Thresholds(notable()),
	}
}

// problem gives the series of expr a label that says what is wrong.
func problem(text, expr string) string {
	return `label_replace(` + expr + `, "problem", "` + text + `", "", "")`
}

func attention() panel {
	all := strings.Join([]string{
		problem("exporter down", `count by (job, instance) (`+exporters+` == 0)`),
		problem("configuration not loaded", `count by (job, instance) (accelerator_exporter_config_last_reload_successful{`+ofHost+`} == 0)`),
		problem("cards missing", missing+` > 0`),
		problem("card unhealthy", `count by (`+byCard+`) (accelerator_healthy{`+ofCard+`} == 0)`),
		problem("collector failing", `count by (`+byCollector+`) (accelerator_collector_success{`+ofCollector+`} == 0)`),
		problem("tool stuck", `sum by (`+byCollector+`) (accelerator_collector_stuck_processes{`+ofCollector+`}) > 0`),
		problem("probe failing", `count by (`+byTarget+`) (accelerator_probe_success{`+ofHost+`} == 0)`),
	}, " or ")
	return rowsOf("Problems now", "One row a problem, at most 200; empty is good. Exporter down: see whether the host is up. "+
		"Cards missing: a card left the bus, or the tool fails. Tool stuck: the vendor's tool outlived SIGKILL, which points at the driver; expect to restart the host. "+
		"A host leads to load and latency and to NUMA, a card to its own page.",
		[]column{
			{"instance", "Host"},
			{"problem", "Problem"},
			{"vendor", "Vendor"},
			{"device", "Card"},
			{"collector", "Collector"},
			{"target", "Target"},
			{"Value", "Number"},
		},
		asRows(`topk(200, `+all+`)`)).
		OverrideByName("Host", toHost()).
		OverrideByName("Card", toCard()).
		OverrideByName("Target", toTarget()).
		OverrideByName("Number", []property{unitOf(count)})
}
