package numa

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

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model/modeltest"
)

// tree is a fake sysfs: file names below devices/system/node and what they hold.
type tree map[string]string

func (tr tree) write(t *testing.T) (sysfs string) {
	t.Helper()
	sysfs = t.TempDir()
	for name, text := range tr {
		path := filepath.Join(sysfs, nodeDir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return sysfs
}

// node adds a whole node as the kernel prints it, with figures that tell the
// nodes apart.
func (tr tree) node(id int, cpulist, distance string, totalKB int) {
	dir := fmt.Sprintf("node%d/", id)
	tr[dir+"cpulist"] = cpulist + "\n"
	tr[dir+"distance"] = distance + "\n"
	tr[dir+"meminfo"] = fmt.Sprintf(`Node %[1]d MemTotal:       %[2]d kB
Node %[1]d MemFree:        %[3]d kB
Node %[1]d MemUsed:        %[4]d kB
Node %[1]d SwapCached:            0 kB
Node %[1]d HugePages_Total:     0
`, id, totalKB, totalKB/4, totalKB-totalKB/4)
	tr[dir+"numastat"] = fmt.Sprintf(`numa_hit %d00
numa_miss %[1]d01
numa_foreign %[1]d02
interleave_hit %[1]d03
local_node %[1]d04
other_node %[1]d05
`, id+1)
}

func reading(m model.Metric, v float64, labels ...string) model.Reading {
	return model.Reading{Metric: m, Labels: labels, Value: v}
}

// memory is what is told of it, in kB; a part below 0 is not.
func memory(total, free, used int) (rs model.Readings) {
	for i, part := range []string{"total", "free", "used"} {
		if kB := []int{total, free, used}[i]; kB >= 0 {
			rs = append(rs, reading(model.Metric("numa_memory_"+part+"_bytes"), float64(kB)*1024))
		}
	}
	return rs
}

func counts(of map[string]int) (rs model.Readings) {
	for _, result := range []string{"hit", "miss", "foreign", "interleave_hit", "local_node", "other_node"} {
		if n, ok := of[result]; ok {
			rs = append(rs, reading("numa_allocations_total", float64(n), result))
		}
	}
	return rs
}

// files are what one node's files tell.
type files struct {
	cpus             []int
	distances        map[int]int
	memory, numastat model.Readings
}

func (f files) node(id int) Node {
	n := Node{ID: id, CPUs: f.cpus}
	if f.cpus != nil {
		n.Readings = append(n.Readings, reading("numa_cpus", float64(len(f.cpus))))
	}
	n.Readings = append(n.Readings, f.memory...)
	for _, peer := range slices.Sorted(maps.Keys(f.distances)) {
		n.Readings = append(n.Readings, reading("numa_distance", float64(f.distances[peer]), strconv.Itoa(peer)))
	}
	n.Readings = append(n.Readings, f.numastat...)
	return n
}

func whole(id int, cpus []int, distances map[int]int, totalKB int) files {
	f := files{cpus: cpus, distances: distances}
	if totalKB > 0 {
		f.memory = memory(totalKB, totalKB/4, totalKB-totalKB/4)
	}
	n := 100 * (id + 1)
	f.numastat = counts(map[string]int{"hit": n, "miss": n + 1, "foreign": n + 2, "interleave_hit": n + 3, "local_node": n + 4, "other_node": n + 5})
	return f
}

func wantNode(id int, cpus []int, distances map[int]int, totalKB int) Node {
	return whole(id, cpus, distances, totalKB).node(id)
}

func span(first, last int) []int {
	cpus := []int{}
	for cpu := first; cpu <= last; cpu++ {
		cpus = append(cpus, cpu)
	}
	return cpus
}

func TestReadWholeMachines(t *testing.T) {
	t.Run("1 node", func(t *testing.T) {
		tr := tree{"possible": "0\n", "online": "0\n", "node0/cpumap": "3\n"}
		tr.node(0, "0-1", "10", 4000)
		check(t, tr, Snapshot{Nodes: []Node{wantNode(0, []int{0, 1}, map[int]int{0: 10}, 4000)}})
	})
	t.Run("2 nodes with interleaved CPUs", func(t *testing.T) {
		tr := tree{}
		tr.node(1, "1,3,5,7", "21 10", 8000)
		tr.node(0, "0,2,4,6", "10 21", 4000)
		check(t, tr, Snapshot{Nodes: []Node{
			wantNode(0, []int{0, 2, 4, 6}, map[int]int{0: 10, 1: 21}, 4000),
			wantNode(1, []int{1, 3, 5, 7}, map[int]int{0: 21, 1: 10}, 8000),
		}})
	})
	t.Run("4 nodes, one of memory only, one of CPUs only, numbers with holes", func(t *testing.T) {
		tr := tree{}
		tr.node(0, "0-3,8-11", "10 12 22 30", 4000)
		tr.node(2, "4-7", "12 10 24 32", 0)
		tr.node(9, "", "22 24 10 34", 16000)
		tr.node(10, "12", "30 32 34 10", 8000)
		check(t, tr, Snapshot{Nodes: []Node{
			wantNode(0, append(span(0, 3), span(8, 11)...), map[int]int{0: 10, 2: 12, 9: 22, 10: 30}, 4000),
			wantNode(2, span(4, 7), map[int]int{0: 12, 2: 10, 9: 24, 10: 32}, 0),
			wantNode(9, []int{}, map[int]int{0: 22, 2: 24, 9: 10, 10: 34}, 16000),
			wantNode(10, []int{12}, map[int]int{0: 30, 2: 32, 9: 34, 10: 10}, 8000),
		}})
	})
	t.Run("8 nodes", func(t *testing.T) {
		tr, want := tree{}, Snapshot{}
		for id := range 8 {
			var figures []string
			distances := map[int]int{}
			for peer := range 8 {
				d := 10
				if peer != id {
					d = 12 + (id^peer)*3
				}
				figures = append(figures, fmt.Sprint(d))
				distances[peer] = d
			}
			first := 24 * id
			tr.node(id, fmt.Sprintf("%d-%d", first, first+23), strings.Join(figures, " "), 4000+400*id)
			want.Nodes = append(want.Nodes, wantNode(id, span(first, first+23), distances, 4000+400*id))
		}
		check(t, tr, want)
	})
}

func check(t *testing.T, tr tree, want Snapshot) {
	t.Helper()
	got, err := Read(tr.write(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// One bad file of node 1 costs its own fields only, and somebody is told.
func TestReadTornFiles(t *testing.T) {
	all := whole(1, []int{1}, map[int]int{0: 20, 1: 10}, 8000)
	noCPUs, noDistances := all, all
	noCPUs.cpus, noDistances.distances = nil, nil
	with := func(memory model.Readings) files { f := all; f.memory = memory; return f }
	counted := func(of map[string]int) files { f := all; f.numastat = counts(of); return f }
	noMemory, noCounts := with(nil), counted(nil)
	cases := []struct {
		name, file, text string
		want             files
		warnings         []string
	}{
		{"CPUs cut", "cpulist", "1-\n", noCPUs, []string{`node1: reading cpulist: "1-" is no range of CPUs or nodes`}},
		{"CPUs without end", "cpulist", "0-4294967295\n", noCPUs, []string{`node1: reading cpulist: "0-4294967295" is no range of CPUs or nodes`}},
		{"file too large", "cpulist", strings.Repeat("1,", maxFile), noCPUs, []string{"node1: reading cpulist: more than 65536 bytes"}},
		{"distances cut", "distance", "20\n", noDistances, []string{"node1: reading distance: 1 figures for 2 nodes"}},
		{"distances of more nodes", "distance", "20 10 20\n", noDistances, []string{"node1: reading distance: 3 figures for 2 nodes"}},
		{"no distance", "distance", "20 0\n", noDistances, []string{`node1: reading distance: "0" is no distance`}},
		{"distances empty", "distance", "", noDistances, []string{"node1: reading distance: 0 figures for 2 nodes"}},
		{"memory empty", "meminfo", "", noMemory, []string{"node1: reading meminfo: no MemTotal"}},
		{"memory cut in a word", "meminfo", "Node 1 MemTotal: 80", noMemory, []string{`node1: reading meminfo: "Node 1 MemTotal: 80" is no reading of node 1`}},
		{"memory of another node", "meminfo", "Node 0 MemTotal: 80 kB\n", noMemory, []string{`node1: reading meminfo: "Node 0 MemTotal: 80 kB" is no reading of node 1`}},
		{"memory in another unit", "meminfo", "Node 1 MemTotal: 80 MB\n", noMemory, []string{`node1: reading meminfo: "Node 1 MemTotal: 80 MB" is no reading of node 1`}},
		{
			"memory twice", "meminfo", "Node 1 MemTotal: 80 kB\nNode 1 MemTotal: 90 kB\n", with(memory(80, -1, -1)),
			[]string{`node1: reading meminfo: "Node 1 MemTotal: 90 kB" is no reading of node 1`},
		},
		{"memory without use printed", "meminfo", "\nNode 1 MemTotal: 80 kB\nNode 1 MemFree: 30 kB\n", with(memory(80, 30, 50)), nil},
		{"nothing free", "meminfo", "Node 1 MemTotal: 80 kB\nNode 1 MemFree: 0 kB\nNode 1 MemUsed: 80 kB\n", with(memory(80, 0, 80)), nil},
		{"more free than there is", "meminfo", "Node 1 MemTotal: 80 kB\nNode 1 MemFree: 90 kB\n", with(memory(80, 90, -1)), nil},
		{
			"counts cut", "numastat", "numa_hit 5\nnuma_miss\n", counted(map[string]int{"hit": 5}),
			[]string{`node1: reading numastat: "numa_miss" is no count of pages`},
		},
		{
			"a count below 0", "numastat", "numa_hit -5\nnuma_miss 0\nnew_word x\n", counted(map[string]int{"miss": 0}),
			[]string{`node1: reading numastat: "numa_hit -5" is no count of pages`},
		},
		{
			"a count twice", "numastat", "numa_hit 5\nnuma_hit 6\n", counted(map[string]int{"hit": 5}),
			[]string{`node1: reading numastat: "numa_hit 6" is no count of pages`},
		},
		{"no counts", "numastat", "\x00\n", noCounts, []string{"node1: reading numastat: no counts"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tr := tree{}
			tr.node(0, "0", "10 20", 4000)
			tr.node(1, "1", "20 10", 8000)
			tr["node1/"+c.file] = c.text
			check(t, tr, Snapshot{
				Nodes:    []Node{wantNode(0, []int{0}, map[int]int{0: 10, 1: 20}, 4000), c.want.node(1)},
				Warnings: modeltest.Warnings(c.warnings...),
			})
		})
	}
}

func TestReadMissingFiles(t *testing.T) {
	tr := tree{"node3/cpulist": "0-3\n"}
	sysfs := tr.write(t)
	if err := os.Mkdir(filepath.Join(sysfs, nodeDir, "node3", "distance"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, err := Read(sysfs)
	want := Snapshot{
		Nodes: []Node{files{cpus: span(0, 3)}.node(3)},
		Warnings: modeltest.Warnings(
			"node3: reading meminfo: no such file or directory",
			"node3: reading distance: not a file",
			"node3: reading numastat: no such file or directory",
		),
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
}

func TestReadIgnoresOtherEntries(t *testing.T) {
	tr := tree{"node": "", "nodes/x": "", "node00/cpulist": "", "node-1/cpulist": "", "node1x/x": "", "node70000/x": "", "has_cpu": "0\n"}
	tr.node(0, "0", "10", 4000)
	check(t, tr, Snapshot{Nodes: []Node{wantNode(0, []int{0}, map[int]int{0: 10}, 4000)}})
}

func TestReadFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, sysfs string
		want        failure.Reason
	}{
		{"no sysfs", filepath.Join(t.TempDir(), "none"), failure.NotFound},
		{"no path", "", failure.NotFound},
		{"a file", file, failure.NotFound},
		{"a kernel without NUMA", t.TempDir(), failure.Unsupported},
		{"no node", tree{"online": "\n"}.write(t), failure.Unsupported},
	}
	if os.Geteuid() != 0 {
		closed := tree{"online": "\n"}.write(t)
		dir := filepath.Join(closed, nodeDir)
		if err := os.Chmod(dir, 0); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Chmod(dir, 0o755) }() // so that it can be removed
		cases = append(cases, struct {
			name, sysfs string
			want        failure.Reason
		}{"closed to us", closed, failure.Permission})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Read(c.sysfs)
			if r := failure.ReasonOf(err); r != c.want {
				t.Errorf("class %q, want %q: %v", r, c.want, err)
			}
			if diff := cmp.Diff(Snapshot{}, got); diff != "" {
				t.Errorf("something was read:\n%s", diff)
			}
		})
	}
}

// This machine's own kernel agrees with the parser's idea of it.
func TestReadThisMachine(t *testing.T) {
	const sysfs = "/sys"
	if _, err := os.Stat(filepath.Join(sysfs, nodeDir)); err != nil {
		t.Skip("no NUMA nodes here:", err)
	}
	s, err := Read(sysfs)
	if err != nil {
		t.Fatal(err)
	}
	if s.Warnings.Count > 0 {
		t.Errorf("warnings: %q", s.Warnings.Texts)
	}
	cpus, memory := 0, 0.0
	for _, n := range s.Nodes {
		cpus += len(n.CPUs)
		get := func(m model.Metric, labels ...string) float64 { v, _ := n.Readings.Get(m, labels...); return v }
		total := get("numa_memory_total_bytes")
		memory += total
		if used, free := get("numa_memory_used_bytes"), get("numa_memory_free_bytes"); used+free != total {
			t.Errorf("node %d: %.0f used + %.0f free is not %.0f", n.ID, used, free, total)
		}
		if get("numa_distance", strconv.Itoa(n.ID)) != 10 || total > 0 && len(n.Readings) != 1+3+len(s.Nodes)+6 {
			t.Errorf("node %d: %v", n.ID, n.Readings)
		}
	}
	if cpus < runtime.NumCPU() || memory < 1<<20 {
		t.Errorf("%d CPUs and %.0f bytes, but this process alone may use %d CPUs", cpus, memory, runtime.NumCPU())
	}
}

func TestNodeOfCPUs(t *testing.T) {
	s := Snapshot{Nodes: []Node{
		{ID: 0, CPUs: append(span(0, 31), span(64, 95)...)},
		{ID: 1, CPUs: append(span(32, 63), span(96, 127)...)},
		{ID: 4, CPUs: []int{}},
		{ID: 5},
	}}
	cases := []struct {
		list string
		node int
		ok   bool
	}{
		{"0-31,64-95", 0, true},
		{"40", 1, true},
		{" 32-63, 96-127\n", 1, true},
		{"0-63", 0, false},      // two nodes
		{"64-95,200", 0, false}, // a CPU that is offline
		{"", 0, false},
		{"0-", 0, false},
		{"unknown", 0, false},
	}
	for _, c := range cases {
		if node, ok := s.NodeOfCPUs(c.list); node != c.node || ok != c.ok {
			t.Errorf("NodeOfCPUs(%q) = %d, %t, want %d, %t", c.list, node, ok, c.node, c.ok)
		}
	}
	twice := Snapshot{Nodes: []Node{{ID: 0, CPUs: span(0, 3)}, {ID: 1, CPUs: span(0, 3)}}}
	if node, ok := twice.NodeOfCPUs("0-3"); ok {
		t.Errorf("CPUs of two nodes are on node %d", node)
	}
}
