//go:build e2e

package e2e

import (
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// patience is how long a test waits for what comes within seconds.
const patience = 45 * time.Second

// TestEndToEnd runs the programs with the servers that users run beside them.
func TestEndToEnd(t *testing.T) {
	t.Run("every alert has a fault", func(t *testing.T) { everyAlertIsTried(t, allFaults()) })
	p := programs(programtest.Build(t))
	t.Run("landing page", func(t *testing.T) { landingPage(t, startHost(t, p, "alpha", nil)) })
	versions := []version{
		{name: "2", path: programtest.Find(t, "prometheus"), config: "prometheus-2.yml"},
		{name: "3", path: programtest.Find(t, "bin/tools/prometheus"), config: "prometheus.yml", native: true, brief: true},
	}
	t.Run("pods", func(t *testing.T) { pods(t, p, versions) })
	t.Run("files opened for pods", func(t *testing.T) { filesOpened(t, p) })
	t.Run("latency follows load", func(t *testing.T) { latencyFollowsLoad(t, p, versions) })
	for _, v := range versions {
		t.Run("Prometheus "+v.name, func(t *testing.T) { watch(t, p, v) })
	}
	if left := orphans(string(p)); len(left) > 0 {
		t.Errorf("processes are left behind: %q", left)
	}
}

// watch puts every fault in at once, each on cards or a host of its own, and
// takes them away again.
func watch(t *testing.T, p programs, v version) {
	faults, evaluations := allFaults(), 60
	if v.brief {
		evaluations = 20
	}
	f := runFleet(t, p, v, faults)
	each := func(stage string, run func(*testing.T, alert, *host, time.Time)) {
		start := time.Now()
		t.Run(stage, func(t *testing.T) {
			for _, x := range faults {
				for _, a := range x.tells {
					if a.slow && v.brief {
						continue
					}
					t.Run(x.name+": "+a.name, func(t *testing.T) { run(t, a, f.hosts[x.host], start) })
				}
			}
		})
	}
	t.Run("quiet", func(t *testing.T) { f.quiet(t, evaluations) })
	for _, x := range faults {
		if !x.early {
			x.put(t, f.hosts[x.host])
		}
	}
	each("fires", f.fires)
	t.Run("nothing else fires", func(t *testing.T) { f.onlyExpected(t) })
	t.Run("dashboards", func(t *testing.T) { f.dashboards(t, v.name, f.choices()) })
	if v.native {
		t.Run("native histograms", f.nativeHistograms)
	}
	for _, x := range faults {
		x.clear(t, f.hosts[x.host])
	}
	each("resolves", f.resolves)
	f.writeTimes(t, v, faults)
	t.Run("nothing else fired meanwhile", func(t *testing.T) { f.onlyExpected(t) })
}
