package placement

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Binding is how to keep a server on some nodes, as each of what starts servers has it.
type Binding struct {
	Numactl    string `json:"numactl"`    // what to put before the command
	Systemd    string `json:"systemd"`    // a drop-in of the unit
	Docker     string `json:"docker"`     // the beginning of the command line; empty where the nodes' CPUs are not known
	Kubernetes string `json:"kubernetes"` // what kubelet and pod need
}

// Advice is the binding to use for a server on all cards of the machine, nil where there
// is none, and what is to be said of it, a sentence each.
type Advice struct {
	Binding *Binding
	Remarks []string
}

const kubernetes = "kubelet with cpuManagerPolicy: static, memoryManagerPolicy: Static and topologyManagerPolicy: %s; " +
	"pod of QoS class Guaranteed, with whole CPUs (requests = limits) and its cards as a resource"

// target is the nodes whose CPUs a server is to run on, and those to take memory from,
// none for the nearest.
type target struct{ cpus, mems set }

// numactl is what to put before a command.
func (t target) numactl() string {
	if len(t.mems) == 0 {
		return "numactl --cpunodebind=" + t.cpus.String() + " --localalloc"
	}
	return "numactl --cpunodebind=" + t.cpus.String() + " --membind=" + t.mems.String()
}

// Advise says which binding to use for a server on the cards of the machine.
func (m *Machine) Advise() Advice {
	to, remarks := m.toBind()
	if to == nil {
		return Advice{Remarks: remarks}
	}
	return Advice{Binding: m.binding(*to), Remarks: append(remarks, m.shortOfMemory(to.mems)...)}
}

// toBind is where to bind a server on the cards of the machine, nil where nothing is to
// be gained or it cannot be told, and what is to be said of it.
func (m *Machine) toBind() (to *target, remarks []string) {
	switch {
	case len(m.Nodes) == 0:
		return nil, []string{"No binding can be told: the page has no NUMA nodes (is the exporter's collector numa off?)."}
	case m.oneNode():
		return nil, []string{"Nothing is to be gained by a binding: there is one node only."}
	case len(m.Cards) == 0:
		return nil, []string{"No binding can be told: the page has no cards."}
	}
	var cards, cpus set
	for _, c := range m.Cards {
		if c.Conflict {
			remarks = append(remarks, fmt.Sprintf("The vendor's tool and the PCI device name different nodes for card %s: check which is right before binding.", clean(c.String())))
		}
		if c.Node == nil {
			return nil, []string{fmt.Sprintf("No binding can be told: the node of card %s is not known (mx-smi topo -m, npu-smi info -t topo or /sys/bus/pci/devices/*/numa_node tell it).", clean(c.String()))}
		}
		cards = append(cards, *c.Node)
	}
	cards = newSet(cards...)
	withCPUs, withMemory := m.withCPUs(), m.withMemory()
	for _, number := range cards {
		with, ok := m.nearest(number, withCPUs)
		if !ok {
			return nil, []string{fmt.Sprintf("No binding can be told: node %d of the cards has no CPUs, and which node with CPUs is nearest is not known.", number)}
		}
		if with != number {
			remarks = append(remarks, fmt.Sprintf("Node %d of the cards has no CPUs: node %d is the nearest that has.", number, with))
		}
		cpus = append(cpus, with)
	}
	cpus = newSet(cpus...)
	if len(cards) > 1 {
		remarks = append(remarks, fmt.Sprintf("The cards span %s: for a server on those of one node alone, ask with --devices.", cards.words()))
	}
	mems := newSet(slices.Concat(cpus, cards)...)
	if withCPUs.within(cpus) && withMemory.within(mems) {
		return nil, append(remarks, "Nothing is to be gained by a binding for a server on all of them: they are on every node.")
	}
	mems = slices.DeleteFunc(mems, func(n int) bool { return !withMemory.has(n) })
	return &target{cpus, mems}, remarks
}

// nearest is the node of some that is nearest to one, itself where it is among them. It
// is not known where two are as near, or where there are no distances.
func (m *Machine) nearest(number int, among set) (int, bool) {
	if among.has(number) {
		return number, true
	}
	from := m.node(number)
	if from == nil {
		return 0, false
	}
	best, known, tied := 0, false, false
	for _, n := range among {
		distance, ok := from.Distances[n]
		switch {
		case !ok:
			return 0, false
		case !known || distance < from.Distances[best]:
			best, known, tied = n, true, false
		case distance == from.Distances[best]:
			tied = true
		}
	}
	return best, known && !tied
}

// binding is how to keep a server there.
func (m *Machine) binding(to target) *Binding {
	list, known := m.listOf(to.cpus)
	b := &Binding{Numactl: to.numactl()}
	unit := []string{"[Service]"}
	switch {
	case known:
		unit = append(unit, "CPUAffinity="+list)
	case slices.Equal(to.mems, to.cpus):
		unit = append(unit, "CPUAffinity=numa") // the CPUs of the nodes in NUMAMask
	}
	docker := "docker run --cpuset-cpus=" + list
	if len(to.mems) > 0 {
		unit = append(unit, "NUMAPolicy=bind", "NUMAMask="+to.mems.String())
		docker += " --cpuset-mems=" + to.mems.String()
	} else {
		unit = append(unit, "NUMAPolicy=local")
	}
	b.Systemd = strings.Join(unit, "\n") + "\n"
	if known {
		b.Docker = docker
	}
	policy := "single-numa-node"
	if len(to.cpus) > 1 {
		policy = "best-effort"
	}
	b.Kubernetes = fmt.Sprintf(kubernetes, policy)
	return b
}

// listOf is the CPUs of nodes, where the page has all of them.
func (m *Machine) listOf(nodes set) (string, bool) {
	var cpus set
	for _, number := range nodes {
		n := m.node(number)
		if n == nil || n.CPUs == nil {
			return "", false
		}
		cpus = append(cpus, n.CPUs...)
	}
	return newSet(cpus...).String(), true
}

// shortOfMemory says which processes hold more on other nodes than is free on these, or
// that all together do: bound with --membind they would fail.
func (m *Machine) shortOfMemory(nodes set) []string {
	free := 0.0
	for _, number := range nodes {
		n := m.node(number)
		if n == nil || n.Free == nil {
			return nil
		}
		free += *n.Free
	}
	if len(nodes) == 0 || len(m.Processes) == 0 {
		return nil
	}
	const killed = "With --membind %s would be killed; numactl --preferred only prefers the node."
	var remarks []string
	told, all := false, 0.0
	for _, p := range m.Processes {
		elsewhere := p.outside(nodes)
		told, all = told || p.Bytes != nil, all+elsewhere
		if elsewhere > free {
			remarks = append(remarks, fmt.Sprintf("Too little memory is free on %s for process %d: it holds %s MB on other nodes, and %s MB are free. "+killed,
				nodes.words(), p.PID, megabytes(elsewhere), megabytes(free), "it"))
		}
	}
	switch {
	case !told:
		return []string{fmt.Sprintf(
			"%s MB are free on %s; what the processes hold is not on the page (the exporter's --collector.numa-maps tells it). Where it does not fit, --membind has them killed; numactl --preferred only prefers the node.",
			megabytes(free), nodes.words())}
	case remarks == nil && all > free:
		return []string{fmt.Sprintf("Too little memory is free on %s for all processes together: they hold %s MB on other nodes, and %s MB are free. "+killed,
			nodes.words(), megabytes(all), megabytes(free), "some")}
	}
	return remarks
}

// outside is how many bytes of its memory are on none of some nodes.
func (p *Process) outside(nodes set) float64 {
	bytes := 0.0
	for node, held := range p.Bytes {
		if !nodes.has(node) {
			bytes += held
		}
	}
	return bytes
}

// Side is one way to start a server in a comparison of bindings.
type Side struct {
	Name string // fit for a file name
	// Meaning is the binding in words, such as bound to node 0.
	Meaning string
	Prefix  []string // what to put before the command, empty for none
	// Recommended is true for the binding that is to be used by what the page says.
	Recommended bool
}

// Sides are the bindings to compare for a server on the cards of the machine: none, the
// recommended one where there is one, each other node with CPUs, and all nodes
// interleaved. It fails where there is but one node.
func (m *Machine) Sides() ([]Side, error) {
	switch {
	case len(m.Nodes) == 0:
		return nil, errors.New("the page has no NUMA nodes (is the exporter's collector numa off?)")
	case m.oneNode():
		return nil, errors.New("there is one NUMA node only, so there is no binding to compare")
	}
	sides := []Side{{Name: "none", Meaning: "unbound"}}
	advised, _ := m.toBind()
	if advised != nil {
		side := advised.side()
		side.Recommended = true
		sides = append(sides, side)
	}
	withMemory := m.withMemory()
	for _, n := range m.withCPUs() {
		one := target{cpus: set{n}}
		if withMemory.has(n) {
			one.mems = one.cpus
		}
		if advised == nil || !slices.Equal(one.cpus, advised.cpus) {
			sides = append(sides, one.side())
		}
	}
	return append(sides, Side{Name: "interleaved", Meaning: "interleaved over all nodes", Prefix: []string{"numactl", "--interleave=all"}}), nil
}

// side is the binding as a side of a comparison.
func (t target) side() Side {
	return Side{Name: sideName(t.cpus), Meaning: "bound to " + t.cpus.words(), Prefix: strings.Fields(t.numactl())}
}

// sideName is nodes as the name of a side, such as node0 or nodes0-1_4.
func sideName(nodes set) string {
	name := "nodes"
	if len(nodes) == 1 {
		name = "node"
	}
	return name + strings.ReplaceAll(nodes.String(), ",", "_")
}
