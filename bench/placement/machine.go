// Package placement says whether processes run on the NUMA node of the cards that they hold, and
// how to bind them there, from the samples that accelerator_exporter shows.
package placement

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
)

// maxNumber is above the number of every CPU and node: what Linux can be built for.
const maxNumber = 8192

var errNoNodes = errors.New("the page has no NUMA nodes (is the exporter's collector numa off?)")

// Machine is what the exporter's page says of one host, each part in order.
type Machine struct {
	Nodes     []*Node    `json:"nodes"`
	Cards     []*Card    `json:"cards"`
	Processes []*Process `json:"processes"`
	Binding   *Binding   `json:"binding"` // by [Machine.Judge], nil where nothing is to be gained or none is known
	Remarks   []string   `json:"remarks,omitempty"`
	// Targets are the cards behind each target of the exporter's probe.
	Targets map[string][]CardID `json:"-"`
}

// Node is a NUMA node.
type Node struct {
	Number    int        `json:"node"`
	CPUs      *string    `json:"cpus"`               // as the kernel lists them, nil where they are not known
	Total     *int64     `json:"memory_total_bytes"` // nil for a node without memory
	Free      *int64     `json:"memory_free_bytes"`
	Distances []*float64 `json:"distances"` // relative cost to each node, in their order; 10 is local

	cpus       []int // those of CPUs, ascending
	distanceTo map[int]*float64
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

// Read makes a machine of the samples of one page, and judges its processes.
func Read(page []runlog.Series) *Machine {
	m := &Machine{Nodes: []*Node{}, Cards: []*Card{}, Processes: []*Process{}, Targets: map[string][]CardID{}}
	for _, s := range page {
		switch labels := s.Labels; s.Name {
		case "accelerator_info":
			m.card(labels)
		case "accelerator_numa_node":
			m.card(labels).Node = new(int(s.Value))
		case "accelerator_probe_target_device_info":
			m.Targets[labels["target"]] = append(m.Targets[labels["target"]], m.card(labels).CardID)
		case "accelerator_numa_cpu_list_info":
			n := m.node(labels)
			if n.cpus = parseCPUs(labels["cpus"]); n.cpus != nil {
				n.CPUs = new(labels["cpus"])
			}
		case "accelerator_numa_memory_total_bytes":
			m.node(labels).Total = new(int64(s.Value))
		case "accelerator_numa_memory_free_bytes":
			m.node(labels).Free = new(int64(s.Value))
		case "accelerator_numa_distance":
			m.node(labels).distanceTo[number(labels["peer"])] = new(s.Value)
		case "accelerator_process_memory_used_bytes":
			p := m.process(labels)
			p.Name = labels["process"]
			p.cards = append(p.cards, m.card(labels))
		case "accelerator_process_cpus_info":
			p := m.process(labels)
			p.cpus, p.mems = parseCPUs(labels["cpus"]), parseCPUs(labels["mems"])
		}
	}
	// Each part in order, as one page is to give one text.
	slices.SortFunc(m.Nodes, func(a, b *Node) int { return cmp.Compare(a.Number, b.Number) })
	for _, n := range m.Nodes {
		for _, peer := range m.Nodes {
			n.Distances = append(n.Distances, n.distanceTo[peer.Number])
		}
	}
	slices.SortFunc(m.Cards, compareCards)
	m.Processes = slices.DeleteFunc(m.Processes, func(p *Process) bool { return len(p.cards) == 0 }) // it holds nothing
	slices.SortFunc(m.Processes, func(a, b *Process) int { return cmp.Or(cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(a.PID, b.PID)) })
	for _, p := range m.Processes {
		slices.SortFunc(p.cards, compareCards)
		for _, c := range p.cards {
			p.Devices = append(p.Devices, c.Device)
		}
		p.Verdict = m.judge(p)
	}
	return m
}

// parseCPUs reads a list of CPUs or nodes, nil where it is none or was cut.
func parseCPUs(text string) []int {
	list, _ := cpulist.Parse(text, maxNumber)
	return list
}

func number(label string) int {
	n, _ := strconv.Atoi(label)
	return n
}

func (m *Machine) card(labels map[string]string) *Card {
	id := CardID{Vendor: labels["vendor"], Device: labels["device"]}
	return findOrAdd(&m.Cards, &Card{CardID: id}, func(c *Card) bool { return c.CardID == id })
}

func (m *Machine) node(labels map[string]string) *Node {
	n := &Node{Number: number(labels["node"]), distanceTo: map[int]*float64{}}
	return findOrAdd(&m.Nodes, n, func(other *Node) bool { return other.Number == n.Number })
}

func (m *Machine) process(labels map[string]string) *Process {
	p := &Process{Vendor: labels["vendor"], PID: number(labels["pid"])}
	return findOrAdd(&m.Processes, p, func(other *Process) bool { return other.Vendor == p.Vendor && other.PID == p.PID })
}

// findOrAdd returns the element of all that is the same as one, which is added where there is none.
func findOrAdd[T any](all *[]*T, one *T, same func(*T) bool) *T {
	if at := slices.IndexFunc(*all, same); at >= 0 {
		return (*all)[at]
	}
	*all = append(*all, one)
	return one
}

// compareCards orders numbers by their size, and chips on cards (1.0) behind them.
func compareCards(a, b *Card) int {
	return cmp.Or(cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(len(a.Device), len(b.Device)), cmp.Compare(a.Device, b.Device))
}

// ParseDevices reads a list of cards, such as 0-3,6 or 0.1. The result reports whether a card is among them.
func ParseDevices(text string) (func(CardID) bool, error) {
	var devices []string
	for part := range strings.SplitSeq(text, ",") {
		device := strings.TrimSpace(part)
		numbers, err := cpulist.Parse(device, maxNumber)
		if device == "" || err != nil && strings.Contains(device, "-") {
			return nil, fmt.Errorf("%.40q is no list of cards such as 0-3", text)
		}
		if err != nil {
			devices = append(devices, device)
		}
		for _, n := range numbers {
			devices = append(devices, strconv.Itoa(n))
		}
	}
	return func(id CardID) bool { return slices.Contains(devices, id.Device) }, nil
}

// WithCards is the machine with only the wanted cards and the processes that hold one. It fails where there is none.
func (m *Machine) WithCards(wanted func(CardID) bool) (*Machine, error) {
	some := *m
	some.Cards = slices.DeleteFunc(slices.Clone(m.Cards), func(c *Card) bool { return !wanted(c.CardID) })
	if len(some.Cards) == 0 {
		return nil, fmt.Errorf("the exporter has %d cards, and none of these", len(m.Cards))
	}
	some.Processes = slices.DeleteFunc(slices.Clone(m.Processes), func(p *Process) bool {
		return !slices.ContainsFunc(p.Devices, func(device string) bool { return wanted(CardID{Vendor: p.Vendor, Device: device}) })
	})
	return &some, nil
}

// ServingCards reports whether a card serves a target of the exporter's probe.
func (m *Machine) ServingCards(target string) (func(CardID) bool, error) {
	cards, found := m.Targets[target]
	if !found {
		return nil, fmt.Errorf("the exporter's page does not say which cards serve %q", target)
	}
	return func(id CardID) bool { return slices.Contains(cards, id) }, nil
}

// places are the nodes that have CPUs and memory: some have memory alone, or only cards.
func (m *Machine) places() (numbers []int) {
	for _, n := range m.Nodes {
		if len(n.cpus) > 0 && n.Total != nil && *n.Total > 0 {
			numbers = append(numbers, n.Number)
		}
	}
	return numbers
}

// oneNode reports whether there is one node only to run on.
func (m *Machine) oneNode() bool {
	withCPUs := slices.DeleteFunc(slices.Clone(m.Nodes), func(n *Node) bool { return len(n.cpus) == 0 })
	return len(m.Nodes) == 1 || len(withCPUs) == 1
}

// nodesOfCards are the places that cards are attached to; the error says why they are not known.
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

// The verdicts that name no node.
const (
	onNode      = "on the node of its cards"
	anywhere    = "may run anywhere"
	otherNode   = "bound to another node"
	otherMemory = "memory on another node"
	notKnown    = "not known: "
)

// judge says where a process is in regard to the cards that it holds.
func (m *Machine) judge(p *Process) Verdict {
	if m.oneNode() { // wherever it is, it is there
		return Verdict{Text: onNode, Placed: new(true)}
	}
	cards, err := m.nodesOfCards(p.cards)
	var runs []int // nodes that it may run on
	for _, n := range m.Nodes {
		if overlap(p.cpus, n.cpus) {
			runs = append(runs, n.Number)
		}
	}
	switch {
	case p.cpus == nil:
		return Verdict{Text: notKnown + "the page does not say where it may run (can the exporter read its status?)"}
	case err != nil:
		return Verdict{Text: notKnown + err.Error()}
	case !overlap(runs, cards):
		return Verdict{Text: otherNode, Placed: new(false)}
	case contains(cards, runs) && len(p.mems) > 0 && !overlap(p.mems, cards):
		return Verdict{Text: otherMemory, Placed: new(false)}
	case contains(cards, runs) && len(cards) > 1:
		return Verdict{Text: "cards span " + nodeNames(cards), Placed: new(true)}
	case contains(cards, runs):
		return Verdict{Text: onNode, Placed: new(true)}
	case contains(runs, m.places()):
		return Verdict{Text: anywhere, Placed: new(false)}
	}
	return Verdict{Text: fmt.Sprintf("bound to %s, cards on %s", nodeNames(runs), nodeNames(cards)), Placed: new(false)}
}

func contains(all, some []int) bool {
	return !slices.ContainsFunc(some, func(n int) bool { return !slices.Contains(all, n) })
}

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
