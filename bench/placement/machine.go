// Package placement says whether processes run on the NUMA node of the cards that they
// hold, and how to bind them there, from what accelerator_exporter shows. It is
// functions of samples: it reads no file and asks nobody.
package placement

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
)

// maxNumber is above the number of every CPU and node: what Linux can be built for.
const maxNumber = 8192

var errNoNodes = errors.New("the page has no NUMA nodes (is the exporter's collector numa off?)")

// Machine is what the exporter's page says of one host, each part in order.
type Machine struct {
	Nodes     []Node    `json:"nodes"`
	Cards     []*Card   `json:"cards"`
	Processes []Process `json:"processes"`
	// Targets are the cards behind each target of the exporter's probe.
	Targets map[string][]CardID `json:"-"`
}

// Node is a NUMA node.
type Node struct {
	Number    int        `json:"node"`
	CPUs      CPUs       `json:"cpus"`
	Total     *int64     `json:"memory_total_bytes"` // nil for a node without memory
	Free      *int64     `json:"memory_free_bytes"`
	Distances []*float64 `json:"distances"` // relative cost to each node, in their order; 10 is local

	distanceTo map[int]*float64
}

// CPUs are the numbers of a node's CPUs, ascending; nil where they are not known.
type CPUs []int

// MarshalJSON writes the list as the kernel does, null where it is not known.
func (c CPUs) MarshalJSON() ([]byte, error) {
	if c == nil {
		return []byte("null"), nil
	}
	return json.Marshal(cpulist.Format(c))
}

// CardID is the identity of a card.
type CardID struct {
	Vendor string `json:"vendor"`
	Device string `json:"device"`
}

func (c CardID) String() string { return c.Vendor + " " + c.Device }

// Card is a card and the node that it is attached to, nil where the page does not say.
type Card struct {
	CardID
	Node *int `json:"node"`
}

// Process is a process that holds cards of one vendor.
type Process struct {
	Vendor  string   `json:"vendor"`
	PID     int      `json:"pid"`
	Name    string   `json:"process"`
	Devices []string `json:"devices"`
	Verdict

	cards      []*Card // those of Devices
	cpus, mems []int   // where it may run and take memory, nil where that is not known
}

// Verdict says where a process is in regard to its cards.
type Verdict struct {
	Text   string `json:"verdict"`
	Placed *bool  `json:"placed"` // whether it is where it should be, nil where that is not known
}

// Read makes a machine of the samples of one page.
func Read(page []runlog.Series) *Machine {
	r := reader{nodes: map[int]*Node{}, cards: map[CardID]*Card{}, processes: map[processID]*Process{}, targets: map[string][]CardID{}}
	for _, s := range page {
		r.read(s)
	}
	return r.machine()
}

// reader holds what of a page was read, by its labels.
type reader struct {
	nodes     map[int]*Node
	cards     map[CardID]*Card
	processes map[processID]*Process
	targets   map[string][]CardID
}

type processID struct {
	vendor string
	pid    int
}

// read takes a sample, if it is of what a machine is made of.
func (r *reader) read(s runlog.Series) {
	switch labels := s.Labels; s.Name {
	case "accelerator_info":
		r.card(labels)
	case "accelerator_numa_node":
		r.card(labels).Node = new(int(s.Value))
	case "accelerator_probe_target_device_info":
		r.targets[labels["target"]] = append(r.targets[labels["target"]], r.card(labels).CardID)
	case "accelerator_numa_cpu_list_info":
		r.node(labels).CPUs = parseCPUs(labels["cpus"])
	case "accelerator_numa_memory_total_bytes":
		r.node(labels).Total = new(int64(s.Value))
	case "accelerator_numa_memory_free_bytes":
		r.node(labels).Free = new(int64(s.Value))
	case "accelerator_numa_distance":
		r.node(labels).distanceTo[number(labels["peer"])] = new(s.Value)
	case "accelerator_process_memory_used_bytes":
		p := r.process(labels)
		p.Name = labels["process"]
		p.cards = append(p.cards, r.card(labels))
	case "accelerator_process_cpus_info":
		p := r.process(labels)
		p.cpus, p.mems = parseCPUs(labels["cpus"]), parseCPUs(labels["mems"])
	}
}

// parseCPUs reads a list of CPUs or nodes, nil where it is none or was cut.
func parseCPUs(text string) []int {
	list, err := cpulist.Parse(text, maxNumber)
	if err != nil {
		return nil
	}
	return list
}

// number is a label that the exporter makes of a number.
func number(label string) int {
	n, _ := strconv.Atoi(label)
	return n
}

func (r *reader) card(labels map[string]string) *Card {
	id := CardID{Vendor: labels["vendor"], Device: labels["device"]}
	if r.cards[id] == nil {
		r.cards[id] = &Card{CardID: id}
	}
	return r.cards[id]
}

func (r *reader) node(labels map[string]string) *Node {
	n := number(labels["node"])
	if r.nodes[n] == nil {
		r.nodes[n] = &Node{Number: n, distanceTo: map[int]*float64{}}
	}
	return r.nodes[n]
}

func (r *reader) process(labels map[string]string) *Process {
	id := processID{labels["vendor"], number(labels["pid"])}
	if r.processes[id] == nil {
		r.processes[id] = &Process{Vendor: id.vendor, PID: id.pid}
	}
	return r.processes[id]
}

// machine is what was read, in order: one page always gives one text.
func (r *reader) machine() *Machine {
	m := &Machine{Nodes: []Node{}, Cards: []*Card{}, Processes: []Process{}, Targets: r.targets}
	numbers := slices.Sorted(maps.Keys(r.nodes))
	for _, number := range numbers {
		n := r.nodes[number]
		for _, peer := range numbers {
			n.Distances = append(n.Distances, n.distanceTo[peer])
		}
		m.Nodes = append(m.Nodes, *n)
	}
	m.Cards = slices.SortedFunc(maps.Values(r.cards), compareCards)
	for _, p := range r.processes {
		slices.SortFunc(p.cards, compareCards)
		for _, c := range p.cards {
			p.Devices = append(p.Devices, c.Device)
		}
		if len(p.Devices) > 0 { // else it holds nothing
			m.Processes = append(m.Processes, *p)
		}
	}
	slices.SortFunc(m.Processes, func(a, b Process) int { return cmp.Or(cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(a.PID, b.PID)) })
	return m
}

// compareCards orders numbers by their size, and chips on cards (1.0) behind them.
func compareCards(a, b *Card) int {
	return cmp.Or(cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(len(a.Device), len(b.Device)), cmp.Compare(a.Device, b.Device))
}

// places are the nodes that have CPUs and memory. Others have memory alone, or nothing but
// cards.
func (m *Machine) places() (numbers []int) {
	for _, n := range m.Nodes {
		if len(n.CPUs) > 0 && n.Total != nil && *n.Total > 0 {
			numbers = append(numbers, n.Number)
		}
	}
	return numbers
}

// oneNode reports whether there is one node only to run on.
func (m *Machine) oneNode() bool {
	withCPUs := 0
	for _, n := range m.Nodes {
		if len(n.CPUs) > 0 {
			withCPUs++
		}
	}
	return len(m.Nodes) == 1 || withCPUs == 1
}

// nodesOfCards are the places that cards are attached to. The error says why they are not
// known.
func (m *Machine) nodesOfCards(cards []*Card) ([]int, error) {
	if len(m.Nodes) == 0 {
		return nil, errNoNodes
	}
	var nodes []int
	for _, c := range cards {
		switch {
		case c.Node == nil:
			return nil, fmt.Errorf("the node of card %s is not known", c)
		case !slices.Contains(m.places(), *c.Node):
			return nil, fmt.Errorf("node %d of card %s has no CPUs or no memory", *c.Node, c)
		}
		nodes = append(nodes, *c.Node)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), nil
}

// contains reports whether all has every one of some.
func contains(all, some []int) bool {
	return !slices.ContainsFunc(some, func(n int) bool { return !slices.Contains(all, n) })
}

// overlap reports whether a and b have a number in common.
func overlap(a, b []int) bool {
	return slices.ContainsFunc(a, func(n int) bool { return slices.Contains(b, n) })
}

// nodeNames is nodes in a sentence: node 0, nodes 0 and 1, nodes 0-3.
func nodeNames(numbers []int) string {
	switch len(numbers) {
	case 1:
		return fmt.Sprintf("node %d", numbers[0])
	case 2:
		return fmt.Sprintf("nodes %d and %d", numbers[0], numbers[1])
	}
	return "nodes " + cpulist.Format(numbers)
}
