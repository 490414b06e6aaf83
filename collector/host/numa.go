// Package host reads what the kernel of the host shows: its NUMA nodes, and where the
// processes that hold cards run. The nodes come from sysfs, processes from procfs, and the
// names of pods from the kubelet's log folders.
package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

const (
	nodeDir = "devices/system/node"
	pciDir  = "bus/pci/devices"

	// maxID bounds the numbers of CPUs and nodes: above the kernel's own limits.
	maxID = 1 << 16
)

// Node is one NUMA node.
type Node struct {
	ID int
	// CPUs are the node's online CPUs, ascending: nil where they could not be read,
	// empty and not nil for a node without CPUs.
	CPUs []int
	// Readings are those of its files; of memory nothing for a node without any.
	Readings model.Readings
}

// NUMA is the machine's NUMA nodes at one instant.
type NUMA struct {
	Nodes    []Node // by ID
	Warnings model.Warnings
}

// ReadNUMA reads all nodes below sysfs, usually /sys. The error is a *failure.Error:
// not_found when there is no such folder, permission when it may not be read, unsupported
// when it has no NUMA nodes. A file that cannot be read costs its own readings only and is
// a warning.
func ReadNUMA(sysfs string) (NUMA, error) {
	ids, err := nodeIDs(sysfs)
	reason := failure.Unsupported
	switch _, missing := os.Stat(sysfs); {
	case missing != nil:
		reason, err = failure.NotFound, missing
	case errors.Is(err, fs.ErrPermission):
		reason = failure.Permission
	case err == nil && len(ids) == 0:
		err = errors.New("the kernel shows none in " + nodeDir)
	}
	if err != nil {
		return NUMA{}, failure.Errorf(reason, "reading NUMA nodes below %q: %w", sysfs, failure.Cause(err))
	}
	var n NUMA
	for _, id := range ids {
		n.Nodes = append(n.Nodes, readNode(sysfs, id, ids, &n.Warnings))
	}
	return n, nil
}

// nodeIDs returns the numbers of the nodes that are there, ascending. They may
// have holes.
func nodeIDs(sysfs string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Join(sysfs, nodeDir))
	var ids []int
	for _, e := range entries {
		digits, isNode := strings.CutPrefix(e.Name(), "node")
		if id, ok := parseID(digits); isNode && ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, err
}

// readNode reads one node's files. all are the nodes that are there: the kernel
// prints distances in their order, without their numbers.
func readNode(sysfs string, id int, all []int, w *model.Warnings) Node {
	n := Node{ID: id}
	for _, file := range []struct {
		name  string
		parse func(text string) (model.Readings, error)
	}{
		{"cpulist", func(text string) (_ model.Readings, err error) {
			if n.CPUs, err = cpulist.Parse(text, maxID); err != nil {
				return nil, err
			}
			return model.Readings{{Metric: "numa_cpus", Value: float64(len(n.CPUs))}}, nil
		}},
		{"meminfo", parseMeminfo},
		{"distance", func(text string) (model.Readings, error) { return parseDistances(text, all) }},
		{"numastat", parseNumastat},
	} {
		text, err := os.ReadFile(filepath.Join(sysfs, nodeDir, "node"+strconv.Itoa(id), file.name))
		var readings model.Readings
		if err == nil {
			readings, err = file.parse(string(text))
		}
		if err != nil {
			w.Add("node%d: reading %s: %v", id, file.name, failure.Cause(err))
		}
		n.Readings = append(n.Readings, readings...)
	}
	return n
}

// Locate fills in the NUMA nodes that the tool's topology does not name: the PCI device's,
// else the one node that holds all CPUs the card is near to. Where both name one and disagree, a
// warning is added.
func (n NUMA) Locate(sysfs string, devices []model.Device, w *model.Warnings) {
	for i := range devices {
		d := &devices[i]
		node, ok := pciNode(sysfs, d.BusID)
		switch {
		case ok && d.NUMANode != nil:
			conflict := node != *d.NUMANode
			d.NUMAConflict = &conflict
			if conflict {
				w.Add("card %s is on NUMA node %d by the tool's topology, which is taken, and on node %d by its PCI device", d.ID, *d.NUMANode, node)
			}
			continue
		case d.NUMANode != nil:
			continue
		case !ok:
			node, ok = n.nodeOfCPUs(d.CPUAffinity)
		}
		if ok {
			d.NUMANode = &node
		}
	}
}

// nodeOfCPUs returns the one node that holds every CPU of a list such as
// 0-31,64-95, false when there is none or more than one.
func (n NUMA) nodeOfCPUs(list string) (int, bool) {
	cpus, err := cpulist.Parse(list, maxID)
	if err != nil || len(cpus) == 0 {
		return 0, false
	}
	found, id := 0, 0
	for _, node := range n.Nodes {
		if len(intersect(cpus, node.CPUs)) == len(cpus) {
			found, id = found+1, node.ID
		}
	}
	return id, found == 1
}

// pciAddress matches the address of a PCI device in lower case, and captures its name in
// sysfs: the domain has no more digits than it needs, four at least.
var pciAddress = regexp.MustCompile(`^0*([0-9a-f]{4,}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7])$`)

// pciNode returns the NUMA node that sysfs has for the PCI device with the
// given address, such as 0000:3b:00.0 in either case; false when the kernel
// does not know it, or the address is none.
func pciNode(sysfs, busID string) (int, bool) {
	name := pciAddress.FindStringSubmatch(strings.ToLower(busID))
	if name == nil {
		return 0, false // also for what could leave the folder of devices
	}
	text, err := os.ReadFile(filepath.Join(sysfs, pciDir, name[1], "numa_node"))
	if err != nil {
		return 0, false
	}
	return parseID(strings.TrimSpace(string(text))) // -1 is "unknown"
}

func parseID(s string) (int, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return int(n), err == nil
}

// parseMeminfo reads the memory of a node, in bytes; nothing for a node without any. A line
// looks like
//
//	Node 0 MemTotal:       65536000 kB
func parseMeminfo(text string) (model.Readings, error) {
	bytes := map[string]float64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 5 || f[0] != "Node" || f[4] != "kB" {
			continue
		}
		n, err := strconv.ParseUint(f[3], 10, 53) // which a float64 holds exactly
		if err != nil {
			return nil, fmt.Errorf("%.60q is no size", f[2]+" "+f[3])
		}
		bytes[f[2]] = float64(n) * 1024
	}
	total, hasTotal := bytes["MemTotal:"]
	free, hasFree := bytes["MemFree:"]
	switch {
	case !hasTotal || !hasFree || free > total:
		return nil, errors.New("no MemTotal with MemFree")
	case total == 0:
		return nil, nil
	}
	return model.Readings{
		{Metric: "numa_memory_total_bytes", Value: total},
		{Metric: "numa_memory_free_bytes", Value: free},
		{Metric: "numa_memory_used_bytes", Value: total - free},
	}, nil
}

// parseDistances reads one figure for each of the nodes in all, in that order: 10
// is local, 255 unreachable.
func parseDistances(text string, all []int) (model.Readings, error) {
	f := strings.Fields(text)
	if len(f) != len(all) {
		return nil, fmt.Errorf("%d figures for %d nodes", len(f), len(all))
	}
	var rs model.Readings
	for i, id := range all {
		d, err := strconv.ParseUint(f[i], 10, 8)
		if err != nil || d == 0 {
			return nil, fmt.Errorf("%.60q is no distance", f[i])
		}
		rs = append(rs, model.Reading{Metric: "numa_distance", Labels: []string{strconv.Itoa(id)}, Value: float64(d)})
	}
	return rs, nil
}

// allocationResults are what numastat counts, and the label that each is exported with.
var allocationResults = map[string]string{
	"numa_hit": "hit", "numa_miss": "miss", "numa_foreign": "foreign",
	"interleave_hit": "interleave_hit", "local_node": "local_node", "other_node": "other_node",
}

// parseNumastat reads lines of a name and a count of pages since boot.
func parseNumastat(text string) (model.Readings, error) {
	var rs model.Readings
	for line := range strings.Lines(text) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		result := allocationResults[name]
		if result == "" {
			continue
		}
		n, err := strconv.ParseUint(count, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%.60q is no count of pages", line)
		}
		rs.Add(model.Reading{Metric: "numa_allocations_total", Labels: []string{result}, Value: float64(n)})
	}
	if len(rs) == 0 {
		return nil, errors.New("no counts")
	}
	return rs, nil
}
