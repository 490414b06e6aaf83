package host

import (
	"errors"
	"slices"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
)

// ParseAllowed reads the CPUs, offline ones too, and the memory nodes that a process may use
// from its status file. Both lists are ascending and not empty.
func ParseAllowed(status string) (cpus, nodes []int, err error) {
	var err1, err2 error
	for line := range strings.Lines(status) {
		key, list, _ := strings.Cut(line, ":")
		switch key {
		case "Cpus_allowed_list":
			cpus, err1 = cpulist.Parse(list, maxID)
		case "Mems_allowed_list":
			nodes, err2 = cpulist.Parse(list, maxID)
		}
	}
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, err
	}
	if len(cpus) == 0 || len(nodes) == 0 {
		return nil, nil, errors.New("no Cpus_allowed_list or no Mems_allowed_list")
	}
	return cpus, nodes, nil
}

// AddTo adds to a snapshot the NUMA nodes of its cards, and where its processes run.
func (ps *Placements) AddTo(s *model.Snapshot) {
	ps.numa.Locate(ps.sysfs, s.Devices, &s.Warnings)
	s.Placements = ps.join(s.Devices, s.Processes)
	if !ps.withPlacement {
		return
	}
	unread := map[string]bool{}
	for _, p := range s.Processes {
		if len(ps.processes[p.PID].nodes) == 0 {
			unread[p.PID] = true
		}
	}
	n := len(unread)
	s.UnreadProcesses = &n
	if ps.Err != nil && n > 0 && !ps.withContainers { // else the collector containers says so
		s.Warnings.Add("where the processes may run is not known: %v", ps.Err)
	}
	s.Warnings.Join(ps.memory.warnings)
}

// join returns where each process that was read runs, in the order of the processes.
// Offline CPUs do not count. Where the CPUs of a node could not be read, nothing is said of
// CPUs, since a share would be of too few.
func (ps *Placements) join(devices []model.Device, processes []model.Process) []model.Placement {
	nodeOf := map[string]Node{}
	for _, d := range devices {
		i := slices.IndexFunc(ps.numa.Nodes, func(n Node) bool { return d.NUMANode != nil && n.ID == *d.NUMANode })
		if i >= 0 {
			nodeOf[d.ID] = ps.numa.Nodes[i]
		}
	}
	online := ps.numa.online()
	var all []model.Placement
	index := map[string]int{}
	for _, p := range processes {
		found, ok := ps.processes[p.PID]
		if !ok {
			continue
		}
		cpus := intersect(found.cpus, online)
		i, again := index[p.PID]
		if !again {
			i = len(all)
			index[p.PID] = i
			all = append(all, model.Placement{
				PID: p.PID, Container: found.container, CPUs: cpulist.Format(cpus), Nodes: cpulist.Format(found.nodes),
				NodeBytes: ps.memory.bytes[p.PID],
			})
		}
		if node, ok := nodeOf[p.Device]; ok && len(found.nodes) > 0 {
			all[i].Near = append(all[i].Near, node.nearness(p.Device, cpus, found.nodes))
		}
	}
	return all
}

// online are the CPUs of all nodes, ascending: none where one node's could not be read.
func (n NUMA) online() []int {
	var all []int
	for _, node := range n.Nodes {
		if node.CPUs == nil {
			return nil
		}
		all = append(all, node.CPUs...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// nearness is how near a process that may use these CPUs and nodes is to a card on node n.
func (n Node) nearness(device string, cpus, nodes []int) model.Nearness {
	near := model.Nearness{Device: device}
	if len(cpus) > 0 && len(n.CPUs) > 0 {
		ratio := float64(len(intersect(cpus, n.CPUs))) / float64(len(cpus))
		near.CPUs = &ratio
	}
	// The kernel lists nodes with memory only, so a node without is never allowed.
	_, isAllowed := slices.BinarySearch(nodes, n.ID)
	if _, hasMemory := n.Readings.Get("numa_memory_total_bytes"); hasMemory || isAllowed {
		near.Memory = &isAllowed
	}
	return near
}

// intersect returns the numbers of a that are in b too; b is ascending.
func intersect(a, b []int) []int {
	var common []int
	for _, n := range a {
		if _, ok := slices.BinarySearch(b, n); ok {
			common = append(common, n)
		}
	}
	return common
}
