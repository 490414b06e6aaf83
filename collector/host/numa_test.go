package host

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// sysfsTree is a fake sysfs: file names below devices/system/node and what they hold.
type sysfsTree map[string]string

func (tr sysfsTree) write(t *testing.T) (sysfs string) {
	t.Helper()
	sysfs = t.TempDir()
	for name, text := range tr {
		write(t, text, sysfs, nodeDir, name)
	}
	return sysfs
}

// node adds a whole node as the kernel prints it, with figures that tell the
// nodes apart.
func (tr sysfsTree) node(id int, cpulist, distance string, totalKB int) {
	dir := fmt.Sprintf("node%d/", id)
	tr[dir+"cpulist"] = cpulist + "\n"
	tr[dir+"distance"] = distance + "\n"
	tr[dir+"meminfo"] = fmt.Sprintf(`Node %[1]d MemTotal:       %[2]d kB
Node %[1]d MemFree:        %[3]d kB
Node %[1]d MemUsed:        %[4]d kB
Node %[1]d HugePages_Total:     0
`, id, totalKB, totalKB/4, totalKB-totalKB/4)
	tr[dir+"numastat"] = fmt.Sprintf("numa_hit %d00\nnuma_miss %[1]d01\nnuma_foreign %[1]d02\ninterleave_hit %[1]d03\nlocal_node %[1]d04\nother_node %[1]d05\n", id+1)
}

func reading(m model.Metric, v float64, labels ...string) model.Reading {
	return model.Reading{Metric: m, Labels: labels, Value: v}
}

// wantNode is what is read of such a node; of cpus, distances and totalKB what is nil or 0
// is not known.
func wantNode(id int, cpus []int, distances map[int]int, totalKB int) Node {
	n := Node{ID: id, CPUs: cpus}
	if cpus != nil {
		n.Readings = append(n.Readings, reading("numa_cpus", float64(len(cpus))))
	}
	if totalKB > 0 {
		for part, kB := range []int{totalKB, totalKB / 4, totalKB - totalKB/4} {
			metric := "numa_memory_" + []string{"total", "free", "used"}[part] + "_bytes"
			n.Readings = append(n.Readings, reading(model.Metric(metric), float64(kB)*1024))
		}
	}
	for _, peer := range slices.Sorted(maps.Keys(distances)) {
		n.Readings = append(n.Readings, reading("numa_distance", float64(distances[peer]), strconv.Itoa(peer)))
	}
	for i, result := range []string{"hit", "miss", "foreign", "interleave_hit", "local_node", "other_node"} {
		n.Readings = append(n.Readings, reading("numa_allocations_total", float64(100*(id+1)+i), result))
	}
	return n
}

func span(first, last int) []int {
	cpus := []int{}
	for cpu := first; cpu <= last; cpu++ {
		cpus = append(cpus, cpu)
	}
	return cpus
}

func TestReadNUMA(t *testing.T) {
	two := func(change func(tr sysfsTree)) sysfsTree {
		tr := sysfsTree{}
		tr.node(0, "0", "10 20", 4000)
		tr.node(1, "1", "20 10", 8000)
		change(tr)
		return tr
	}
	first := wantNode(0, []int{0}, map[int]int{0: 10, 1: 20}, 4000)
	distances := map[int]int{0: 20, 1: 10}
	holes := sysfsTree{"possible": "0\n", "node": "", "node1x/x": "", "node70000/x": "", "has_cpu": "0\n"}
	holes.node(0, "0-3,8-11", "10 12 22 30", 4000)
	holes.node(2, "4-7", "12 10 24 32", 0)
	holes.node(9, "", "22 24 10 34", 16000)
	holes.node(10, "12", "30 32 34 10", 8000)
	cases := []struct {
		name string
		tree sysfsTree
		want NUMA
	}{
		{"2 nodes", two(func(sysfsTree) {}), NUMA{Nodes: []Node{first, wantNode(1, []int{1}, distances, 8000)}}},
		{"one of memory only, one of CPUs only, numbers with holes", holes, NUMA{Nodes: []Node{
			wantNode(0, append(span(0, 3), span(8, 11)...), map[int]int{0: 10, 2: 12, 9: 22, 10: 30}, 4000),
			wantNode(2, span(4, 7), map[int]int{0: 12, 2: 10, 9: 24, 10: 32}, 0),
			wantNode(9, []int{}, map[int]int{0: 22, 2: 24, 9: 10, 10: 34}, 16000),
			wantNode(10, []int{12}, map[int]int{0: 30, 2: 32, 9: 34, 10: 10}, 8000),
		}}},
		// One file that cannot be read costs its own readings only, and somebody is told.
		{"CPUs cut", two(func(tr sysfsTree) { tr["node1/cpulist"] = "1-\n" }), NUMA{
			Nodes:    []Node{first, wantNode(1, nil, distances, 8000)},
			Warnings: modeltest.Warnings(`node1: reading cpulist: "1-" is no range of CPUs or nodes`),
		}},
		{"memory that is no number", two(func(tr sysfsTree) { tr["node1/meminfo"] = "Node 1 MemTotal: x kB\n" }), NUMA{
			Nodes:    []Node{first, wantNode(1, []int{1}, distances, 0)},
			Warnings: modeltest.Warnings(`node1: reading meminfo: "MemTotal: x" is no size`),
		}},
		{"no memory file", two(func(tr sysfsTree) { delete(tr, "node1/meminfo") }), NUMA{
			Nodes:    []Node{first, wantNode(1, []int{1}, distances, 0)},
			Warnings: modeltest.Warnings("node1: reading meminfo: no such file or directory"),
		}},
		{"distances of more nodes", two(func(tr sysfsTree) { tr["node1/distance"] = "20 10 20\n" }), NUMA{
			Nodes:    []Node{first, wantNode(1, []int{1}, nil, 8000)},
			Warnings: modeltest.Warnings("node1: reading distance: 3 figures for 2 nodes"),
		}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := ReadNUMA(c.tree.write(t))
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestReadNUMAFails(t *testing.T) {
	for name, c := range map[string]struct {
		sysfs string
		want  failure.Reason
	}{
		"no sysfs":              {filepath.Join(t.TempDir(), "none"), failure.NotFound},
		"a kernel without NUMA": {t.TempDir(), failure.Unsupported},
		"no node":               {sysfsTree{"online": "\n"}.write(t), failure.Unsupported},
	} {
		if got, err := ReadNUMA(c.sysfs); failure.ReasonOf(err) != c.want || len(got.Nodes) > 0 {
			t.Errorf("%s: %v, %v, want %s", name, got, err, c.want)
		}
	}
}

// This machine's own kernel agrees with the parser's idea of it.
func TestReadThisMachine(t *testing.T) {
	if _, err := os.Stat(filepath.Join("/sys", nodeDir)); err != nil {
		t.Skip("no NUMA nodes here:", err)
	}
	n, err := ReadNUMA("/sys")
	if err != nil || n.Warnings.Count > 0 {
		t.Fatal(err, n.Warnings.Texts)
	}
	cpus := 0
	for _, node := range n.Nodes {
		cpus += len(node.CPUs)
		total, hasMemory := node.Readings.Get("numa_memory_total_bytes")
		if local, _ := node.Readings.Get("numa_distance", strconv.Itoa(node.ID)); local != 10 || hasMemory && total < 1<<20 {
			t.Errorf("node %d: %v", node.ID, node.Readings)
		}
	}
	if cpus < runtime.NumCPU() {
		t.Errorf("%d CPUs, but this process alone may use %d", cpus, runtime.NumCPU())
	}
}

func TestNodeOfCPUs(t *testing.T) {
	n := NUMA{Nodes: []Node{
		{ID: 0, CPUs: append(span(0, 31), span(64, 95)...)},
		{ID: 1, CPUs: append(span(32, 63), span(96, 127)...)},
		{ID: 4, CPUs: []int{}},
		{ID: 5},
	}}
	for _, c := range []struct {
		list string
		node int
		ok   bool
	}{
		{"0-31,64-95", 0, true},
		{" 32-63, 96-127\n", 1, true},
		{"0-63", 0, false},      // two nodes
		{"64-95,200", 0, false}, // a CPU that is offline
		{"", 0, false},
		{"unknown", 0, false},
	} {
		if node, ok := n.nodeOfCPUs(c.list); node != c.node || ok != c.ok {
			t.Errorf("nodeOfCPUs(%q) = %d, %t, want %d, %t", c.list, node, ok, c.node, c.ok)
		}
	}
}

func TestPCINode(t *testing.T) {
	sysfs := t.TempDir()
	for name, text := range map[string]string{"0000:3b:00.0": "1\n", "0000:c1:00.0": "-1\n", "10000:e1:1f.7": "5\n"} {
		write(t, text, sysfs, pciDir, name, "numa_node")
	}
	for _, c := range []struct {
		busID string
		node  int
		ok    bool
	}{
		{"0000:3b:00.0", 1, true},
		{"0000:3B:00.0", 1, true},
		{"00000000:3B:00.0", 1, true},
		{"10000:e1:1f.7", 5, true},
		{"0000:c1:00.0", 0, false}, // the kernel does not know
		{"0000:07:00.0", 0, false}, // no such device
		{"3b:00.0", 0, false},
		{"NA", 0, false},
		{"../0000:3b:00.0", 0, false},
	} {
		if node, ok := pciNode(sysfs, c.busID); node != c.node || ok != c.ok {
			t.Errorf("pciNode(%q) = %d, %t, want %d, %t", c.busID, node, ok, c.node, c.ok)
		}
	}
}

// What the tool's topology and the PCI device tell of a card's node.
func TestLocate(t *testing.T) {
	tr := sysfsTree{}
	tr.node(0, "0-1", "10 20", 4000)
	tr.node(1, "2-3", "20 10", 4000)
	sysfs := tr.write(t)
	write(t, "1\n", sysfs, pciDir, "0000:3b:00.0", "numa_node")
	n, err := ReadNUMA(sysfs)
	must(t, err)
	zero, one, yes, no := 0, 1, true, false
	devices := []model.Device{
		{ID: "0", NUMANode: &zero},
		{ID: "1", NUMANode: &zero, BusID: "0000:3b:00.0"},
		{ID: "2", NUMANode: &one, BusID: "0000:3b:00.0"},
		{ID: "3", BusID: "0000:3b:00.0", CPUAffinity: "0-1"},
		{ID: "4", CPUAffinity: "2"},
		{ID: "5", CPUAffinity: "0-3"},
	}
	want := slices.Clone(devices)
	want[1].NUMAConflict, want[2].NUMAConflict = &yes, &no
	want[3].NUMANode, want[4].NUMANode = &one, &one
	var w model.Warnings
	n.Locate(sysfs, devices, &w)
	if diff := cmp.Diff(want, devices); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if w.Count != 1 || !strings.HasPrefix(w.Texts[0], "card 1 is on NUMA node 0 by the tool's topology") {
		t.Errorf("warnings %q", w.Texts)
	}
}

func FuzzNodeFiles(f *testing.F) {
	f.Add("Node 0 MemTotal:        6514892 kB\nNode 0 MemFree:         6216096 kB\nNode 0 MemUsed:          298796 kB\n")
	f.Add("\nNode 1 MemTotal: 18446744073709551615 kB\nNode 1 MemFree:\n")
	f.Add("numa_hit 9146688\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 1132\nlocal_node 9146688\nother_node 0\n")
	f.Add("10 21 31 41\n")
	f.Fuzz(func(t *testing.T, text string) {
		memory, _ := parseMeminfo(text)
		counts, _ := parseNumastat(text)
		distances, _ := parseDistances(text, []int{0, 2, 3, 4})
		for _, r := range slices.Concat(memory, counts, distances) {
			if r.Value < 0 || r.Value != float64(uint64(r.Value)) {
				t.Errorf("%v of %q", r, text)
			}
		}
		if len(memory) > 3 || len(counts) > 6 || len(distances) > 4 {
			t.Errorf("%v %v %v of %q", memory, counts, distances, text)
		}
	})
}
