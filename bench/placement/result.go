package placement

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
)

// Binding is how to bind a server to NUMA nodes, for each program that starts servers.
type Binding struct {
	Numactl    string `json:"numactl"`    // what to put before the command
	Systemd    string `json:"systemd"`    // a drop-in of the unit
	Docker     string `json:"docker"`     // the beginning of the command line
	Kubernetes string `json:"kubernetes"` // what kubelet and pod need
}

const kubernetes = "kubelet with cpuManagerPolicy: static, memoryManagerPolicy: Static and topologyManagerPolicy: %s; " +
	"pod of QoS class Guaranteed, with whole CPUs (requests = limits) and its cards as a resource"

// advise is the nodes on which to keep a server on the machine's cards, none where there is
// nothing to gain or it is not known, and remarks for the user.
func (m *Machine) advise() (nodes []int, remarks []string) {
	if len(m.Nodes) > 0 && m.oneNode() {
		return nil, []string{"Nothing is to be gained by a binding: there is one node only."}
	}
	nodes, err := m.nodesOfCards(m.Cards)
	switch {
	case err != nil:
		return nil, []string{fmt.Sprintf("No binding is known: %v.", err)}
	case len(nodes) == 0:
		return nil, []string{"No binding is known: the page has no cards."}
	}
	if len(nodes) > 1 {
		remarks = append(remarks, fmt.Sprintf("The cards span %s: for a server on those of one node alone, ask with --devices.", nodeNames(nodes)))
	}
	if contains(nodes, m.places()) {
		return nil, append(remarks, "Nothing is to be gained by a binding for a server on all of them: they are on every node.")
	}
	return nodes, append(remarks, "If the server needs more memory than is free on "+nodeNames(nodes)+
		", it is killed under --membind; numactl --preferred only prefers a node.")
}

func (m *Machine) binding(nodes []int) *Binding {
	if len(nodes) == 0 {
		return nil
	}
	var all []int
	for _, n := range m.Nodes {
		if slices.Contains(nodes, n.Number) {
			all = append(all, n.cpus...)
		}
	}
	slices.Sort(all)
	cpus, list := cpulist.Format(all), cpulist.Format(nodes)
	policy := "single-numa-node"
	if len(nodes) > 1 {
		policy = "best-effort"
	}
	return &Binding{
		Numactl:    fmt.Sprintf("numactl --cpunodebind=%s --membind=%s", list, list),
		Systemd:    fmt.Sprintf("[Service]\nCPUAffinity=%s\nNUMAPolicy=bind\nNUMAMask=%s\n", cpus, list),
		Docker:     fmt.Sprintf("docker run --cpuset-cpus=%s --cpuset-mems=%s", cpus, list),
		Kubernetes: fmt.Sprintf(kubernetes, policy),
	}
}

// Side is one way to start a server in a comparison of bindings. Its Command is to be put before the server's.
type Side struct {
	Name string // fit for a file name
	runlog.Server
}

// Sides are the bindings to compare for a server on the machine's cards: none, the recommended one
// if any, each other node with CPUs and memory, and all nodes interleaved. It fails with one node.
func (m *Machine) Sides() ([]Side, error) {
	switch {
	case len(m.Nodes) == 0:
		return nil, errNoNodes
	case m.oneNode():
		return nil, errors.New("there is one NUMA node only, so there is no binding to compare")
	}
	sides := []Side{{"none", runlog.Server{Binding: "unbound"}}}
	advised, _ := m.advise()
	bound := [][]int{advised}
	for _, number := range m.places() {
		bound = append(bound, []int{number})
	}
	for i, nodes := range bound {
		if len(nodes) == 0 || i > 0 && slices.Equal(nodes, advised) {
			continue
		}
		name := "node" + strings.ReplaceAll(cpulist.Format(nodes), ",", "_")
		sides = append(sides, Side{name, runlog.Server{Command: m.binding(nodes).Numactl, Binding: "bound to " + nodeNames(nodes)}})
	}
	return append(sides, Side{"interleaved", runlog.Server{Command: "numactl --interleave=all", Binding: "interleaved over all nodes"}}), nil
}

// Judge says which binding to use for a server on the cards of the machine.
func (m *Machine) Judge() *Machine {
	nodes, remarks := m.advise()
	m.Binding, m.Remarks = m.binding(nodes), remarks
	return m
}

// Placed reports whether every process is where it should be, nil where that is not known.
func (m *Machine) Placed() *bool {
	placed := new(true)
	for _, p := range m.Processes {
		switch {
		case p.Placed == nil:
			placed = nil
		case !*p.Placed:
			return p.Placed
		}
	}
	return placed
}

// Text writes the result for a terminal.
func (m *Machine) Text(w io.Writer) error {
	var b strings.Builder
	nodes := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(nodes, "node\tCPUs\tmemory, MB\tfree, MB\tcards")
	for _, n := range m.Nodes {
		fmt.Fprintf(nodes, "%d\t%s\t%s\t%s\t%s\n", n.Number, cmp.Or(cpulist.Format(n.cpus), "-"),
			megabytes(n.Total), megabytes(n.Free), cmp.Or(m.cardsOn(&n.Number), "-"))
	}
	if cards := m.cardsOn(nil); cards != "" {
		fmt.Fprintf(nodes, "not known\t-\t-\t-\t%s\n", cards)
	}
	_ = nodes.Flush() // a strings.Builder takes everything

	fmt.Fprintln(&b, "\nprocesses:")
	if len(m.Processes) == 0 {
		fmt.Fprintln(&b, "  none holds a card, or the exporter does not list them (--no-collector.processes)")
	}
	for _, p := range m.Processes {
		who := strings.TrimSpace(fmt.Sprintf("%d %s", p.PID, show.Clean(p.Name)))
		fmt.Fprintf(&b, "  %s, %s %s: %s\n", who, show.Clean(p.Vendor), show.Clean(strings.Join(p.Devices, " ")), p.Text)
	}

	fmt.Fprintln(&b, "\nbinding:")
	for _, remark := range m.Remarks {
		fmt.Fprintf(&b, "  %s\n", remark)
	}
	if m.Binding != nil {
		fmt.Fprintf(&b, "  numactl:    %s\n", m.Binding.Numactl)
		fmt.Fprintf(&b, "  systemd:    %s\n", strings.ReplaceAll(strings.TrimSpace(m.Binding.Systemd), "\n", "\n              "))
		fmt.Fprintf(&b, "  docker:     %s\n", m.Binding.Docker)
		fmt.Fprintf(&b, "  kubernetes: %s\n", m.Binding.Kubernetes)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cardsOn lists the cards of a node, of no known one for nil.
func (m *Machine) cardsOn(node *int) string {
	var names []string
	for _, c := range m.Cards {
		if c.Node == nil && node == nil || c.Node != nil && node != nil && *c.Node == *node {
			names = append(names, c.String())
		}
	}
	return strings.Join(names, ", ")
}

// megabytes is a size in units of 2^20 bytes, rounded down as numactl does.
func megabytes(bytes *int64) string {
	if bytes == nil {
		return "-"
	}
	return fmt.Sprint(*bytes >> 20)
}
