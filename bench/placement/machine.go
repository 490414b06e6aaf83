// Package placement says whether processes run on the NUMA node of the cards that they
// hold, and how to bind them there, from what accelerator_exporter shows. It is
// functions of samples: it reads no file and asks nobody.
package placement

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
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

	distanceTo map[int]float64
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

	cards      []Card          // those of Devices
	cpus, mems []int           // where it may run and take memory, nil where that is not known
	bytes      map[int]float64 // memory by node, empty without --collector.numa-maps
}

// Verdict says where a process is in regard to its cards.
type Verdict struct {
	Text   string `json:"verdict"`
	Placed *bool  `json:"placed"` // whether it is where it should be, nil where that is not known
}

// Read makes a machine of the samples of one page. What has no number or an impossible
// value is left out.
func Read(page []runlog.Series) *Machine {
	m := &Machine{Nodes: []Node{}, Cards: []Card{}, Processes: []Process{}, Targets: map[string][]CardID{}}
	for _, s := range page {
		if math.IsNaN(s.Value) || s.Value < 0 {
			continue
		}
		switch {
		case s.Labels["pid"] != "":
			m.readProcess(s)
		case s.Labels["node"] != "":
			m.readNode(s)
		case s.Labels["device"] != "":
			m.readCard(s)
		}
	}
	m.order()
	return m
}

func parseNumber(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n < maxNumber
}

// parseCPUs reads a list of CPUs or nodes, nil where it is none or was cut.
func parseCPUs(text string) []int {
	list, err := cpulist.Parse(text, maxNumber)
	if err != nil {
		return nil
	}
	return list
}

func (m *Machine) readNode(s runlog.Series) {
	number, ok := parseNumber(s.Labels["node"])
	if !ok {
		return
	}
	n := m.node(number)
	if n == nil {
		m.Nodes = append(m.Nodes, Node{Number: number, distanceTo: map[int]float64{}})
		n = m.node(number)
	}
	switch s.Name {
	case "accelerator_numa_cpu_list_info":
		n.CPUs = parseCPUs(s.Labels["cpus"])
	case "accelerator_numa_memory_total_bytes":
		n.Total = new(int64(s.Value))
	case "accelerator_numa_memory_free_bytes":
		n.Free = new(int64(s.Value))
	case "accelerator_numa_distance":
		if peer, ok := parseNumber(s.Labels["peer"]); ok {
			n.distanceTo[peer] = s.Value
		}
	}
}

// card is the card that labels name, a new one where it was not known.
func (m *Machine) card(labels map[string]string) *Card {
	id := CardID{Vendor: openai.Excerpt(labels["vendor"]), Device: openai.Excerpt(labels["device"])}
	at := slices.IndexFunc(m.Cards, func(c Card) bool { return c.CardID == id })
	if at < 0 {
		at = len(m.Cards)
		m.Cards = append(m.Cards, Card{CardID: id})
	}
	return &m.Cards[at]
}

func (m *Machine) readCard(s runlog.Series) {
	c := m.card(s.Labels)
	switch s.Name {
	case "accelerator_numa_node":
		if s.Value < maxNumber {
			c.Node = new(int(s.Value))
		}
	case "accelerator_probe_target_device_info":
		name := s.Labels["target"]
		m.Targets[name] = append(m.Targets[name], c.CardID)
	}
}

func (m *Machine) readProcess(s runlog.Series) {
	pid, err := strconv.Atoi(s.Labels["pid"])
	if err != nil {
		return
	}
	vendor := openai.Excerpt(s.Labels["vendor"])
	at := slices.IndexFunc(m.Processes, func(p Process) bool { return p.Vendor == vendor && p.PID == pid })
	if at < 0 {
		at = len(m.Processes)
		m.Processes = append(m.Processes, Process{Vendor: vendor, PID: pid, bytes: map[int]float64{}})
	}
	p := &m.Processes[at]
	switch s.Name {
	case "accelerator_process_memory_used_bytes":
		p.Name = openai.Excerpt(s.Labels["process"])
		p.Devices = append(p.Devices, m.card(s.Labels).Device)
	case "accelerator_process_cpus_info":
		p.cpus, p.mems = parseCPUs(s.Labels["cpus"]), parseCPUs(s.Labels["mems"])
	case "accelerator_process_node_memory_bytes":
		if node, ok := parseNumber(s.Labels["node"]); ok {
			p.bytes[node] = s.Value
		}
	}
}

// order makes one page always give one text, and joins what came in any order.
func (m *Machine) order() {
	slices.SortFunc(m.Nodes, func(a, b Node) int { return cmp.Compare(a.Number, b.Number) })
	for i := range m.Nodes {
		for _, peer := range m.Nodes {
			var distance *float64
			if d, known := m.Nodes[i].distanceTo[peer.Number]; known {
				distance = &d
			}
			m.Nodes[i].Distances = append(m.Nodes[i].Distances, distance)
		}
	}
	slices.SortFunc(m.Cards, func(a, b Card) int {
		return cmp.Or(cmp.Compare(a.Vendor, b.Vendor), compareDevices(a.Device, b.Device))
	})
	// Lists alone are of a process that holds nothing.
	m.Processes = slices.DeleteFunc(m.Processes, func(p Process) bool { return len(p.Devices) == 0 })
	for i := range m.Processes {
		p := &m.Processes[i]
		slices.SortFunc(p.Devices, compareDevices)
		p.Devices = slices.Compact(p.Devices)
		for _, device := range p.Devices {
			p.cards = append(p.cards, *m.card(map[string]string{"vendor": p.Vendor, "device": device}))
		}
	}
	slices.SortFunc(m.Processes, func(a, b Process) int {
		return cmp.Or(cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(a.PID, b.PID))
	})
}

// compareDevices orders numbers by their size, and chips on cards (1.0) behind them.
func compareDevices(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
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
