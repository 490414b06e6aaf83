// Package numa reads what the kernel tells about a machine's NUMA nodes and
// about the node of a PCI device. All of it comes from sysfs.
package numa

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
)

const (
	nodeDir = "devices/system/node"
	pciDir  = "bus/pci/devices"

	// maxFile is the most that is read of a file, in bytes. The kernel prints
	// a page or less of most of these.
	maxFile = 64 << 10
	// maxID bounds the numbers of CPUs and nodes: above the kernel's own limits.
	maxID = 1 << 16
)

// Node is one NUMA node.
type Node struct {
	ID int
	// CPUs are the node's online CPUs, ascending: nil where they could not be read,
	// empty and not nil for a node without CPUs.
	CPUs []int
	// Readings are what its files tell; of memory nothing for a node without any.
	Readings model.Readings
}

// Snapshot is the machine's NUMA nodes at one instant.
type Snapshot struct {
	Nodes    []Node         // by ID
	Warnings model.Warnings // in a stable order
}

// Read reads all nodes below sysfs, which is /sys or a tree like it. The error
// is a *failure.Error: not_found when there is no such folder, permission when
// it may not be read, unsupported when it has no NUMA nodes. A file that cannot
// be read costs its own fields only and is a warning.
func Read(sysfs string) (Snapshot, error) {
	info, err := os.Stat(sysfs)
	if err == nil && !info.IsDir() {
		err = errors.New("not a folder")
	}
	if err != nil {
		return Snapshot{}, failure.New(accessReason(err, failure.NotFound), "reading NUMA nodes below %q: %w", sysfs, failure.Cause(err))
	}
	return read(os.DirFS(sysfs))
}

// NodeOfCPUs returns the one node that holds every CPU of a list such as
// 0-31,64-95, false when there is none or more than one.
func (s Snapshot) NodeOfCPUs(list string) (int, bool) {
	cpus, err := cpulist.Parse(list, maxID)
	if err != nil || len(cpus) == 0 {
		return 0, false
	}
	found, id := 0, 0
	for _, n := range s.Nodes {
		isElsewhere := func(cpu int) bool { _, ok := slices.BinarySearch(n.CPUs, cpu); return !ok }
		if !slices.ContainsFunc(cpus, isElsewhere) {
			found, id = found+1, n.ID
		}
	}
	return id, found == 1
}

// PCINode returns the NUMA node that sysfs tells for the PCI device with the
// given address, such as 0000:3b:00.0 in either case; false when the kernel
// does not know it, or the address is none.
func PCINode(sysfs, busID string) (int, bool) {
	name, ok := pciName(busID)
	if !ok {
		return 0, false
	}
	text, err := readFile(os.DirFS(sysfs), pciDir+"/"+name+"/numa_node")
	if err != nil {
		return 0, false
	}
	return parseID(strings.TrimSpace(text)) // -1 is "unknown"
}

func read(fsys fs.FS) (Snapshot, error) {
	ids, err := nodeIDs(fsys)
	if err != nil {
		return Snapshot{}, failure.New(accessReason(err, failure.Unsupported), "reading NUMA nodes: %w", err)
	}
	if len(ids) == 0 {
		return Snapshot{}, failure.New(failure.Unsupported, "reading NUMA nodes: the kernel shows none in %s", nodeDir)
	}
	var s Snapshot
	for _, id := range ids {
		n, problems := readNode(fsys, id, ids)
		s.Nodes = append(s.Nodes, n)
		for _, p := range problems {
			s.Warnings.Add("node%d: %v", id, p)
		}
	}
	return s, nil
}

// nodeIDs returns the numbers of the nodes that are there, ascending. They may
// have holes.
func nodeIDs(fsys fs.FS) ([]int, error) {
	entries, err := fs.ReadDir(fsys, nodeDir)
	if err != nil {
		return nil, err
	}
	var ids []int
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), "node")
		if !ok {
			continue
		}
		if id, ok := parseID(digits); ok && strconv.Itoa(id) == digits {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// readNode reads one node's files. all are the nodes that are there: the kernel
// prints distances in their order, without their numbers.
func readNode(fsys fs.FS, id int, all []int) (Node, []error) {
	n := Node{ID: id}
	var problems []error
	for _, file := range []struct {
		name  string
		parse func(text string) (model.Readings, []error)
	}{
		{"cpulist", func(text string) (model.Readings, []error) {
			var err error
			if n.CPUs, err = cpulist.Parse(text, maxID); err != nil {
				return nil, []error{err}
			}
			return model.Readings{{Metric: "numa_cpus", Value: float64(len(n.CPUs))}}, nil
		}},
		{"meminfo", func(text string) (model.Readings, []error) { return parseMeminfo(text, id) }},
		{"distance", func(text string) (model.Readings, []error) { return parseDistances(text, all) }},
		{"numastat", parseNumastat},
	} {
		text, err := readFile(fsys, nodeDir+"/node"+strconv.Itoa(id)+"/"+file.name)
		errs := []error{err}
		if err == nil {
			var readings model.Readings
			readings, errs = file.parse(text)
			n.Readings = append(n.Readings, readings...)
		}
		for _, err := range errs {
			problems = append(problems, fmt.Errorf("reading %s: %w", file.name, err))
		}
	}
	return n, problems
}

// readFile reads a small regular file, whole or not at all.
func readFile(fsys fs.FS, name string) (string, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return "", failure.Cause(err)
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a file") // opening a pipe would block
	}
	f, err := fsys.Open(name)
	if err != nil {
		return "", failure.Cause(err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", failure.Cause(err)
	}
	if len(text) > maxFile {
		return "", fmt.Errorf("more than %d bytes", maxFile)
	}
	return string(text), nil
}

// accessReason is the class of an error of opening something, other where it
// is not about permission.
func accessReason(err error, other failure.Reason) failure.Reason {
	if errors.Is(err, fs.ErrPermission) {
		return failure.Permission
	}
	return other
}
