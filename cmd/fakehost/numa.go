package main

import (
	"fmt"
	"math"
	"os"
	"slices"

	nodes "github.com/accelerator-exporter/accelerator_exporter/collector/host"
)

// numa is what a wrong binding costs the stand-in server.
type numa struct {
	penalty float64 // factor of the model's time off the node
	node    int     // of its cards
	sysfs   string  // mountpoint
}

// factor is by what the model is slower where this process may run now: 1 where all its
// CPUs are on the node of its cards.
func (n numa) factor() (float64, error) {
	switch {
	case n.penalty == 1:
		return 1, nil
	case !(n.penalty > 0) || math.IsInf(n.penalty, 0):
		return 0, fmt.Errorf("--numa-penalty must be a number above 0, and is %g", n.penalty)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("reading where this process may run, for --numa-penalty: %w", err)
	}
	cpus, _, err := nodes.ParseAllowed(string(status))
	if err != nil {
		return 0, fmt.Errorf("reading where this process may run, for --numa-penalty: %w", err)
	}
	machine, err := nodes.ReadNUMA(n.sysfs)
	if err != nil {
		return 0, fmt.Errorf("for --numa-penalty: %w", err)
	}
	at := slices.IndexFunc(machine.Nodes, func(one nodes.Node) bool { return one.ID == n.node })
	if at < 0 || machine.Nodes[at].CPUs == nil {
		return 0, fmt.Errorf("the CPUs of node %d could not be read below %s, for --numa-penalty", n.node, n.sysfs)
	}
	if slices.ContainsFunc(cpus, func(cpu int) bool { return !slices.Contains(machine.Nodes[at].CPUs, cpu) }) {
		return n.penalty, nil
	}
	return 1, nil
}
