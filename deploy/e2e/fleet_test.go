//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// fleet is some hosts and who watches them.
type fleet struct {
	*monitoring
	receiver *receiver
	hosts    map[string]*host
	expected map[string][]string // alerts that may fire, by host
	times    map[times]float64   // seconds from a fault to its alert, and from its end to the alert's
}

// runFleet starts the hosts with the early faults in them, load tests on one, and
// a monitoring of them all.
func runFleet(t *testing.T, p programs, v version, faults []fault) *fleet {
	t.Helper()
	f := &fleet{receiver: startReceiver(t), hosts: map[string]*host{}, expected: map[string][]string{}, times: map[times]float64{}}
	for _, name := range []string{"alpha", "beta", "gamma", "delta", "epsilon"} {
		f.hosts[name] = startHost(t, p, name, nil)
	}
	// Another generation of both tools, with other columns. Nothing is ever wrong here.
	f.hosts["omega"] = startHost(t, p, "omega", map[string]string{"npu-smi.layout": "310p-25.5", "mx-smi.layout": "2.2.8"})
	for _, x := range faults {
		if x.early {
			x.put(t, f.hosts[x.host])
		}
		f.expected[x.host] = append(f.expected[x.host], x.after...)
		for _, a := range x.tells {
			f.expected[x.host] = append(f.expected[x.host], a.name)
		}
	}
	jobs := map[string][]targets{}
	for _, h := range f.hosts {
		cluster := map[string]string{"cluster": "test"}
		jobs["accelerator_exporter"] = append(jobs["accelerator_exporter"], targets{[]string{h.exporter}, cluster})
		server := map[string]string{"cluster": "test", "target": h.probe}
		jobs["vllm"] = append(jobs["vllm"], targets{[]string{h.vllm}, server})
	}
	var benches []*programtest.Process
	for _, load := range [][]string{{"--concurrency=4"}, {"--request-rate=3", "--max-concurrency=2"}} {
		bench, address := startBench(t, p, f.hosts["omega"], load...)
		benches = append(benches, bench)
		jobs["accelbench"] = append(jobs["accelbench"], targets{Targets: []string{address}})
	}
	f.monitoring = startMonitoring(t, v, f.receiver.URL, jobs)
	t.Cleanup(func() { // before Prometheus stops: a load test waits for its last scrape
		for _, b := range benches {
			_ = b.End(t) // a load test that was cut short may say so
		}
	})
	return f
}

// startBench puts load on a host until the test ends, and returns where it tells
// how that goes.
func startBench(t *testing.T, p programs, h *host, load ...string) (*programtest.Process, string) {
	t.Helper()
	dir, address := t.TempDir(), programtest.FreeAddress(t)
	args := append([]string{
		"run", "--url=http://" + h.vllm, "--duration=20m", "--input-len=64", "--random-output-len=16",
		"--output=" + filepath.Join(dir, "results"), "--web.listen-address=" + address,
	}, load...)
	bench := start(t, "accelbench", nil, p.path("accelbench"), args...)
	programtest.Eventually(t, patience, "accelbench serves", func() error {
		bench.Runs(t)
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	})
	return bench, address
}

// firing are the alerts that fire, by Prometheus.
func (f *fleet) firing(t *testing.T) []map[string]string {
	t.Helper()
	var data struct {
		Alerts []struct {
			Labels map[string]string `json:"labels"`
			State  string            `json:"state"`
		} `json:"alerts"`
	}
	if err := f.get("/api/v1/alerts", nil, &data); err != nil {
		t.Fatal(err)
	}
	var all []map[string]string
	for _, a := range data.Alerts {
		if a.State == "firing" {
			all = append(all, a.Labels)
		}
	}
	return all
}

// unexpected are those that fire without a reason.
func (f *fleet) unexpected(t *testing.T, allowed map[string][]string) []string {
	t.Helper()
	var found []string
	for _, labels := range f.firing(t) {
		host := f.hostAt(labels["instance"])
		if !slices.Contains(allowed[host], labels["alertname"]) && !slices.Contains(ownTrouble(), labels["alertname"]) {
			found = append(found, fmt.Sprintf("%s: %v", host, labels))
		}
	}
	return found
}

func (f *fleet) onlyExpected(t *testing.T) {
	t.Helper()
	for _, found := range f.unexpected(t, f.expected) {
		t.Errorf("fires without a reason: %s", found)
	}
}

func (f *fleet) hostAt(instance string) string {
	for name, h := range f.hosts {
		if h.exporter == instance {
			return name
		}
	}
	return ""
}

// quiet waits for so many evaluations of every rule and fails when an alert of
// ours fires that is not of an early fault.
func (f *fleet) quiet(t *testing.T, evaluations int) {
	early := map[string][]string{"epsilon": {"AcceleratorIdleMemoryHeld"}}
	programtest.Eventually(t, 2*time.Minute, fmt.Sprintf("%d evaluations of the rules", evaluations), func() error {
		if found := f.unexpected(t, early); len(found) > 0 {
			t.Fatalf("nothing is wrong, and yet these fire:\n%s", strings.Join(found, "\n"))
		}
		return f.evaluated(evaluations)
	})
	if err := f.noRuleFails(); err != nil {
		t.Error(err)
	}
}

// evaluated fails until every group of rules was evaluated so often. Groups that
// are evaluated more seldom than others count in proportion.
func (f *fleet) evaluated(times int) error {
	return f.ownMetric("prometheus_rule_group_iterations_total", func(line string, value float64) error {
		if value < float64(times)/4 {
			return fmt.Errorf("%s was evaluated %v times", line, value)
		}
		return nil
	})
}

func (f *fleet) noRuleFails() error {
	return f.ownMetric("prometheus_rule_evaluation_failures_total", func(line string, value float64) error {
		if value > 0 {
			return fmt.Errorf("%v evaluations failed: %s", value, line)
		}
		return nil
	})
}

// ownMetric looks at every sample of one of Prometheus' own metrics.
func (f *fleet) ownMetric(name string, check func(line string, value float64) error) error {
	response, err := http.Get("http://" + f.prometheus + "/metrics")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	seen := 0
	for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
		line := scanner.Text()
		if !strings.HasPrefix(line, name+"{") {
			continue
		}
		value, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return err
		}
		if err := check(line, value); err != nil {
			return err
		}
		seen++
	}
	if seen == 0 {
		return fmt.Errorf("no %s yet", name)
	}
	return nil
}
