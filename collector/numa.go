package collector

import (
	"context"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/numa"
)

// numaNodes is the kernel's view of the NUMA nodes as a source.
type numaNodes struct {
	sysfs string
}

func (n numaNodes) stuck() int { return 0 }

func (numaNodes) beside() (now model.Warnings, leftOut uint64) { return model.Warnings{}, 0 }

func (n numaNodes) read(_ context.Context, publish func(result[numa.Snapshot])) error {
	taken := time.Now()
	s, err := numa.Read(n.sysfs)
	if err != nil {
		return err
	}
	publish(result[numa.Snapshot]{value: s, taken: taken, newWarnings: s.Warnings.Count, warnings: s.Warnings})
	return nil
}

// locate fills in the NUMA nodes that the tool's topology did not tell: the PCI
// device's, else the one node that holds all CPUs the card is near to.
func (n numaNodes) locate(devices []model.Device) {
	var nodes numa.Snapshot
	for i := range devices {
		d := &devices[i]
		if d.NUMANode != nil {
			continue
		}
		if node, ok := numa.PCINode(n.sysfs, d.BusID); ok {
			d.NUMANode = &node
			continue
		}
		if d.CPUAffinity == "" {
			continue
		}
		if nodes.Nodes == nil {
			var err error
			if nodes, err = numa.Read(n.sysfs); err != nil {
				return // the numa collector says why
			}
		}
		if node, ok := nodes.NodeOfCPUs(d.CPUAffinity); ok {
			d.NUMANode = &node
		}
	}
}
