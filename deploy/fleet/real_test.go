package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/accelerator-exporter/accelerator_exporter/deploy/internal/programtest"
)

// vendor is a kind of host that the measurements are made with: eight cards,
// two NUMA nodes, one probed target.
type vendor struct {
	name string
	url  string // of the real exporter's metrics
}

// startReal runs the real exporter against stand-ins for the cards and for the
// model server, once for each vendor.
func startReal(t *testing.T) []vendor {
	t.Helper()
	dir, programs := t.TempDir(), programtest.Build(t)
	sysfs := filepath.Join(dir, "sys")
	writeNodes(t, sysfs)

	env := []string{"FAKEHOST_STATE=" + filepath.Join(dir, "state")}
	server := start(t, env, regexp.MustCompile(`address=http://(\S+)`), filepath.Join(programs, "fakehost"), "vllm", "--listen-address=127.0.0.1:0", "--speed=8", "--background-users=40")
	exporter := func(flags ...string) string {
		flags = append(flags, "--web.listen-address=127.0.0.1:0", "--path.sysfs="+sysfs, "--probe.target=http://"+server,
			"--collector.environment=FAKEHOST_STATE", "--collector.interval=2s", "--probe.interval=2s")
		return "http://" + start(t, env, regexp.MustCompile(`Listening on.* address=(\S+)`), filepath.Join(programs, "accelerator_exporter"), flags...) + "/metrics"
	}
	vendors := []vendor{
		{"metax", exporter("--no-collector.ascend", "--collector.metax.command="+filepath.Join(programs, "fake/mx-smi"))},
		{"ascend", exporter("--no-collector.metax", "--collector.ascend.command="+filepath.Join(programs, "fake/npu-smi"),
			"--collector.ascend.hccn-command="+filepath.Join(programs, "fake/hccn_tool"))},
	}
	for _, v := range vendors {
		programtest.Eventually(t, time.Minute, v.name+" is complete", func() error { return complete(v) })
	}
	return vendors
}

// complete wants cards, links, their details and one finished probe.
func complete(v vendor) error {
	families, err := capture(context.Background(), v.url)
	if err != nil {
		return err
	}
	byName := make(map[string]*dto.MetricFamily)
	for _, family := range families {
		byName[family.GetName()] = family
	}
	for _, name := range []string{"accelerator_utilization_ratio", "accelerator_link_info", "accelerator_probe_success", "accelerator_probe_target_device_info"} {
		if byName[name] == nil {
			return fmt.Errorf("no %s yet", name)
		}
	}
	last := map[string][]string{ // of the details, by vendor
		"metax":  {"accelerator_pci_events_total", "accelerator_memory_bandwidth_bytes_per_second"},
		"ascend": {"accelerator_ecc_pending_pages", "accelerator_network_up", "accelerator_network_fcs_errors_total"},
	}
	cards := len(byName["accelerator_healthy"].GetMetric())
	for _, name := range last[v.name] {
		if n := len(byName[name].GetMetric()); n < cards {
			return fmt.Errorf("%d series of %s for %d cards", n, name, cards)
		}
	}
	e2e := byName["accelerator_probe_request_duration_seconds"]
	if e2e == nil || e2e.GetMetric()[0].GetHistogram().GetSampleCount() == 0 {
		return errors.New("no probe has ended yet")
	}
	return nil
}

// writeNodes makes a sysfs of a server with two NUMA nodes.
func writeNodes(t *testing.T, sysfs string) {
	t.Helper()
	for node, distance := range []string{"10 21", "21 10"} {
		dir := filepath.Join(sysfs, "devices/system/node", fmt.Sprintf("node%d", node))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{
			"cpulist":  fmt.Sprintf("%d-%d\n", 32*node, 32*node+31),
			"distance": distance + "\n",
			"meminfo": fmt.Sprintf("Node %[1]d MemTotal:       528000000 kB\nNode %[1]d MemFree:        300000000 kB\n"+
				"Node %[1]d MemUsed:        228000000 kB\n", node),
			"numastat": "numa_hit 123456789\nnuma_miss 1207\nnuma_foreign 331\ninterleave_hit 40210\nlocal_node 123450000\nother_node 6789\n",
		} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// start runs a program until the test ends and returns the address that it
// prints.
func start(t *testing.T, env []string, address *regexp.Regexp, program string, args ...string) string {
	t.Helper()
	_, found := startProcess(t, env, address, program, args...)
	return found
}

func startProcess(t *testing.T, env []string, address *regexp.Regexp, program string, args ...string) (*programtest.Process, string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), env...)
	process := programtest.Start(t, filepath.Base(program), cmd)
	t.Cleanup(process.Crash) // nothing is kept, and a large Prometheus takes long to end
	return process, process.Logged(t, address)
}

// startPrometheus runs a Prometheus with a configuration of the test's.
func startPrometheus(t *testing.T, config string, flags ...string) (process *programtest.Process, url, data string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	data = filepath.Join(dir, "data")
	storage := "--storage.tsdb.path="
	if slices.Contains(flags, "--agent") {
		storage = "--storage.agent.path="
	}
	flags = append([]string{"--config.file=" + file, storage + data, "--web.listen-address=127.0.0.1:0"}, flags...)
	process, address := startProcess(t, nil, regexp.MustCompile(`msg="?Listening on"?.* address=(127\S+)`), programtest.Find(t, "bin/tools/prometheus", "prometheus"), flags...)
	url = "http://" + address
	programtest.Eventually(t, time.Minute, "Prometheus is ready", func() error {
		_, err := programtest.Get(t, url+"/-/ready")
		return err
	})
	return process, url, data
}
