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

// node adds a NUMA node; sizes are in MB, below 0 for a node without memory.
func (p *page) node(number int, cpus string, total, free float64, distances string) {
	n := strconv.Itoa(number)
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

// cards adds cards from number 0 on, one for each node, below 0 for one that is not
// known.
func (p *page) cards(vendor string, nodes ...int) {
	for i, n := range nodes {
		device := strconv.Itoa(i)
		p.add("info", 1, "vendor", vendor, "device", device)
		if n >= 0 {
			p.add("numa_node", float64(n), "vendor", vendor, "device", device)
		}
	}
}

// holder is a process: its cards, and where it may run and take memory, cpus empty for
// one that could not be read.
type holder struct {
	vendor, pid, name string
	devices           []string
	cpus, mems        string
}

func (p page) with(h holder) page {
	p = append(page{}, p...)
	for _, device := range h.devices {
		p.add("process_memory_used_bytes", 60032<<20, "vendor", h.vendor, "device", device, "pid", h.pid, "process", h.name)
	}
	if h.cpus != "" {
		p.add("process_cpus_info", 1, "vendor", h.vendor, "pid", h.pid, "cpus", h.cpus, "mems", h.mems)
	}
	return p
}

// eight is the machine of the users' document: 8 nodes, 4 cards on the first.
func eight() page {
	var p page
	free := []float64{4950, 12524, 9299, 11394, 7189, 6740, 7317, 11067}
	for i := range 8 {
		p.node(i, fmt.Sprintf("%d-%d", 16*i, 16*i+15), 65461, free[i], "")
	}
	p.cards("metax", 0, 0, 0, 0)
	return p
}

// two is a machine of two nodes with 4 CPUs each, and cards on the nodes.
func two(cards ...int) page {
	var p page
	p.node(0, "0-3", 32000, 20000, "10 21")
	p.node(1, "4-7", 32000, 20000, "21 10")
	p.cards("ascend", cards...)
	return p
}

// one is a machine of one node with CPUs and memory, and one with neither.
func one(cards ...int) page {
	var p page
	p.node(0, "0-7", 32000, 20000, "10 21")
	p.node(1, "", -1, -1, "21 10")
	p.cards("ascend", cards...)
	return p
}

// memoryOnly is two nodes with CPUs and one without, which is memory alone.
func memoryOnly(cards ...int) page {
	p := two(cards...)
	p.node(2, "", 64000, 63000, "")
	return p
}

// withoutMemory is two nodes with CPUs, of which the second has no memory.
func withoutMemory(cards ...int) page {
	var p page
	p.node(0, "0-3", 32000, 20000, "")
	p.node(1, "4-7", -1, -1, "")
	p.cards("ascend", cards...)
	return p
}
