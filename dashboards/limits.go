package dashboards

import (
	"fmt"
	"strings"
)

// Figures that alerts decide by too. They stand in deploy/prometheus/rules/thresholds.yml, and TestLimitsAreTheAlerts
// holds these to those. A dashboard needs no rules to be loaded, so it cannot ask Prometheus for them.
const (
	// failureBudget is the share of probes that may fail in the long run.
	failureBudget = 0.01
	// noSuccess is the age in seconds of the last good probe.
	noSuccess = 300
	// memoryFull is the share of a card's memory in use from which the next allocation may fail.
	memoryFull = 0.98
	// memoryHeld and idle tell a card that something holds and nothing uses. The driver alone may hold a tenth.
	memoryHeld = 0.2
	idle       = 0.05
	// powerLimited is the share of a card's power limit from which it is held back.
	powerLimited = 0.95
	// busy is the utilization from which a low clock or power at the limit costs speed.
	busy = 0.8
	// levelDrop is how many performance levels below the day's highest tell a card that is held back.
	levelDrop = 2
	// clockDrop is the share of the day's highest clock below which a busy card is held back.
	clockDrop = 0.9
	// clockRated is the share of its rated clock below which a busy card is held back, whatever its highest was.
	clockRated = 0.75
	// numaMisses is the share of a node's pages that were wanted on another node.
	numaMisses = 0.1
)

// heat are the temperatures of a vendor's cards, in °C, from which alerts warn and from which they page.
type heat struct {
	vendor            string
	warning, critical float64
}

func heats() []heat {
	return []heat{{"metax", 100, 110}, {"ascend", 85, 95}}
}

// byHeat colours temperatures as the alerts of the card's vendor come. Series must be named by their vendor; a table cannot
// be coloured so, as its cells do not know their row's vendor.
func byHeat[P interface {
	OverrideByRegexp(pattern string, properties []property) P
}](p P) P {
	for _, h := range heats() {
		p = p.OverrideByRegexp(h.vendor, []property{colored("green", step{h.warning, "orange"}, step{h.critical, "red"})})
	}
	return p
}

// heatColors tells what the colours mean.
func heatColors() string {
	var parts []string
	for _, h := range heats() {
		parts = append(parts, fmt.Sprintf("%g and %g °C for %s", h.warning, h.critical, h.vendor))
	}
	return "Orange and red as the alerts come: " + strings.Join(parts, ", ") + "."
}

// late are the colours of the age of a probe's last success: the alert's, and three times that.
func late() []step { return []step{{noSuccess, "orange"}, {3 * noSuccess, "red"}} }

// full are the colours of a card's memory in use: red as the alert comes, orange shortly before.
func full() []step { return []step{{0.95, "orange"}, {memoryFull, "red"}} }

// nearlyFull are the colours of a share of a NUMA node's memory, or of a slice's quota, in use.
func nearlyFull() []step { return []step{{0.9, "orange"}, {0.98, "red"}} }

// fromElsewhere are the colours of a share of pages that went to processes on another NUMA node.
func fromElsewhere() []step { return []step{{0.1, "orange"}, {0.3, "red"}} }

// silent are the colours of the age of a collector's last success: from 40 s on its series end, with the usual interval.
func silent() []step { return []step{{40, "orange"}, {120, "red"}} }

// failing are the colours of a share of failed probes: more than the budget, and so many that it is soon spent.
func failing() []step { return []step{{failureBudget, "orange"}, {0.1, "red"}} }

// misses are the colours of a share of misses of a NUMA node: some, and red as the alert comes.
func misses() []step { return []step{{0.01, "orange"}, {numaMisses, "red"}} }

// percent writes a ratio for people.
func percent(ratio float64) string { return fmt.Sprintf("%.4g %%", ratio*100) }
