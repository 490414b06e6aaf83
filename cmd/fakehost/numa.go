package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/collector/host"
	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
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
		return 0, fmt.Errorf("--numa-penalty must be a number above 0, not %g", n.penalty)
	}
	status, err1 := os.ReadFile("/proc/self/status")
	own, _, err2 := host.ParseAllowed(string(status))
	list, err3 := os.ReadFile(fmt.Sprintf("%s/devices/system/node/node%d/cpulist", n.sysfs, n.node))
	near, err4 := cpulist.Parse(string(list), math.MaxUint16)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return 0, fmt.Errorf("reading whether this process may run off the CPUs of node %d, for --numa-penalty: %w", n.node, err)
	}
	if slices.ContainsFunc(own, func(cpu int) bool { return !slices.Contains(near, cpu) }) {
		return n.penalty, nil
	}
	return 1, nil
}
