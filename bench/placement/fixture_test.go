package placement

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// page is the exporter's page of a made-up machine.
type page []runlog.Series

func (p *page) add(name string, value float64, labels ...string) {
	s := runlog.Series{Name: "accelerator_" + name, Value: value, Labels: map[string]string{}}
	for i := 0; i < len(labels); i += 2 {
		s.Labels[labels[i]] = labels[i+1]
	}
	*p = append(*p, s)
}

// node adds a NUMA node; sizes are in MB, below 0 for none.
func (p *page) node(number int, cpus string, total, free float64, distances string) {
	n := strconv.Itoa(number)
	list, _ := parseSet(cpus)
	p.add("numa_cpus", float64(len(list)), "node", n)
	p.add("numa_cpu_list_info", 1, "node", n, "cpus", cpus)
	if total >= 0 {
		p.add("numa_memory_total_bytes", total*(1<<20), "node", n)
		p.add("numa_memory_free_bytes", free*(1<<20), "node", n)
	}
	for peer, d := range strings.Fields(distances) {
		v, _ := strconv.ParseFloat(d, 64)
		p.add("numa_distance", v, "node", n, "peer", strconv.Itoa(peer))
	}
}

// cards adds cards from number first on, one for each node, below 0 for one that is not
// known, each connected to all others by a link.
func (p *page) cards(vendor, link string, first int, nodes ...int) {
	for i, n := range nodes {
		device := strconv.Itoa(first + i)
		p.add("info", 1, "vendor", vendor, "device", device)
		if n >= 0 {
			p.add("numa_node", float64(n), "vendor", vendor, "device", device)
		}
		for j := range nodes {
			if i != j {
				p.add("link_info", 1, "vendor", vendor, "device", device, "peer", strconv.Itoa(first+j), "link", link)
			}
		}
	}
}

// holder is a process as it really is.
type holder struct {
	vendor, pid, name string
	devices           []string
	cpus, mems        string // where it may run and take memory; cpus empty for one that could not be read
}

// process adds what the exporter derives of a process, and its lists where they are
// told.
func (p *page) process(h holder, lists bool) {
	m := Read(*p) // the nodes and cards so far
	cpus, _ := parseSet(h.cpus)
	mems, _ := parseSet(h.mems)
	for _, device := range h.devices {
		labels := []string{"vendor", h.vendor, "device", device, "pid", h.pid}
		p.add("process_memory_used_bytes", 60032<<20, append(labels, "process", h.name)...)
		node := m.card(CardID{h.vendor, device}).Node
		if node == nil || len(cpus) == 0 {
			continue
		}
		here := 0
		for _, cpu := range cpus {
			if int(m.nodeOf[cpu]) == *node+1 {
				here++
			}
		}
		if m.node(*node).Count > 0 {
			p.add("process_near_cpus_ratio", float64(here)/float64(len(cpus)), labels...)
		}
		allowed := 0.0
		if mems.has(*node) {
			allowed = 1
		}
		p.add("process_near_memory_allowed", allowed, labels...)
	}
	if lists && len(cpus) > 0 {
		p.add("process_cpus_info", 1, "vendor", h.vendor, "pid", h.pid, "cpus", h.cpus, "mems", h.mems)
	}
}

// users is the machine of the users' document: 8 nodes, 4 cards on the first.
func users() page {
	var p page
	free := []float64{4950, 12524, 9299, 11394, 7189, 6740, 7317, 11067}
	size := []float64{64992, 65461, 65461, 65461, 65461, 65461, 65461, 64436}
	distances := []string{
		"10 22 22 22 28 22 28 28", "22 10 22 22 22 28 28 28", "22 22 10 22 28 28 28 22", "22 22 22 10 28 28 22 28",
		"28 22 28 28 10 22 22 22", "22 28 28 28 22 10 22 22", "28 28 28 22 22 22 10 22", "28 28 22 28 22 22 22 10",
	}
	for i := range 8 {
		p.node(i, fmt.Sprintf("%d-%d", 16*i, 16*i+15), size[i], free[i], distances[i])
	}
	p.cards("metax", "MX", 0, 0, 0, 0, 0)
	return p
}

// two is a machine of two nodes with 4 CPUs each, and a card on each where cards says so.
func two(cards ...int) page { return twoNodes(memory{32000, 20000}, memory{32000, 20000}, cards) }

// memory is how much a node has, and how much is free, in MB; below 0 it is not on the page.
type memory struct{ size, free float64 }

func twoNodes(first, second memory, cards []int) page {
	var p page
	p.node(0, "0-3", first.size, first.free, "10 21")
	p.node(1, "4-7", second.size, second.free, "21 10")
	p.cards("ascend", "HCCS", 0, cards...)
	return p
}

func one() page {
	var p page
	p.node(0, "0-7", 32000, 20000, "10")
	p.cards("metax", "MX", 0, 0)
	return p
}

// cardsOnly is one node with CPUs and memory, and one with neither.
func cardsOnly(cards ...int) page {
	var p page
	p.node(0, "0-7", 32000, 20000, "10 21")
	p.node(1, "", -1, -1, "21 10")
	p.cards("ascend", "HCCS", 0, cards...)
	return p
}

// memoryOnly is two nodes with CPUs and one without, which is memory alone.
func memoryOnly(cards ...int) page {
	var p page
	p.node(0, "0-3", 32000, 20000, "10 21 14")
	p.node(1, "4-7", 32000, 20000, "21 10 24")
	p.node(2, "", 64000, 63000, "14 24 10")
	p.cards("ascend", "HCCS", 0, cards...)
	return p
}

// noMemory is two nodes whose memory is not on the page.
func noMemory(cards ...int) page { return twoNodes(memory{-1, -1}, memory{-1, -1}, cards) }

// oneWithMemory is two nodes with CPUs, of which the second has no memory.
func oneWithMemory(cards ...int) page { return twoNodes(memory{32000, 20000}, memory{}, cards) }
