//go:build e2e

// Package e2e runs the programs with a real Prometheus and a real Alertmanager, on the files that are shipped; only
// intervals and the waits of rules are shorter. The tests have the build tag e2e; make e2e runs them.
package e2e

import (
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// patience is how long a test waits for what comes within seconds.
const patience = time.Minute

// TestEndToEnd runs the programs with the servers that users run beside them.
func TestEndToEnd(t *testing.T) {
	p := programs(programtest.Build(t))
	t.Run("landing page", func(t *testing.T) { landingPage(t, startHost(t, p, "healthy")) })
	t.Run("demo", func(t *testing.T) { demo(t, p) })
	t.Run("pods", func(t *testing.T) { pods(t, p) })
	t.Run("files opened for pods", func(t *testing.T) { filesOpened(t, p) })
	t.Run("several machines", func(t *testing.T) { machines(t, p) })
	t.Run("pages", pages)
	t.Run("monitoring", func(t *testing.T) { monitored(t, p) })
	if left := orphans(string(p)); len(left) > 0 {
		t.Errorf("processes are left behind: %q", left)
	}
}

// demo runs what make run runs.
func demo(t *testing.T, p programs) {
	exporter, server := programtest.FreeAddress(t), programtest.FreeAddress(t)
	port := func(address string) string { return address[len("127.0.0.1:"):] }
	programtest.Run(t, "demo", []string{"DEMO_WEB_PORT=" + port(exporter), "DEMO_VLLM_PORT=" + port(server)}, "../demo/run.sh", string(p))
	programtest.Eventually(t, patience, "the demo shows cards and a probe", func() error {
		return programtest.PageHas(t, "http://"+exporter+"/metrics",
			"accelerator_utilization_ratio{", "accelerator_probe_time_to_first_token_seconds_count{")
	})
}

// monitored has Prometheus 2 and 3 watch the same hosts while every fault is there and after it was cleared.
func monitored(t *testing.T, p programs) {
	hosts := map[string]*host{}
	jobs := map[string][]targets{}
	for _, name := range []string{"alpha", "beta", "delta", "omega"} {
		h := startHost(t, p, name)
		hosts[name] = h
		jobs["accelerator_exporter"] = append(jobs["accelerator_exporter"], targets{[]string{h.exporter}, map[string]string{"cluster": "test"}})
		jobs["vllm"] = append(jobs["vllm"], targets{[]string{h.vllm}, map[string]string{"cluster": "test", "target": h.probe}})
	}
	var loads []*programtest.Process
	for name, load := range map[string][]string{"omega": {"--max-concurrency=4"}, "alpha": {"--request-rate=3", "--max-concurrency=2"}} {
		bench, address := startBench(t, p, hosts[name], load...)
		loads = append(loads, bench)
		jobs["accelbench"] = append(jobs["accelbench"], targets{Targets: []string{address}})
	}
	all := []*monitoring{
		startMonitoring(t, "2", programtest.Find(t, "prometheus"), "prometheus-2.yml", jobs),
		startMonitoring(t, "3", programtest.Find(t, "bin/tools/prometheus"), "prometheus.yml", jobs),
	}
	t.Cleanup(func() { // before Prometheus stops: a load test waits for its last scrape
		for _, l := range loads {
			_ = l.End(t) // a load test that was cut short may say so
		}
	})
	each := func(run func(*testing.T, *monitoring)) {
		for _, m := range all {
			t.Run("Prometheus "+m.version, func(t *testing.T) { run(t, m) })
		}
	}
	putFaults(t, hosts)
	each(func(t *testing.T, m *monitoring) {
		for _, a := range faultAlerts(hosts) {
			t.Run(a.name+" fires", func(t *testing.T) { m.fires(t, a, hosts[a.host]) })
		}
		t.Run("nothing else fires", func(t *testing.T) { m.onlyExpected(t, hosts) })
		t.Run("rules", m.noRuleFails)
		t.Run("dashboards", func(t *testing.T) { m.dashboards(t, choices(hosts)) })
		if m.version == "3" {
			t.Run("native histograms", m.nativeHistograms)
		}
	})
	clearFaults(t, hosts)
	each(func(t *testing.T, m *monitoring) {
		for _, a := range faultAlerts(hosts) {
			if a.resolves {
				t.Run(a.name+" resolves", func(t *testing.T) { m.resolved(t, a, hosts[a.host]) })
			}
		}
		t.Run("nothing else fired meanwhile", func(t *testing.T) { m.onlyExpected(t, hosts) })
	})
	hosts["alpha"].set(t, "vllm.fault", "freeze") // its /health still answers
	stalled := alert{host: "alpha", name: "AcceleratorTargetStalled", labels: labels{"target": hosts["alpha"].probe, "severity": "critical"}}
	each(func(t *testing.T, m *monitoring) { m.fires(t, stalled, hosts["alpha"]) })
	hosts["alpha"].set(t, "vllm.fault")
	each(func(t *testing.T, m *monitoring) { m.resolved(t, stalled, hosts["alpha"]) })
}

// startBench puts load on a host until the test ends, and returns where it serves its metrics.
func startBench(t *testing.T, p programs, h *host, load ...string) (*programtest.Process, string) {
	t.Helper()
	dir, address := t.TempDir(), programtest.FreeAddress(t)
	args := append([]string{
		"run", "--base-url=http://" + h.vllm, "--duration=20m", "--random-input-len=64", "--random-output-len=16",
		"--output=" + filepath.Join(dir, "results"), "--web.listen-address=" + address,
	}, load...)
	bench := programtest.Run(t, "accelbench", nil, p.path("accelbench"), args...)
	programtest.Eventually(t, patience, "accelbench serves", func() error {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return fmt.Errorf("dialing accelbench: %w", err)
		}
		return conn.Close()
	})
	return bench, address
}
