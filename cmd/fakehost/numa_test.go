package main

import (
	"os"
	"strings"
	"testing"

	nodes "github.com/accelerator-exporter/accelerator_exporter/collector/host"
	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

// sysfsOf is a made-up tree whose node 1 has those CPUs.
func sysfsOf(t *testing.T, cpus string) string {
	t.Helper()
	root := processtest.Procfs(t.TempDir())
	root.Write(t, "devices/system/node/node1/cpulist", cpus+"\n")
	return string(root)
}

// The model is slower exactly where the process may run off the node of its cards.
func TestNumaPenalty(t *testing.T) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip(err)
	}
	cpus, _, err := nodes.ParseAllowed(string(status))
	if err != nil {
		t.Skip(err)
	}
	own := cpulist.Format(cpus)
	for _, tt := range []struct {
		cpus    string
		penalty float64
		want    float64
		err     string
	}{
		{own, 1.2, 1, ""},
		{own + ",8000-8001", 1.2, 1, ""},
		{"8000-8001", 1.2, 1.2, ""},
		{"8000", 1, 1, ""},
		{"", 1.2, 1.2, ""},
		{"0-", 1.2, 0, "CPUs of node 1"},
		{own, 0, 0, "above 0"},
		{own, -1, 0, "above 0"},
	} {
		got, err := numa{penalty: tt.penalty, node: 1, sysfs: sysfsOf(t, tt.cpus)}.factor()
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("node of CPUs %q, penalty %g: %g, %v", tt.cpus, tt.penalty, got, err)
		}
	}
	if _, err := (numa{penalty: 1.2, node: 2, sysfs: sysfsOf(t, own)}).factor(); err == nil || !strings.Contains(err.Error(), "CPUs of node 2") {
		t.Errorf("a node that is not there: %v", err)
	}
}
