package numa

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
)

// Allowed is where a process may run and take memory, as its status file in procfs
// tells. Both lists are ascending and not empty.
type Allowed struct {
	CPUs  []int // also those that are offline
	Nodes []int
}

// ParseAllowed reads the lists of a process's status file. A list that is missing, empty,
// twice there or cut is an error: half of one would be another answer.
func ParseAllowed(status string) (Allowed, error) {
	var a Allowed
	for line := range strings.Lines(status) {
		key, list, _ := strings.Cut(line, ":")
		var into *[]int
		switch key {
		case "Cpus_allowed_list":
			into = &a.CPUs
		case "Mems_allowed_list":
			into = &a.Nodes
		default:
			continue
		}
		if *into != nil || !strings.HasSuffix(line, "\n") {
			return Allowed{}, fmt.Errorf("%s is twice there or cut", key)
		}
		var err error
		if *into, err = cpulist.Parse(list, maxID); err != nil {
			return Allowed{}, fmt.Errorf("%s: %w", key, err)
		}
		if len(*into) == 0 {
			return Allowed{}, fmt.Errorf("%s is empty", key)
		}
	}
	if a.CPUs == nil || a.Nodes == nil {
		return Allowed{}, errors.New("no Cpus_allowed_list or no Mems_allowed_list")
	}
	return a, nil
}

// Place says of each process on a card what it may use of the machine and of the nodes of
// its cards, in the order of the processes. allowed is by PID; who is not in there is left
// out. Offline CPUs do not count. Where the CPUs of a node could not be read, nothing is
// told of CPUs, since a share would be of too few.
func (s Snapshot) Place(devices []model.Device, processes []model.Process, allowed map[string]Allowed) []model.Placement {
	nodeOf := make(map[string]*Node, len(devices))
	for _, d := range devices {
		if i := slices.IndexFunc(s.Nodes, func(n Node) bool { return d.NUMANode != nil && n.ID == *d.NUMANode }); i >= 0 {
			nodeOf[d.ID] = &s.Nodes[i]
		}
	}
	online := s.online()
	var all []model.Placement
	index := make(map[string]int, len(processes))
	usable := make(map[string][]int, len(processes))
	for _, p := range processes {
		a, ok := allowed[p.PID]
		if !ok {
			continue
		}
		if _, again := index[p.PID]; !again {
			index[p.PID] = len(all)
			usable[p.PID] = both(a.CPUs, online)
			all = append(all, model.Placement{PID: p.PID, CPUs: cpulist.Format(usable[p.PID]), Nodes: cpulist.Format(a.Nodes)})
		}
		if node := nodeOf[p.Device]; node != nil {
			near := &all[index[p.PID]].Near
			*near = append(*near, node.nearness(p.Device, usable[p.PID], a.Nodes))
		}
	}
	return all
}

// online are the CPUs of all nodes, ascending: none where one node's could not be read.
func (s Snapshot) online() []int {
	var all []int
	for _, n := range s.Nodes {
		if n.CPUs == nil {
			return nil
		}
		all = append(all, n.CPUs...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// nearness is how near a process that may use these CPUs and nodes is to a card on node n.
func (n *Node) nearness(device string, cpus, nodes []int) model.Nearness {
	near := model.Nearness{Device: device}
	if len(cpus) > 0 && len(n.CPUs) > 0 {
		ratio := float64(len(both(cpus, n.CPUs))) / float64(len(cpus))
		near.CPUs = &ratio
	}
	// The kernel lists nodes with memory only, so a node without is never allowed.
	_, isAllowed := slices.BinarySearch(nodes, n.ID)
	if _, hasMemory := n.Readings.Get("numa_memory_total_bytes"); hasMemory || isAllowed {
		near.Memory = &isAllowed
	}
	return near
}

// both are the numbers in two ascending lists.
func both(a, b []int) []int {
	var common []int
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			common = append(common, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return common
}
