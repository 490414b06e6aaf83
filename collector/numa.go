package collector

import (
	"context"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/numa"
)

// numaName is the collector of the kernel's NUMA nodes.
const numaName = "numa"

// numaNodes is the kernel's view of the NUMA nodes.
type numaNodes struct {
	sysfs string
}

// numaState is what the numa collector knows.
type numaState struct {
	numa.Snapshot
	memory []heldMemory
}

// numaSource reads the nodes, and where it is asked for the memory of processes on them.
type numaSource struct {
	nodes  numaNodes
	memory *nodeMemory // nil for none
	unread lasting     // of the memory
}

func (n *numaSource) stuck() int { return 0 }

func (*numaSource) beside() (now model.Warnings, leftOut uint64) { return model.Warnings{}, 0 }

// read publishes the nodes, with the processes' memory as it was before, and then again
// with what that is now: a process that is slow to tell delays no node.
func (n *numaSource) read(ctx context.Context, publish func(result[numaState])) error {
	taken := time.Now()
	s, err := numa.Read(n.nodes.sysfs)
	if err != nil {
		return err
	}
	publishWith := func(newWarnings int) {
		u := result[numaState]{value: numaState{Snapshot: s}, taken: taken, newWarnings: newWarnings}
		u.warnings.Join(s.Warnings)
		if n.memory != nil {
			u.value.memory = n.memory.held
			u.warnings.Join(n.memory.warnings)
		}
		publish(u)
	}
	publishWith(s.Warnings.Count)
	if n.memory != nil {
		n.memory.read(ctx)
		publishWith(n.unread.added(n.memory.warnings))
	}
	return ctx.Err()
}

// locate fills in the NUMA nodes that the tool's topology did not tell: the PCI
// device's, else the one node that holds all CPUs the card is near to.
// Where both tell and disagree, a warning is added.
func (n numaNodes) locate(devices []model.Device, warnings *model.Warnings) {
	var nodes numa.Snapshot
	for i := range devices {
		d := &devices[i]
		node, ok := numa.PCINode(n.sysfs, d.BusID)
		switch {
		case ok && d.NUMANode != nil:
			conflict := node != *d.NUMANode
			d.NUMAConflict = &conflict
			if conflict {
				warnings.Add("card %s is on NUMA node %d by the tool's topology, which is taken, and on node %d by its PCI device", d.ID, *d.NUMANode, node)
			}
			continue
		case ok:
			d.NUMANode = &node
			continue
		case d.NUMANode != nil:
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
