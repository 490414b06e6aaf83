//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// labels are those of an alert that are looked at, beside alertname and instance.
type labels map[string]string

// alert is one that a fault raises. Those whose windows are minutes long or more are tried by promtool only.
type alert struct {
	host, name string
	labels
	suppressed bool // another alert explains it
	resolves   bool // within seconds of the end of its fault
}

// putFaults spoils three hosts; nothing is ever wrong with the fourth. Faults of details, which are asked for rarely, are
// there from the start, as is what only changes a file of the kernel: see startHost.
func putFaults(t *testing.T, hosts map[string]*host) {
	t.Helper()
	alpha, beta, delta := hosts["alpha"], hosts["beta"], hosts["delta"]
	alpha.set(t, "mx-smi.card", "0 hot 112", "4 ecc", "6 memory_full")
	alpha.set(t, "vllm.fault", "http_500")
	beta.set(t, "mx-smi.fault", "card_lost")
	beta.set(t, "npu-smi.fault", "exit")
	beta.set(t, "vllm.fault", "slow")
	beta.reload(t, "probes: [{colour: blue}]\n")
	delta.daemon.Crash()
}

// clearFaults ends those faults whose alerts resolve soon.
func clearFaults(t *testing.T, hosts map[string]*host) {
	t.Helper()
	alpha, beta, delta := hosts["alpha"], hosts["beta"], hosts["delta"]
	alpha.set(t, "mx-smi.card", "4 ecc", "6 memory_full")
	beta.set(t, "mx-smi.fault")
	beta.reload(t, beta.probes())
	delta.startExporter(t)
}

// faultAlerts has one alert of each kind of source.
func faultAlerts(hosts map[string]*host) []alert {
	server := strconv.Itoa(hosts["alpha"].server.Pid)
	return []alert{
		{host: "delta", name: "AcceleratorExporterDown", labels: labels{"severity": "critical"}, resolves: true},
		{host: "beta", name: "AcceleratorConfigReloadFailed", labels: labels{"severity": "warning"}, resolves: true},
		{host: "beta", name: "AcceleratorCardsMissing", labels: labels{"vendor": "metax", "severity": "critical"}, resolves: true},
		{host: "beta", name: "AcceleratorCollectorFailing", labels: labels{"collector": "ascend", "severity": "warning"}},
		{host: "beta", name: "AcceleratorTimePerOutputTokenHigh", labels: labels{"target": "chat-beta", "severity": "warning"}},
		{host: "beta", name: "AcceleratorObjectiveMissed", labels: labels{"target": "chat-beta", "objective": "time_per_output_token"}},
		{host: "alpha", name: "AcceleratorCardTooHot", labels: labels{"vendor": "metax", "device": "0", "severity": "critical"}, resolves: true},
		{host: "alpha", name: "AcceleratorCardHot", labels: labels{"vendor": "metax", "device": "0"}, suppressed: true, resolves: true},
		{host: "alpha", name: "AcceleratorMemoryErrorsUncorrectable", labels: labels{"vendor": "metax", "device": "4"}},
		{host: "alpha", name: "AcceleratorCardUnhealthy", labels: labels{"vendor": "ascend", "device": "5", "cluster": "test"}},
		{host: "alpha", name: "AcceleratorFaultCode", labels: labels{"vendor": "metax", "device": "4", "code": "RAS"}},
		{host: "alpha", name: "AcceleratorOpticsOutOfRange", labels: labels{"vendor": "ascend", "device": "2", "reading": "light"}},
		{host: "alpha", name: "AcceleratorProcessMisplaced", labels: labels{"vendor": "metax", "pid": server, "lacks": "CPUs"}},
	}
}

// sideEffects are further alerts that the faults of a host may rightly raise.
func sideEffects() map[string][]string {
	return map[string][]string{
		"alpha": {
			"AcceleratorClockHeldDown", "AcceleratorCardThrottled", "AcceleratorMemoryFull", "AcceleratorMemoryPagesRetired", "AcceleratorLinkErrors",
			"AcceleratorProbeNoSuccess", "AcceleratorProbeBurnFast",
		},
	}
}

// ofBusyMachine are alerts that a slow machine under test may raise on any host, rightly.
func ofBusyMachine() []string {
	return []string{"AcceleratorTimeToFirstTokenHigh", "AcceleratorTimePerOutputTokenHigh", "AcceleratorObjectiveMissed"}
}

// reload has the exporter read other probes.
func (h *host) reload(t *testing.T, probes string) {
	t.Helper()
	h.write(t, "probes.yml", probes)
	if err := h.daemon.Signal(syscall.SIGHUP); err != nil {
		t.Error(err)
	}
}

// received is an alert as Alertmanager has it.
type received struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Status      struct {
		State string `json:"state"`
	} `json:"status"`
}

// inAlertmanager returns what fires.
func (m *monitoring) inAlertmanager(t *testing.T) ([]received, error) {
	t.Helper()
	page, err := programtest.Get(t, "http://"+m.alertmanager+"/api/v2/alerts")
	if err != nil {
		return nil, err
	}
	var all []received
	return all, json.Unmarshal([]byte(page), &all)
}

// find returns the one alert that Alertmanager has of these labels, and an error that shows all of its name.
func (m *monitoring) find(t *testing.T, a alert, h *host) (received, error) {
	t.Helper()
	all, err := m.inAlertmanager(t)
	if err != nil {
		return received{}, err
	}
	wanted := func(r received) bool {
		for name, value := range a.labels {
			if r.Labels[name] != value {
				return false
			}
		}
		return r.Labels["instance"] == h.exporter
	}
	all = slices.DeleteFunc(all, func(r received) bool { return r.Labels["alertname"] != a.name })
	if i := slices.IndexFunc(all, wanted); i >= 0 {
		return all[i], nil
	}
	return received{}, fmt.Errorf("Alertmanager has no %s of %s with %v, but %v", a.name, h.exporter, a.labels, all)
}

// fires waits until Alertmanager has an alert, and reads what a person would.
func (m *monitoring) fires(t *testing.T, a alert, h *host) {
	programtest.Eventually(t, 2*time.Minute, a.name+" fires", func() error {
		r, err := m.find(t, a, h)
		if err != nil {
			return err
		}
		if a.suppressed && r.Status.State != "suppressed" {
			return fmt.Errorf("it is %s, although another alert explains it", r.Status.State)
		}
		for _, key := range []string{"summary", "description", "runbook_url", "dashboard_url"} {
			text := r.Annotations[key]
			if text == "" || strings.Contains(text, "<no value>") || strings.Contains(text, "<error") || strings.Contains(text, "%!") {
				return fmt.Errorf("%s: %q", key, text)
			}
		}
		return nil
	})
}

// resolved waits until Alertmanager no longer has an alert.
func (m *monitoring) resolved(t *testing.T, a alert, h *host) {
	programtest.Eventually(t, 2*time.Minute, a.name+" resolves", func() error {
		if _, err := m.find(t, a, h); err == nil {
			return fmt.Errorf("%s of %s still fires", a.name, a.host)
		}
		return nil
	})
}

// onlyExpected fails the test for each alert that no fault explains.
func (m *monitoring) onlyExpected(t *testing.T, hosts map[string]*host) {
	all, err := m.inAlertmanager(t)
	programtest.NoError(t, err)
	expected := sideEffects()
	for _, a := range faultAlerts(hosts) {
		expected[a.host] = append(expected[a.host], a.name)
	}
	for _, r := range all {
		host := ""
		for name, h := range hosts {
			if h.exporter == r.Labels["instance"] {
				host = name
			}
		}
		if !slices.Contains(append(ofBusyMachine(), expected[host]...), r.Labels["alertname"]) {
			t.Errorf("nothing explains an alert of host %q: %v", host, r.Labels)
		}
	}
}
