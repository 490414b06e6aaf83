package dashboards

import (
	"fmt"
	"slices"

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

	// missing cards of a host and vendor: expected and not in the tool's table, as AcceleratorCardsMissing counts them. All
	// are missing while the tool fails.
	missing = `clamp_min(` + expected + ` - (max by (` + byVendor + `) (accelerator_devices{` + ofVendor + `}) or 0 * ` + expected + `), 0)`

	expected = `max by (` + byVendor + `) (accelerator_devices_expected{` + ofVendor + `})`

	// held is the share of a card's memory in use, of the fuller kind where it has two. Memory of the host that a card maps
	// is none of it.
	held = `max by (` + byCard + `) (accelerator_memory_used_bytes{` + ofCard + `,type!="host_mapped"} / accelerator_memory_total_bytes{` + ofCard + `,type!="host_mapped"})`

	peakLoad = `max by (` + byCard + `) (max_over_time(accelerator_utilization_ratio{` + ofCard + `}[$__range]))`
)

// idleFull are the cards whose memory is held by something that does not compute, in the time range.
func idleFull() string {
	return fmt.Sprintf(`(%s >= %g and on (`+byCard+`) (%s <= %g))`, held, memoryHeld, peakLoad, idle)
}

// whichIdleFull says which those are.
func whichIdleFull() string {
	return "Cards with " + percent(memoryHeld) + " or more of their memory in use and a utilization that never rose above " + percent(idle) + " in the time range: "
}

func fleet() page {
	return page{
		uid: uidFleet, title: "Accelerators: fleet", refresh: "1m",
		description: "All hosts and all cards: what needs a hand now, how load, power and memory are spread, which collectors and probes fail, which versions run. " +
			"Made for up to a thousand hosts: panels hold totals, or the few at the top.",
		variables:   slices.Concat(hosts(), cards(), []variable{windowVariable(), topVariable()}),
		scope:       chosenCards(),
		annotations: []annotation{hostAlerts()},
		rows: []row{
			shown("Now", fleetNow()...),
			shown("What needs a hand", alertTable().Span(24).Height(7), problemsNow()),
			shown("Health", fleetHealth()...),
			shown("Load, memory and power", fleetLoad()...),
			shown("Cards, hosts and targets", cardTable(), hostTable(), targetTable()),
			folded("Cards by namespace", namespaceTable()),
			folded("Idle with memory held", idleFullTable()),
			folded("Collectors and versions", append([]panel{collectorTable()}, versions()...)...),
		},
	}
}

// troubles is green at nothing, and of a colour at one or more.
func troubles(color string) *dashboard.ThresholdsConfigBuilder {
	return thresholds("green", step{1, color})
}

const (
	// ofCollector follows the choice of vendors, and always holds the collectors that are of none.
	ofCollector = ofHost + `,collector=~"$vendor|numa|containers|allocations"`

	// noFailure leaves out the exporters in a PID namespace of their own, which cannot know the processes of others: that is
	// a choice, and no failure to AcceleratorCollectorFailing either.
	noFailure = ` unless on (` + byCollector + `) increase(accelerator_collector_failures_total{` + ofHost + `,collector="containers",reason="unsupported"}[5m]) > 0`
)

func fleetNow() []panel {
	panels := []panel{
		statPanel("Hosts", "Hosts of the scrape jobs that hold exporters, whether they answer or not; several exporters of one instance are one host. Give exporters a scrape job of their own, or other programs are counted too.", count,
			"none", now(`count(count by (job, instance) (`+exporters+`))`, "")).ColorScheme(fixed("blue")),
		statPanel("Exporters down", "Exporters that Prometheus cannot scrape: host off, service stopped, or port closed. Their cards are in no other figure here.", count,
			"no exporter", now(`sum(`+exporters+` == bool 0)`, "")).Thresholds(troubles("red")),
		statPanel("Cards", "Cards in the vendors' tables now.", count,
			"none", now(`sum(max by (`+byVendor+`) (accelerator_devices{`+ofVendor+`}))`, "")).ColorScheme(fixed("blue")),
		statPanel("Cards missing", "Cards expected and not in the tool's table, as AcceleratorCardsMissing counts them: all cards of a host whose tool fails, and MetaX cards that only mx-smi -L still lists. The problems below name them.", count,
			"no cards", now(`sum(`+missing+`)`, "")).Thresholds(troubles("red")),
		statPanel("Cards unhealthy", "Cards in a state other than Available or OK. The problems below have the state as printed: take such a card out of service.", count,
			"not reported", now(`sum(accelerator_healthy{`+ofCard+`} == bool 0)`, "")).Thresholds(troubles("red")),
		statPanel("Collectors failing", "Collectors whose last poll failed. While a vendor's fails its cards have no data after three intervals and a timeout. An exporter that cannot know the containers of processes, as it has a PID namespace of its own, does not count.", count,
			"none", now(`sum((accelerator_collector_success{`+ofCollector+`}`+noFailure+`) == bool 0)`, "")).Thresholds(troubles("red")),
		statPanel("Targets failing", "Probed endpoints whose last probe failed.", count,
			"no probe", now(`sum(accelerator_probe_success{`+ofHost+`} == bool 0)`, "")).Thresholds(troubles("red")),
	}
	for _, p := range cardProblems() {
		panels = append(panels, p.number())
	}
	return panels
}
