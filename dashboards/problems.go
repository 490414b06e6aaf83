package dashboards

import (
	"fmt"
	"strings"
)

// problem is a state that somebody should look at. The same expression is counted and listed.
type problem struct {
	name string
	// of has a series for each thing that has the problem.
	of string
	// known has a series for each thing of which it is known whether it has the problem. It, the title and the description
	// are for problems with a panel of their number.
	known, title, description string
}

// number is a panel with how many have the problem; there is no value where it is not known of any.
func (p problem) number() panel {
	return statPanel(p.title, p.description, count, "not reported", now(`count(`+p.of+`) or 0 * count(`+p.known+`)`, "")).Thresholds(troubles("orange"))
}

// listed has a label with the problem's name. The value is for the alert's gravity: 2 pages, 1 does not.
func (p problem) listed(gravity int) string {
	return fmt.Sprintf(`label_replace(%d * (0 * (%s) + 1), "problem", "%s", "", "")`, gravity, p.of, p.name)
}

const (
	busyLoad = `max by (` + byCard + `) (accelerator_utilization_ratio{` + ofCard + `})`
	level    = `max by (` + byCard + `) (accelerator_performance_level{` + ofCard + `})`
	topLevel = `max by (` + byCard + `) (max_over_time(accelerator_performance_level{` + ofCard + `}[1d]))`
	heatNow  = `max by (` + byCard + `) (accelerator_temperature_celsius{` + ofCard + `,sensor="chip"})`
	powerNow = `max by (` + byCard + `) (accelerator_power_watts{` + ofCard + `} / accelerator_power_limit_watts{` + ofCard + `})`
)

// reasons are those for which the alerts call a clock held down: heat and power.
const reasons = `max by (` + byCard + `) (accelerator_throttled{` + ofCard + `,reason!~"idle|applications_limit|low_usage|didt|other"})`

// heldDown are the busy cards whose level or clock is low, or which say that heat or power holds it down. Without reasons
// (Ascend) ten minutes count: between requests a clock is low and the card idle.
func heldDown() string {
	const (
		core = `accelerator_clock_hertz{` + ofCard + `,clock="core"}`
		top  = `max by (` + byCard + `) (max_over_time(` + core + `[1d]))`
		now  = `max by (` + byCard + `) (max_over_time(` + core + `[10m]))`
		rate = `max by (` + byCard + `) (accelerator_clock_max_hertz{` + ofCard + `})`
	)
	return fmt.Sprintf(`(%s) or (%s) or (%s and on (`+byCard+`) %s) or (%s)`,
		ifBusy(fmt.Sprintf(`%s - %s >= %d`, topLevel, level, levelDrop)), ifBusy(reasons+` == 1`),
		ifBusy(fmt.Sprintf(`%s / %s < %g`, now, top, clockDrop)), rate, ifBusy(fmt.Sprintf(`%s / %s < %g`, now, rate, clockRated)))
}

// belowUsual are the cards with a link below what it was a day or a week ago: two instants cost little, also of a large fleet.
func belowUsual() string {
	var all []string
	for _, metric := range linkReadings() {
		for _, ago := range []string{"1d", "7d"} {
			all = append(all, fmt.Sprintf(`(%s{`+ofCard+`} < %[1]s{`+ofCard+`} offset %s)`, metric, ago))
		}
	}
	return `count by (` + byCard + `) (` + strings.Join(all, " or ") + `)`
}

func linkReadings() []string {
	return []string{
		"accelerator_pcie_link_transfers_per_second", "accelerator_pcie_link_width",
		"accelerator_link_speed_bits_per_second", "accelerator_link_width", "accelerator_links_healthy",
		"accelerator_network_up", "accelerator_network_speed_bits_per_second",
	}
}

// anyLink has a series for each card of which a link is told.
func anyLink() string {
	var all []string
	for _, metric := range linkReadings() {
		all = append(all, metric+`{`+ofCard+`}`)
	}
	return `count by (` + byCard + `) (` + strings.Join(all, " or ") + `)`
}

// moreErrors are the cards with uncorrectable errors, or more retired pages, in the time range. A driver's restart resets
// the first counter and not the second; the third is the sum of a list that may get shorter.
func moreErrors() string {
	return `sum by (` + byCard + `) (increase(accelerator_ecc_errors_total{` + ofCard + `,type="uncorrectable"}[$__range])) > 0` +
		aboveLeast(`accelerator_ecc_lifetime_errors_total{`+ofCard+`,type="uncorrectable"}`) +
		aboveLeast(`accelerator_ras_errors_total{`+ofCard+`,type="uncorrectable"}`) +
		aboveLeast(`accelerator_ecc_retired_pages{`+ofCard+`}`)
}

func aboveLeast(selector string) string {
	return fmt.Sprintf(` or sum by (`+byCard+`) (%[1]s - min_over_time(%[1]s[$__range])) > 0`, selector)
}

func ifBusy(expr string) string {
	return fmt.Sprintf(`%s and on (`+byCard+`) %s >= %g`, expr, busyLoad, busy)
}

// cardProblems are those of cards that work and should not go on so.
func cardProblems() []problem {
	var hot []string
	for _, h := range heats() {
		hot = append(hot, fmt.Sprintf(`max by (`+byCard+`) (accelerator_temperature_celsius{`+ofCard+`,sensor="chip",vendor="%s"}) > %g`, h.vendor, h.warning))
	}
	return []problem{
		{
			"hot", strings.Join(hot, " or "), heatNow,
			"Too hot", "Cards above the warning temperature of their vendor. " + heatColors(),
		},
		{
			"memory full", fmt.Sprintf(`%s >= %g`, held, memoryFull), held,
			"Memory full", "Cards with " + percent(memoryFull) + " or more of a memory in use: the next allocation may fail.",
		},
		{
			"at its power limit", ifBusy(fmt.Sprintf(`%s >= %g`, powerNow, powerLimited)), powerNow,
			"At their power limit", "Busy cards at " + percent(powerLimited) + " of their limit or more. Only cards that print a limit.",
		},
		{
			"throttled", heldDown(), level + ` or ` + reasons + ` or max by (` + byCard + `) (accelerator_clock_max_hertz{` + ofCard + `})`,
			"Throttled", "Busy cards that run " + fmt.Sprint(levelDrop) + " or more performance levels below the highest of the last day, whose clock heat or power holds down by mx-smi's own word, or whose clock stays below " + percent(clockDrop) + " of the day's highest or below " + percent(clockRated) + " of the rated clock (Ascend).",
		},
		{
			"errors", moreErrors(), `accelerator_ecc_errors_total{` + ofCard + `}`,
			"Errors grow", "Cards with uncorrectable errors of memory or hardware, or more retired pages, in the time range. Drain such a card, then reset it.",
		},
		{
			"link below its usual", belowUsual(), anyLink(),
			"Links below usual", "Cards with a link, PCIe or a network port slower, narrower or down, compared with a day or a week ago.",
		},
		{
			"idle with memory held", idleFull(), `accelerator_utilization_ratio{` + ofCard + `}`,
			"Idle with memory held", whichIdleFull() + "forgotten processes, or servers that nobody asks.",
		},
	}
}

// problemsNow needs no rules in Prometheus.
func problemsNow() panel {
	const most = 200
	grave := []problem{
		{name: "exporter down", of: `count by (job, instance) (` + exporters + ` == 0)`},
		{name: "card missing", of: `max by (` + byCard + `, name, bus_id) (accelerator_device_missing_info{` + ofCard + `})`},
		{name: "cards missing, unknown which", of: missing + ` > 0 unless on (` + byVendor + `) accelerator_device_missing_info{` + ofVendor + `}`},
		{name: "card unhealthy", of: `accelerator_health_info{` + ofCard + `} and on (` + byCard + `) (accelerator_healthy{` + ofCard + `} == 0)`},
		{name: "tool stuck", of: `sum by (` + byCollector + `) (accelerator_collector_stuck_processes{` + ofCollector + `}) > 0`},
		{name: "probe failing", of: `count by (` + byTarget + `) (accelerator_probe_success{` + ofHost + `} == 0)`},
	}
	others := append(cardProblems(), []problem{
		{name: "collector failing", of: `count by (` + byCollector + `) (accelerator_collector_success{` + ofCollector + `} == 0` + noFailure + `)`},
		{name: "configuration not loaded", of: `count by (job, instance) (accelerator_exporter_config_last_reload_successful{` + ofHost + `} == 0)`},
	}...)
	var all []string
	for _, p := range grave {
		all = append(all, p.listed(2))
	}
	for _, p := range others {
		all = append(all, p.listed(1))
	}
	return rowsOf("Problems now", fmt.Sprintf("What is wrong now by the metrics alone, without rules, the grave ones first; at most %d rows. ", most)+
		"Limits are those of the shipped alerts. Card missing: reset or power-cycle the host, and check the slot if it comes again. Tool stuck: the vendor's tool outlived SIGKILL, which points at the driver.",
		[]column{
			value("Gravity", fmt.Sprintf(`topk(%d, %s)`, most, strings.Join(all, " or ")), mappedCell(words(word{"2", "grave", "red"}, word{"1", "look", "orange"}))...),
			label("problem", "Problem"),
			hostColumn(),
			label("vendor", "Vendor"),
			cardColumn(),
			label("state", "State"),
			label("reason", "Reason"),
			label("bus_id", "Bus"),
			label("collector", "Collector"),
			targetColumn(),
		}).
		NoValue("no problem").SortBy(descending("Gravity"))
}
