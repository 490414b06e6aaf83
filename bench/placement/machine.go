// Package placement says whether processes run on the NUMA node of the cards that they
// hold, and how to bind them there, from what accelerator_exporter shows. It is
// functions of samples: it reads no file and asks nobody.
package placement

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	// maxNodes is above the number of every node: what Linux can be built for.
	maxNodes = 1024
	// maxCards and maxProcesses are kept of a page, far more than an exporter shows.
	maxCards, maxProcesses = 1024, 4096
)

// Machine is what the exporter's page says of one host, each part in order.
type Machine struct {
	Nodes     []Node
	Cards     []Card
	Links     []Link
	Processes []Process
	// Targets are the cards behind each target of the exporter's probe.
	Targets map[string][]CardID
	// measured is true where the exporter tells where processes may run at all.
	measured bool
	cards    map[CardID]Card // by identity
	// nodeOf is the node of each CPU plus one, 0 where no node's list has it.
	nodeOf []int16
}

// Node is a NUMA node.
type Node struct {
	Number int
	// CPUs is nil where the page has no list of them; Count is how many there are,
	// below 0 where that is not known either.
	CPUs  set
	Count int
	// Total and Free are bytes of memory, nil where the page has none.
	Total, Free *float64
	// Distances are relative costs by node, 10 being local.
	Distances map[int]float64
}

// CardID is the identity of a card.
type CardID struct{ Vendor, Device string }

func (c CardID) String() string { return c.Vendor + " " + c.Device }

// Card is a card and the node that it is attached to, nil where the page does not say.
type Card struct {
	CardID
	Node *int
	// Conflict is true where the vendor's tool and the PCI device name different nodes.
	Conflict bool
}

// Link is how a card is connected to a peer: another card of its vendor, or a network
// adapter.
type Link struct {
	Card CardID
	Peer string
	Kind string
}

// Process is a process that holds cards.
type Process struct {
	Vendor string
	PID    int
	Name   string
	Cards  []Held
	// CPUs and Mems are where it may run and take memory, as the kernel lists them,
	// empty where the page does not say.
	CPUs, Mems string
	// Bytes is the memory that it has on each node, nil where the exporter does not
	// tell (--collector.numa-maps).
	Bytes map[int]float64
}

// Held is a card as one process sees it.
type Held struct {
	CardID
	// CPUs is the share of the process's CPUs that are on the card's node, 0 to 1, and
	// Memory whether it may take memory there; nil where the page does not say.
	CPUs   *float64
	Memory *bool
}

// Read makes a machine of the samples of one page. What has no name, no number or an
// impossible value is left out; of two samples of one thing the first holds.
func Read(page []runlog.Series) *Machine {
	r := &reader{nodes: map[int]*Node{}, listed: map[int]bool{}, cards: map[CardID]*Card{}, processes: map[processID]*Process{}}
	r.machine.Targets, r.machine.nodeOf = map[string][]CardID{}, make([]int16, maxNumber)
	for _, s := range page {
		if math.IsNaN(s.Value) || math.IsInf(s.Value, 0) {
			continue
		}
		r.ofNode(s)
		r.ofCard(s)
		r.ofProcess(s)
	}
	return r.done()
}

type processID struct {
	vendor string
	pid    int
}

// reader gathers what samples say.
type reader struct {
	machine   Machine
	nodes     map[int]*Node
	listed    map[int]bool // nodes whose list of CPUs was read, for good or not
	cards     map[CardID]*Card
	processes map[processID]*Process
}

func (r *reader) node(label string) *Node {
	number, err := parseNumber(label)
	if err != nil || number >= maxNodes {
		return nil
	}
	n := r.nodes[number]
	if n == nil {
		n = &Node{Number: number, Count: -1, Distances: map[int]float64{}}
		r.nodes[number] = n
	}
	return n
}

func (r *reader) ofNode(s runlog.Series) {
	var into func(n *Node)
	switch s.Name {
	case "accelerator_numa_cpu_list_info":
		r.machine.measured = true // it came with what is told of processes
		into = func(n *Node) { r.ofCPUs(n, s.Labels["cpus"]) }
	case "accelerator_numa_cpus":
		into = func(n *Node) {
			if whole(s.Value) && s.Value < maxNumber && n.Count < 0 {
				n.Count = int(s.Value)
			}
		}
	case "accelerator_numa_memory_total_bytes":
		into = func(n *Node) { setOnce(&n.Total, s.Value) }
	case "accelerator_numa_memory_free_bytes":
		into = func(n *Node) { setOnce(&n.Free, s.Value) }
	case "accelerator_numa_distance":
		into = func(n *Node) {
			peer, err := parseNumber(s.Labels["peer"])
			if _, known := n.Distances[peer]; err == nil && !known && s.Value > 0 {
				n.Distances[peer] = s.Value
			}
		}
	default:
		return
	}
	if n := r.node(s.Labels["node"]); n != nil {
		into(n)
	}
}

// ofCPUs gives a node its list of CPUs, unless another node has one of them: a CPU is on
// one node.
func (r *reader) ofCPUs(n *Node, text string) {
	if r.listed[n.Number] {
		return
	}
	r.listed[n.Number] = true
	list, err := parseSet(text)
	if err != nil || slices.ContainsFunc(list, func(cpu int) bool { return r.machine.nodeOf[cpu] != 0 }) {
		return
	}
	n.CPUs = list
	for _, cpu := range list {
		r.machine.nodeOf[cpu] = int16(n.Number + 1)
	}
}

// setOnce sets what is not known yet to a value that a memory can have.
func setOnce(into **float64, value float64) {
	if *into == nil && value >= 0 {
		*into = &value
	}
}

func whole(v float64) bool { return v >= 0 && v == math.Trunc(v) }

func (r *reader) card(labels map[string]string) *Card {
	id := CardID{labels["vendor"], labels["device"]}
	if id.Vendor == "" || id.Device == "" {
		return nil
	}
	c := r.cards[id]
	if c == nil {
		if len(r.cards) == maxCards {
			return nil
		}
		c = &Card{CardID: id}
		r.cards[id] = c
	}
	return c
}

func (r *reader) ofCard(s runlog.Series) {
	switch s.Name {
	case "accelerator_info":
		r.card(s.Labels)
	case "accelerator_numa_node":
		if c := r.card(s.Labels); c != nil && c.Node == nil && whole(s.Value) && s.Value < maxNumber {
			c.Node = new(int(s.Value))
		}
	case "accelerator_numa_node_conflict":
		if c := r.card(s.Labels); c != nil {
			c.Conflict = s.Value == 1
		}
	case "accelerator_link_info":
		if c := r.card(s.Labels); c != nil && s.Labels["peer"] != "" && s.Labels["link"] != "" {
			r.machine.Links = append(r.machine.Links, Link{c.CardID, s.Labels["peer"], s.Labels["link"]})
		}
	case "accelerator_probe_target_device_info":
		if c, name := r.card(s.Labels), s.Labels["target"]; c != nil && name != "" {
			r.machine.Targets[name] = append(r.machine.Targets[name], c.CardID)
		}
	}
}

func (r *reader) process(labels map[string]string) *Process {
	pid, err := strconv.ParseUint(labels["pid"], 10, 31)
	if err != nil || labels["vendor"] == "" {
		return nil
	}
	id := processID{labels["vendor"], int(pid)}
	p := r.processes[id]
	if p == nil {
		if len(r.processes) == maxProcesses {
			return nil
		}
		p = &Process{Vendor: id.vendor, PID: id.pid}
		r.processes[id] = p
	}
	return p
}

// held is a card that a process holds, which makes it one of the host's.
func (r *reader) held(labels map[string]string) *Held {
	c, p := r.card(labels), r.process(labels)
	if c == nil || p == nil {
		return nil
	}
	at := slices.IndexFunc(p.Cards, func(h Held) bool { return h.CardID == c.CardID })
	if at < 0 {
		at = len(p.Cards)
		p.Cards = append(p.Cards, Held{CardID: c.CardID})
	}
	return &p.Cards[at]
}

func (r *reader) ofProcess(s runlog.Series) {
	switch s.Name {
	case "accelerator_process_memory_used_bytes":
		if r.held(s.Labels) != nil {
			p := r.process(s.Labels)
			p.Name = cmp.Or(p.Name, s.Labels["process"])
		}
	case "accelerator_process_near_cpus_ratio":
		r.machine.measured = true
		if h := r.held(s.Labels); h != nil && h.CPUs == nil && s.Value >= 0 && s.Value <= 1 {
			h.CPUs = new(s.Value)
		}
	case "accelerator_process_near_memory_allowed":
		r.machine.measured = true
		if h := r.held(s.Labels); h != nil && h.Memory == nil && (s.Value == 0 || s.Value == 1) {
			h.Memory = new(s.Value == 1)
		}
	case "accelerator_process_cpus_info":
		r.machine.measured = true
		if p := r.process(s.Labels); p != nil {
			p.CPUs, p.Mems = cmp.Or(p.CPUs, s.Labels["cpus"]), cmp.Or(p.Mems, s.Labels["mems"])
		}
	case "accelerator_process_placement_unknown":
		r.machine.measured = true
	case "accelerator_process_node_memory_bytes":
		node, err := parseNumber(s.Labels["node"])
		p := r.process(s.Labels)
		if err != nil || p == nil || s.Value < 0 {
			return
		}
		if p.Bytes == nil {
			p.Bytes = map[int]float64{}
		}
		p.Bytes[node] = s.Value
	}
}

// done orders all, so that one page always gives one text.
func (r *reader) done() *Machine {
	m := &r.machine
	for _, n := range r.nodes {
		if n.CPUs != nil {
			n.Count = len(n.CPUs)
		}
		m.Nodes = append(m.Nodes, *n)
	}
	slices.SortFunc(m.Nodes, func(a, b Node) int { return cmp.Compare(a.Number, b.Number) })
	m.cards = map[CardID]Card{}
	for _, c := range r.cards {
		m.cards[c.CardID] = *c
		m.Cards = append(m.Cards, *c)
	}
	slices.SortFunc(m.Cards, func(a, b Card) int { return compareCards(a.CardID, b.CardID) })
	for _, p := range r.processes {
		if len(p.Cards) == 0 {
			continue // lists alone are of a process that holds nothing
		}
		slices.SortFunc(p.Cards, func(a, b Held) int { return compareCards(a.CardID, b.CardID) })
		m.Processes = append(m.Processes, *p)
	}
	slices.SortFunc(m.Processes, func(a, b Process) int {
		return cmp.Or(cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(a.PID, b.PID))
	})
	for name, cards := range m.Targets {
		slices.SortFunc(cards, compareCards)
		m.Targets[name] = slices.Compact(cards)
	}
	return m
}

// compareCards orders by vendor, and devices by their number where they have one.
func compareCards(a, b CardID) int {
	return cmp.Or(cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(deviceNumber(a.Device), deviceNumber(b.Device)), cmp.Compare(a.Device, b.Device))
}

// deviceNumber is the number of a device, or of a chip on a card (1.0), and infinite for
// any other name.
func deviceNumber(device string) float64 {
	n, err := strconv.ParseFloat(device, 64)
	if err != nil || math.IsNaN(n) {
		return math.Inf(1)
	}
	return n
}
