//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// programs is the folder with what is built from this repository.
type programs string

func (p programs) path(name string) string { return filepath.Join(string(p), name) }

// host is a simulated server with cards, a model server and an exporter.
type host struct {
	programs
	name     string
	dir      string // state, configuration, logs
	vllm     string // addresses
	exporter string
	probe    string // name of the probe, which is the label target
	server   *programtest.Process
	daemon   *programtest.Process
}

// startHost starts a host on which all is well.
func startHost(t *testing.T, p programs, name string) *host {
	t.Helper()
	h := &host{programs: p, name: name, dir: t.TempDir(), exporter: "127.0.0.1:0", probe: "chat-" + name}
	h.set(t, "mx-smi.fault") // makes the folder
	nodes := []string{"0-1023", "1024-1031"}
	if name == sick {
		h.set(t, "npu-smi.card", "2 optics", "5 unhealthy Critical")
		slices.Reverse(nodes) // the node of all cards has CPUs that no process may use
	}
	h.runNUMA(t, nodes)
	h.server = programtest.Run(t, "vllm", []string{"FAKEHOST_STATE=" + h.path("state")}, p.path("fakehost"),
		"vllm", "--listen-address=127.0.0.1:0", "--speed=8", "--background-users=12", "--background-period=20s")
	h.vllm = served(t, h.server)
	h.write(t, "probes.yml", h.probes())
	h.startExporter(t)
	return h
}

func (h *host) probes() string {
	return fmt.Sprintf(`
probes:
  - {name: %s, url: "http://%s", interval: 1s, timeout: 2s, max_tokens: 3, slo: {time_to_first_token: 2s, time_per_output_token: 100ms}}
`, h.probe, h.vllm)
}

func (h *host) path(name string) string { return filepath.Join(h.dir, name) }

// sick is the host with sick cards. It is the one that is asked for all details, those of the network too: they take
// starts of tools, of which one host's are enough.
const sick = "alpha"

// startExporter starts the exporter at the address it had before, if any.
func (h *host) startExporter(t *testing.T) {
	t.Helper()
	details := []string{"--collector.detail=lean"}
	if h.name == sick {
		details = []string{"--collector.detail=full", "--collector.ascend.hccn-command=" + h.programs.path("fake/hccn_tool")}
	}
	h.daemon = programtest.Run(t, "exporter", []string{"FAKEHOST_STATE=" + h.path("state")}, h.programs.path("accelerator_exporter"), append(details,
		"--web.listen-address="+h.exporter, "--config.file="+h.path("probes.yml"), "--path.sysfs="+h.path("sysfs"),
		"--collector.metax.command="+h.programs.path("fake/mx-smi"), "--collector.ascend.command="+h.programs.path("fake/npu-smi"),
		"--collector.environment=FAKEHOST_STATE", "--collector.interval=2s", "--collector.inventory-interval=10s", "--collector.timeout=10s")...)
	h.exporter = served(t, h.daemon)
}

// set writes one of the files that the stand-ins look at, such as mx-smi.card.
func (h *host) set(t *testing.T, file string, lines ...string) {
	t.Helper()
	h.write(t, "state/"+file, strings.Join(lines, "\n"))
}

// write replaces a file at once, so that nobody reads half of it.
func (h *host) write(t *testing.T, name, text string) {
	t.Helper()
	path := h.path(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path+".new", []byte(text), 0o644), os.Rename(path+".new", path)); err != nil {
		t.Error(err)
	}
}

// runNUMA makes two NUMA nodes with these CPUs, whose counters grow until the test ends.
func (h *host) runNUMA(t *testing.T, cpus []string) {
	t.Helper()
	h.numa(t, cpus, 0)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for pages := 5000; ; pages += 5000 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
				h.numa(t, cpus, pages)
			}
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
}

func (h *host) numa(t *testing.T, cpus []string, pages int) {
	for node, list := range cpus {
		dir := fmt.Sprintf("sysfs/devices/system/node/node%d/", node)
		h.write(t, dir+"cpulist", list+"\n")
		h.write(t, dir+"distance", []string{"10 21\n", "21 10\n"}[node])
		h.write(t, dir+"meminfo", fmt.Sprintf("Node %[1]d MemTotal: 67108864 kB\nNode %[1]d MemFree: 41943040 kB\nNode %[1]d MemUsed: 25165824 kB\n", node))
		h.write(t, dir+"numastat", fmt.Sprintf("numa_hit %[1]d\nnuma_miss %[2]d\nnuma_foreign %[2]d\ninterleave_hit 14\nlocal_node %[1]d\nother_node %[2]d\n", pages, pages/1000))
	}
}
