package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/placement"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

// Most servers with two sockets have every second CPU on a node. With lists of CPUs that are cut
// on the exporter's page, accelbench placement knew no node and gave no binding, and
// compare --bindings had no sides.
func TestBindingWhereCPUsAlternate(t *testing.T) {
	var cpus [2][]string
	for cpu := range 256 {
		cpus[cpu%2] = append(cpus[cpu%2], strconv.Itoa(cpu))
	}
	even, odd, sysfs := strings.Join(cpus[0], ","), strings.Join(cpus[1], ","), nodes(t)
	for node, list := range []string{even, odd} {
		if err := os.WriteFile(filepath.Join(sysfs, fmt.Sprintf("devices/system/node/node%d/cpulist", node)), []byte(list+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	procfs := processtest.Host(t, map[int]processtest.Process{4242: {CPUs: even, Mems: "0"}, 4343: {CPUs: odd, Mems: "1"}})
	p := start(t, "--collector.metax.command="+busyCards(t, "4242", "4343"), "--no-collector.ascend", "--path.sysfs="+sysfs, "--path.procfs="+string(procfs))
	var all *placement.Machine
	waitFor(t, "processes and nodes", func() bool {
		page, err := load.ReadExporter(t.Context(), p.url+"/metrics", config.HTTPClientConfig{})
		if err != nil {
			t.Fatal(err)
		}
		all = placement.Read(page)
		return len(all.Processes) == 2 && len(all.Nodes) == 2
	})
	devices, err := placement.ParseDevices("0-1")
	if err != nil {
		t.Fatal(err)
	}
	m, err := all.WithCards(devices)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, process := range m.Processes {
		got = append(got, process.Text)
	}
	result := m.Judge()
	if result.Binding == nil {
		t.Fatalf("no binding; processes %q; %q", got, result.Remarks)
	}
	got = append(got, result.Binding.Numactl, result.Binding.Systemd)
	sides, err := m.Sides()
	for _, side := range sides {
		got = append(got, side.Name)
	}
	want := []string{
		"on the node of its cards", "bound to another node",
		"numactl --cpunodebind=0 --membind=0", "[Service]\nCPUAffinity=" + even + "\nNUMAPolicy=bind\nNUMAMask=0\n",
		"none", "node0", "node1", "interleaved",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
