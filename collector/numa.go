package collector

import (
	"context"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/host"
)

// numaName is the collector of the kernel's NUMA nodes.
const numaName = "numa"

// numaSource is the kernel's view of the NUMA nodes.
type numaSource struct {
	sysfs string
}

func (n numaSource) read(context.Context) (result[host.NUMA], error) {
	taken := time.Now()
	nodes, err := host.ReadNUMA(n.sysfs)
	if err != nil {
		return result[host.NUMA]{}, err
	}
	return result[host.NUMA]{value: nodes, taken: taken, warnings: nodes.Warnings}, nil
}
