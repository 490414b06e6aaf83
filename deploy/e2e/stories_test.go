//go:build e2e

package e2e

import (
	"os"
	"syscall"
	"testing"
)

// fault is something wrong on one host, put in and cleared.
type fault struct {
	host  string
	name  string
	put   func(*testing.T, *host)
	clear func(*testing.T, *host)
	// early faults are there before Prometheus starts: their alert takes long.
	early bool
	// after are alerts that the fault raises and nobody waits for.
	after []string
	tells []alert
}

// alert is what somebody is told of a fault.
type alert struct {
	name, severity string
	labels         map[string]string // beside alertname, severity and instance
	inhibited      bool              // another alert explains it
	slow           bool              // its windows are so long that one Prometheus must do
}

// inFile is a fault that stands in a file of the state folder.
func inFile(file string, lines ...string) (put, taken func(*testing.T, *host)) {
	put = func(t *testing.T, h *host) { h.set(t, file, lines...) }
	taken = func(t *testing.T, h *host) { h.set(t, file) }
	return put, taken
}

func card(vendor, device string) map[string]string {
	return map[string]string{"vendor": vendor, "device": device}
}

// sickCards is a host on which every kind of fault has a card.
func sickCards() []fault {
	metax := fault{host: "alpha", name: "MetaX cards", tells: []alert{
		{name: "AcceleratorCardTooHot", severity: "critical", labels: card("metax", "0")},
		{name: "AcceleratorCardHot", severity: "warning", labels: card("metax", "0"), inhibited: true},
		{name: "AcceleratorClockHeldDown", severity: "warning", labels: map[string]string{"vendor": "metax", "device": "1", "reason": "over_power"}},
		{name: "AcceleratorCardThrottled", severity: "warning", labels: card("metax", "1"), inhibited: true},
		{name: "AcceleratorCardPowerLimited", severity: "info", labels: card("metax", "1"), inhibited: true},
		{name: "AcceleratorCardUnhealthy", severity: "critical", labels: card("metax", "2")},
		{name: "AcceleratorCardsMissing", severity: "critical", labels: map[string]string{"vendor": "metax"}},
		{name: "AcceleratorMemoryFull", severity: "warning", labels: card("metax", "3")},
		{name: "AcceleratorMemoryErrorsUncorrectable", severity: "critical", labels: card("metax", "4"), slow: true},
		{name: "AcceleratorLinkBelowBest", severity: "warning", labels: card("metax", "5"), slow: true},
	}, after: []string{"AcceleratorCardsUneven", "AcceleratorClockHeldDown", "AcceleratorMemoryPagesRetired"}}
	metax.put, metax.clear = inFile("mx-smi.card", "0 hot 112", "1 power_cap", "2 unhealthy", "3 memory_full", "4 ecc", "5 link_lanes")
	ascend := fault{host: "alpha", name: "Ascend cards", tells: []alert{
		{name: "AcceleratorCardUnhealthy", severity: "critical", labels: card("ascend", "5")},
		{name: "AcceleratorCardHealthWarning", severity: "warning", labels: card("ascend", "6")},
		{name: "AcceleratorCardHot", severity: "warning", labels: card("ascend", "7")},
		{name: "AcceleratorFaultCode", severity: "info", labels: map[string]string{"vendor": "ascend", "device": "4", "code": "80E18401"}, slow: true},
		{name: "AcceleratorLinkErrors", severity: "warning", labels: map[string]string{"vendor": "ascend", "device": "3", "of": "link"}, slow: true},
		{name: "AcceleratorNetworkPortDown", severity: "warning", labels: card("ascend", "2"), slow: true},
	}, after: []string{"AcceleratorLinkBelowBest", "AcceleratorOpticsOutOfRange"}}
	ascend.put, ascend.clear = inFile("npu-smi.card", "2 port_down", "3 link_lanes", "4 ras", "5 unhealthy Critical", "6 unhealthy Warning", "7 hot 90")
	return []fault{metax, ascend}
}

// badHost has tools and a server that fail.
func badHost() []fault {
	hang := fault{host: "beta", name: "npu-smi hangs", tells: []alert{
		{name: "AcceleratorCollectorFailing", severity: "warning", labels: map[string]string{"collector": "ascend"}},
		{name: "AcceleratorCardsMissing", severity: "critical", labels: map[string]string{"vendor": "ascend"}},
	}}
	hang.put, hang.clear = inFile("npu-smi.fault", "hang")
	lost := fault{host: "beta", name: "a MetaX card is lost", tells: []alert{
		{name: "AcceleratorCardsMissing", severity: "critical", labels: map[string]string{"vendor": "metax"}},
	}}
	lost.put, lost.clear = inFile("mx-smi.fault", "card_lost")
	failing := fault{host: "beta", name: "the endpoint answers 500", tells: []alert{
		{name: "AcceleratorProbeNoSuccess", severity: "critical", labels: map[string]string{"target": "chat-beta"}},
		{name: "AcceleratorProbeBurnFast", severity: "critical", labels: map[string]string{"target": "chat-beta"}, inhibited: true, slow: true},
	}, after: []string{"AcceleratorProbeBurnSlow"}}
	failing.put, failing.clear = inFile("vllm.fault", "http_500")
	return []fault{hang, lost, failing, {
		host: "beta", name: "NUMA misses",
		put:   func(_ *testing.T, h *host) { h.missing.Store(true) },
		clear: func(_ *testing.T, h *host) { h.missing.Store(false) },
		tells: []alert{{name: "AcceleratorNumaMissesHigh", severity: "warning", labels: map[string]string{"node": "1"}}},
	}}
}

func otherFaults() []fault {
	hang := fault{host: "gamma", name: "the endpoint hangs", tells: []alert{
		{name: "AcceleratorProbeNoSuccess", severity: "critical", labels: map[string]string{"target": "chat-gamma"}},
		{name: "AcceleratorProbesSkipped", severity: "warning", labels: map[string]string{"target": "chat-gamma"}, inhibited: true, slow: true},
	}, after: []string{"AcceleratorProbeBurnFast", "AcceleratorProbeBurnSlow", "AcceleratorObjectiveMissed"}}
	hang.put, hang.clear = inFile("vllm.fault", "hang")
	uneven := fault{host: "gamma", name: "one card works for all", tells: []alert{
		{name: "AcceleratorCardsUneven", severity: "warning", labels: map[string]string{"vendor": "metax", "target": "chat-gamma", "reading": "utilization"}},
	}}
	uneven.put, uneven.clear = inFile("mx-smi.card", "1 uneven")
	slow := fault{host: "epsilon", name: "the endpoint is slow", tells: []alert{
		{name: "AcceleratorTimePerOutputTokenHigh", severity: "warning", labels: map[string]string{"target": "chat-epsilon"}, slow: true},
		{name: "AcceleratorObjectiveMissed", severity: "warning", labels: map[string]string{"target": "chat-epsilon", "objective": "time_per_output_token"}, slow: true},
	}, after: []string{"AcceleratorLatencyUpLoadNot", "AcceleratorProbesSkipped", "AcceleratorTimeToFirstTokenHigh"}}
	slow.put, slow.clear = inFile("vllm.fault", "slow")
	idle := fault{host: "epsilon", name: "a card is idle and full", early: true, tells: []alert{
		{name: "AcceleratorIdleMemoryHeld", severity: "info", labels: card("metax", "6"), slow: true},
	}}
	idle.put, idle.clear = inFile("mx-smi.card", "6 idle_held")
	torn := fault{host: "epsilon", name: "npu-smi prints half a table", tells: []alert{
		{name: "AcceleratorParseWarnings", severity: "info", labels: map[string]string{"collector": "ascend"}, slow: true},
	}, after: []string{"AcceleratorCardsMissing"}}
	torn.put, torn.clear = inFile("npu-smi.fault", "torn")
	return []fault{hang, uneven, slow, idle, torn, {
		host: "epsilon", name: "a mistake in the configuration",
		put: func(t *testing.T, h *host) {
			h.write(t, "probes.yml", "probes: [{colour: blue}]\n")
			h.reload(t)
		},
		clear: func(t *testing.T, h *host) {
			h.write(t, "probes.yml", h.probes())
			h.reload(t)
		},
		tells: []alert{{name: "AcceleratorConfigReloadFailed", severity: "warning"}},
	}, {
		host: "delta", name: "the exporter is killed",
		put:   func(_ *testing.T, h *host) { h.daemon.Crash() },
		clear: func(t *testing.T, h *host) { h.startExporter(t) },
		tells: []alert{{name: "AcceleratorExporterDown", severity: "critical"}},
	}}
}

func (h *host) reload(t *testing.T) {
	t.Helper()
	if err := h.daemon.Signal(syscall.SIGHUP); err != nil {
		t.Error(err)
	}
}

func allFaults() []fault {
	return append(append(append(sickCards(), badHost()...), otherFaults()...), stuckTool())
}

// ownTrouble are alerts that a slow machine under test may raise by itself, rightly.
func ownTrouble() []string {
	return []string{"AcceleratorClientLagHigh"}
}

// untried are the alerts that no fault here raises, and why.
func untried() map[string]string {
	return map[string]string{
		"AcceleratorProbeBurnSlow":        "it looks at three days, which are 72 minutes here",
		"AcceleratorLatencyUpLoadNot":     "it compares with the day before",
		"AcceleratorTimeToFirstTokenHigh": "the stand-in is as slow in its first token as in the next, which has a story",
		"AcceleratorClientLagHigh":        "it is of the machine that runs the tests",
		"AcceleratorExpectedCardsDropped": "the stand-in's lists go on naming a lost card, as the real ones do",
		"AcceleratorExporterAbsent":       "it would silence all others",
		"AcceleratorThresholdsMissing":    "it would silence all others",
		"AcceleratorMemoryPagesRetired":   "it holds for a day, which is 24 minutes here",
		"AcceleratorHardwareErrors":       "its counter grows more rarely than the hour that it looks at, which is a minute here",
		"AcceleratorProcessMisplaced":     "it takes a machine of several NUMA nodes; make e2e-numa has one, with a process on the wrong node",
		"AcceleratorOpticsOutOfRange":     "optics are asked every 5 minutes, which are 5 hours here",
	}
}

// everyAlertIsTried fails for an alert that nobody has made fire.
func everyAlertIsTried(t *testing.T, faults []fault) {
	left := untried()
	for _, x := range faults {
		for _, a := range x.tells {
			left[a.name] = "a fault raises it"
		}
	}
	text, err := os.ReadFile(shipped + "/rules/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range values(parseYAML(t, text), "alert") {
		if left[name.Value] == "" {
			t.Errorf("nothing here raises %s", name.Value)
		}
		delete(left, name.Value)
	}
	for name := range left {
		t.Errorf("there is no alert %s", name)
	}
}
