// Package placement says whether processes run on the NUMA node of the cards that they
// hold, and how to bind them there, from what accelerator_exporter shows. It is
// functions of samples: it reads no file and asks nobody.
package placement

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
)

// maxNumber is above the number of every CPU and node: what Linux can be built for.
const maxNumber = 8192

// Machine is what the exporter's page says of one host, each part in order.
type Machine struct {
	Nodes     []Node    `json:"nodes"`
	Cards     []Card    `json:"cards"`
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

	distanceTo map[string]float64
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
	r := reader{nodes: map[int]*Node{}, cards: map[CardID]*Card{}, processes: map[string]*Process{}, targets: map[string][]CardID{}}
	for _, s := range page {
		switch {
		case s.Labels["pid"] != "":
			r.readProcess(s)
		case s.Labels["node"] != "":
			r.readNode(s)
		case s.Labels["device"] != "":
			r.readCard(s)
		}
	}
	return r.machine()
}

// reader holds what of a page was read, by its labels.
type reader struct {
	nodes     map[int]*Node
	cards     map[CardID]*Card
	processes map[string]*Process // by vendor and PID
	targets   map[string][]CardID
}

// parseCPUs reads a list of CPUs or nodes, nil where it is none or was cut.
func parseCPUs(text string) []int {
	list, err := cpulist.Parse(text, maxNumber)
	if err != nil {
		return nil
	}
	return list
}

func (r *reader) readNode(s runlog.Series) {
	number, err := strconv.Atoi(s.Labels["node"])
	if err != nil {
		return
	}
	n := r.nodes[number]
	if n == nil {
		n = &Node{Number: number, distanceTo: map[string]float64{}}
		r.nodes[number] = n
	}
	switch s.Name {
	case "accelerator_numa_cpu_list_info":
		n.CPUs = parseCPUs(s.Labels["cpus"])
	case "accelerator_numa_memory_total_bytes":
		n.Total = new(int64(s.Value))
	case "accelerator_numa_memory_free_bytes":
		n.Free = new(int64(s.Value))
	case "accelerator_numa_distance":
		n.distanceTo[s.Labels["peer"]] = s.Value
	}
}

// card is the card that labels name.
func (r *reader) card(labels map[string]string) *Card {
	id := CardID{Vendor: labels["vendor"], Device: labels["device"]}
	if r.cards[id] == nil {
		r.cards[id] = &Card{CardID: id}
	}
	return r.cards[id]
}

func (r *reader) readCard(s runlog.Series) {
	c := r.card(s.Labels)
	switch s.Name {
	case "accelerator_numa_node":
		c.Node = new(int(s.Value))
	case "accelerator_probe_target_device_info":
		name := s.Labels["target"]
		r.targets[name] = append(r.targets[name], c.CardID)
	}
}

func (r *reader) readProcess(s runlog.Series) {
	pid, err := strconv.Atoi(s.Labels["pid"])
	if err != nil {
		return
	}
	vendor := s.Labels["vendor"]
	key := fmt.Sprintf("%s %8d", vendor, pid)
	p := r.processes[key]
	if p == nil {
		p = &Process{Vendor: vendor, PID: pid}
		r.processes[key] = p
	}
	switch s.Name {
	case "accelerator_process_memory_used_bytes":
		p.Name = s.Labels["process"]
		p.cards = append(p.cards, r.card(s.Labels))
	case "accelerator_process_cpus_info":
		p.cpus, p.mems = parseCPUs(s.Labels["cpus"]), parseCPUs(s.Labels["mems"])
	}
}

// machine is what was read, in order: one page always gives one text.
func (r *reader) machine() *Machine {
	m := &Machine{Nodes: []Node{}, Cards: []Card{}, Processes: []Process{}, Targets: r.targets}
	numbers := slices.Sorted(maps.Keys(r.nodes))
	for _, number := range numbers {
		n := r.nodes[number]
		for _, peer := range numbers {
			var distance *float64
			if d, known := n.distanceTo[strconv.Itoa(peer)]; known {
				distance = &d
			}
			n.Distances = append(n.Distances, distance)
		}
		m.Nodes = append(m.Nodes, *n)
	}
	for _, id := range slices.SortedFunc(maps.Keys(r.cards), compareCards) {
		m.Cards = append(m.Cards, *r.cards[id])
	}
	for _, key := range slices.Sorted(maps.Keys(r.processes)) {
		p := r.processes[key]
		slices.SortFunc(p.cards, func(a, b *Card) int { return compareCards(a.CardID, b.CardID) })
		for _, c := range p.cards {
			p.Devices = append(p.Devices, c.Device)
		}
		if len(p.Devices) > 0 { // else it holds nothing
			m.Processes = append(m.Processes, *p)
		}
	}
	return m
}

// compareCards orders numbers by their size, and chips on cards (1.0) behind them.
func compareCards(a, b CardID) int {
	return cmp.Or(cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(len(a.Device), len(b.Device)), cmp.Compare(a.Device, b.Device))
}

// node is the node of a number, nil where the page does not have it.
func (m *Machine) node(number int) *Node {
	at := slices.IndexFunc(m.Nodes, func(n Node) bool { return n.Number == number })
	if at < 0 {
		return nil
	}
	return &m.Nodes[at]
}

// oneNode reports whether there is one place only to run and to take memory from. Some
// machines have further nodes with nothing on them but cards.
func (m *Machine) oneNode() bool {
	return len(m.Nodes) == 1 || len(m.nodesWithCPUs()) == 1 && len(m.nodesWithMemory()) < 2
}

// nodesWithCPUs are the nodes that have CPUs, or may have.
func (m *Machine) nodesWithCPUs() []int {
	var numbers []int
	for _, n := range m.Nodes {
		if n.CPUs == nil || len(n.CPUs) > 0 {
			numbers = append(numbers, n.Number)
		}
	}
	return numbers
}

func (m *Machine) nodesWithMemory() []int {
	var numbers []int
	for _, n := range m.Nodes {
		if n.Total != nil && *n.Total > 0 {
			numbers = append(numbers, n.Number)
		}
	}
	return numbers
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
