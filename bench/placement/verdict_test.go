package placement

import (
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// The verdict of each process, by its lists and by the shares alone: the latter name
// fewer nodes, and never say something else.
func TestVerdicts(t *testing.T) {
	held := func(cpus, mems string, devices ...string) holder {
		vendor := "ascend"
		if strings.HasPrefix(devices[0], "m") {
			vendor = "metax"
		}
		for i := range devices {
			devices[i] = strings.TrimPrefix(devices[i], "m")
		}
		return holder{vendor: vendor, pid: "77", name: "python", devices: devices, cpus: cpus, mems: mems}
	}
	yes, no := new(true), new(false)
	tests := []struct {
		name   string
		on     page
		h      holder
		want   string
		shares string // where it is another by the shares alone
		placed *bool
	}{
		{"bound right", users(), held("0-15", "0-7", "m0"), "on the node of its cards", "", yes},
		{"some CPUs of it", users(), held("2-3", "0", "m0", "m1", "m2", "m3"), "on the node of its cards", "", yes},
		{"unbound", users(), held("0-127", "0-7", "m0"), "may run anywhere", "", no},
		{"bound wrong", users(), held("16-31", "1", "m0"), "bound to another node", "", no},
		{"partly bound", users(), held("0-63", "0-3", "m0"), "bound to nodes 0-3, cards on node 0", someNodes, no},
		{"every second node", users(), held("0-15,32-47,64-79,96-111", "0,2,4,6", "m0"), "bound to nodes 0,2,4,6, cards on node 0", someNodes, no},
		{"memory elsewhere", users(), held("0-15", "1-7", "m0"), "memory on another node", "", no},
		{"most CPUs of every node", users(), held("1-127", "0-7", "m0"), "may run anywhere", someNodes, no},
		{"could not be read", users(), held("", "", "m0"), "not known: the exporter could not read where it may run", "", nil},
		{"two nodes, unbound", two(0), held("0-7", "0-1", "0"), "may run anywhere", "", no},
		{"two nodes, one CPU of the other", two(0), held("0-4", "0-1", "0"), "may run anywhere", "", no},
		{"cards on both nodes", two(0, 1), held("0-7", "0-1", "0", "1"), "cards span nodes 0 and 1", "", yes},
		{"cards on both nodes, on one", two(0, 1), held("4-7", "1", "0", "1"), "cards span nodes 0 and 1", "", yes},
		{"a worker of one card", two(0, 1), held("0-7", "0-1", "0"), "may run anywhere", "", no},
		{"one node", one(), held("0-7", "0", "m0"), "on the node of its cards", "", yes},
		{"one node, could not be read", one(), held("", "", "m0"), "on the node of its cards", "", yes},
		{"memory-only node beside", memoryOnly(0), held("0-3", "0-2", "0"), "on the node of its cards", "", yes},
		{"memory-only node beside, unbound", memoryOnly(0), held("0-7", "0-2", "0"), "may run anywhere", "", no},
		{"memory on the memory-only node", memoryOnly(0), held("0-3", "2", "0"), "memory on another node", "", no},
		{"card on a memory-only node", memoryOnly(2), held("0-3", "2", "0"), "not known: node 2 of its cards has no CPUs", "", nil},
		{"card on a node with nothing else", cardsOnly(1), held("0-7", "0", "0"), "on the node of its cards", "", yes},
		{"card without a node, one place to run", cardsOnly(-1), held("0-7", "0", "0"), "on the node of its cards", "", yes},
		{"card without a node", two(0, -1), held("0-3", "0", "0", "1"), "not known: the node of card ascend 1 is not known", "", nil},
		{"card on a node that is not there", two(5), held("", "", "0"), "not known: card ascend 0 is on node 5, which the page does not have", "", nil},
	}
	for _, tt := range tests {
		for _, lists := range []bool{true, false} {
			p := append(page{}, tt.on...)
			p.process(tt.h, lists)
			p.add("process_placement_unknown", 0, "vendor", tt.h.vendor)
			want := tt.want
			if !lists && tt.shares != "" {
				want = tt.shares
			}
			m := Read(p)
			v := m.Judge(m.Processes[0])
			if v.Text != want {
				t.Errorf("%s, lists %v: %q, want %q", tt.name, lists, v.Text, want)
			}
			if (v.Placed == nil) != (tt.placed == nil) || v.Placed != nil && *v.Placed != *tt.placed {
				t.Errorf("%s, lists %v: placed is %v", tt.name, lists, v.Placed)
			}
		}
	}
}

// Cards on two of eight nodes: on just these is well, on one more is not.
func TestSpanningCards(t *testing.T) {
	for cpus, want := range map[string]string{
		"0-31":  "cards span nodes 0 and 1",
		"0-47":  "bound to nodes 0-2, cards on nodes 0 and 1",
		"32-47": "bound to another node",
		"0-127": "may run anywhere",
	} {
		p := users()
		p.add("numa_node", 1, "vendor", "metax", "device", "4")
		p.process(holder{"metax", "9", "python", []string{"0", "4"}, cpus, "0-7"}, true)
		m := Read(p)
		if got := m.Judge(m.Processes[0]).Text; got != want {
			t.Errorf("on CPUs %s: %q, want %q", cpus, got, want)
		}
	}
}

// An exporter that does not measure placement, or has no nodes, is told from a process
// that could not be read.
func TestOlderExporters(t *testing.T) {
	var p page
	for _, s := range users() {
		if s.Name != "accelerator_numa_cpu_list_info" {
			p = append(p, s)
		}
	}
	p.process(holder{"metax", "9", "python", []string{"0"}, "", ""}, false)
	m := Read(p)
	if got, want := m.Judge(m.Processes[0]).Text, "not known: the exporter does not tell where processes may run: a newer one does"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	var bare page
	bare.add("process_memory_used_bytes", 1, "vendor", "metax", "device", "0", "pid", "9", "process", "python")
	m = Read(bare)
	if got := m.Judge(m.Processes[0]).Text; !strings.HasPrefix(got, "not known: the page has no NUMA nodes") {
		t.Error(got)
	}
}

// A list that was cut to the longest label says nothing, and the shares are taken.
func TestCutLists(t *testing.T) {
	p := two(0)
	p.process(holder{"ascend", "9", "python", []string{"0"}, "4-7", "1"}, false)
	p.add("process_cpus_info", 1, "vendor", "ascend", "pid", "9", "cpus", "0-3,…1f2e", "mems", "0")
	m := Read(p)
	if got := m.Judge(m.Processes[0]).Text; got != otherNode {
		t.Error(got)
	}
}

// Two vendors' processes of one number are two processes.
func TestTwoVendors(t *testing.T) {
	p := two(0)
	p.cards("metax", "MX", 0, 1)
	p.process(holder{"ascend", "9", "python", []string{"0"}, "0-3", "0"}, true)
	p.process(holder{"metax", "9", "python", []string{"0"}, "0-3", "0"}, true)
	m := Read(p)
	if len(m.Processes) != 2 {
		t.Fatalf("%d processes", len(m.Processes))
	}
	if a, b := m.Judge(m.Processes[0]).Text, m.Judge(m.Processes[1]).Text; a != onNode || b != otherNode {
		t.Errorf("%q, %q", a, b)
	}
}

// Where most memory lies is told, and is no verdict: page cache of the model counts too.
func TestMemoryElsewhere(t *testing.T) {
	p := two(0)
	p.process(holder{"ascend", "9", "python", []string{"0"}, "0-3", "0-1"}, true)
	p.add("process_node_memory_bytes", 1<<30, "vendor", "ascend", "pid", "9", "node", "0")
	p.add("process_node_memory_bytes", 3<<30, "vendor", "ascend", "pid", "9", "node", "1")
	m := Read(p)
	v := m.Judge(m.Processes[0])
	if v.Text != onNode || len(v.Remarks) != 1 || v.Remarks[0] != "75.0 % of its memory lies on other nodes than node 0" {
		t.Errorf("%+v", v)
	}
}

func TestOutcome(t *testing.T) {
	well := holder{"ascend", "1", "a", []string{"0"}, "0-3", "0"}
	ill := holder{"ascend", "2", "b", []string{"0"}, "4-7", "0"}
	hidden := holder{"ascend", "3", "c", []string{"0"}, "", ""}
	for _, tt := range []struct {
		name string
		all  []holder
		want Outcome
	}{
		{"nothing holds a card", nil, AllPlaced},
		{"all well", []holder{well}, AllPlaced},
		{"one ill", []holder{well, ill}, Misplaced},
		{"one not known", []holder{well, hidden}, NotKnown},
		{"ill and not known", []holder{hidden, ill, hidden}, Misplaced},
	} {
		p := two(0)
		for _, h := range tt.all {
			p.process(h, true)
		}
		if got := Judge(Read(p)).Outcome(); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

// What no machine can have is left out, and the first of two samples of one thing holds.
func TestHostilePages(t *testing.T) {
	p := two(0)
	p.process(holder{"ascend", "9", "python", []string{"0"}, "0-3", "0"}, true)
	clean := len(Read(p).Processes)
	for _, v := range []float64{math.NaN(), math.Inf(1), -1, 7, 1e18} {
		p.add("process_near_cpus_ratio", v, "vendor", "ascend", "device", "0", "pid", "9")
		p.add("numa_node", v, "vendor", "ascend", "device", "0")
		p.add("numa_cpus", v, "node", "0")
		p.add("numa_memory_free_bytes", v, "node", "0")
		p.add("numa_distance", v, "node", "0", "peer", "1")
	}
	for _, name := range []string{"-1", "", "1e3", "99999999", "0x1", "a\nb"} {
		p.add("numa_cpus", 4, "node", name)
		p.add("process_memory_used_bytes", 4, "vendor", "ascend", "device", "0", "pid", name+"-")
	}
	m := Read(p)
	if len(m.Nodes) != 2 || len(m.Processes) != clean || *m.Nodes[0].Free != 20000*(1<<20) || m.Nodes[0].Distances[1] != 21 {
		t.Errorf("%+v", m)
	}
	if got := m.Judge(m.Processes[0]).Text; got != onNode {
		t.Error(got)
	}
}

// However many cards and processes a page makes up, they are bounded.
func TestHugePages(t *testing.T) {
	var p page
	for i := range 3 * maxProcesses {
		id := strings.Repeat("9", 1+i%3) + string(rune('a'+i%26))
		p.add("process_near_cpus_ratio", 1, "vendor", id, "device", id+string(rune(i)), "pid", "1"+strings.Repeat("0", i%9))
	}
	m := Read(p)
	if len(m.Cards) > maxCards || len(m.Processes) > maxProcesses {
		t.Errorf("%d cards, %d processes", len(m.Cards), len(m.Processes))
	}
	_ = Judge(m)
}

// hostile is a page within the limits on what is read of one: so many nodes, each with
// those CPUs, a card on each, and processes that hold all cards and may run so much of
// their time near each.
func hostile(nodes int, cpus func(node int) string, processes int, ratio float64) page {
	var p page
	for n := range nodes {
		p.node(n, cpus(n), 1000, 100, "")
		p.add("numa_node", float64(n), "vendor", "metax", "device", strconv.Itoa(n))
	}
	for pid := range processes {
		for card := range nodes {
			p.add("process_near_cpus_ratio", ratio, "vendor", "metax", "device", strconv.Itoa(card), "pid", strconv.Itoa(pid+1))
		}
	}
	return p
}

// A CPU is on one node, so that no page can make up more of them than a machine has.
func TestCPUsOfTwoNodes(t *testing.T) {
	m := Read(hostile(64, func(int) string { return "0-8190" }, 0, 0))
	cpus := 0
	for _, n := range m.Nodes {
		cpus += len(n.CPUs)
	}
	if len(m.Nodes) != 64 || cpus != 8191 {
		t.Errorf("%d nodes with %d CPUs", len(m.Nodes), cpus)
	}
	p := two(0)
	p.node(2, "7-9", 32000, 20000, "")
	p.node(2, "8-9", 32000, 20000, "")
	m = Read(p)
	if got := m.node(2); got.CPUs != nil || got.Count != 3 || m.node(1).CPUs.String() != "4-7" {
		t.Errorf("%+v", got)
	}
}

// However a page is made up, judging it does not take long. What is counted is memory, of
// which every binding takes some: to make one for each process took 250 MB and more.
func TestWorkOnHostilePages(t *testing.T) {
	const nodes, most = 512, 96 << 20
	few := func(n int) string { return fmt.Sprintf("%d,%d", n, n+nodes) }
	for name, p := range map[string]page{
		"all CPUs on each node": hostile(nodes, func(int) string { return "0-8190" }, 58, 1.0/nodes),
		"all well placed":       hostile(nodes, few, 58, 1.0/nodes),
		"none well placed":      hostile(nodes, few, 58, 0),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = Judge(Read(p))
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > most {
			t.Errorf("%s: %d MB were taken, more than %d", name, took>>20, most>>20)
		}
	}
}

func FuzzPage(f *testing.F) {
	var text strings.Builder
	for _, s := range users() {
		text.WriteString(s.Name + "|" + s.Labels["node"] + "|" + s.Labels["cpus"] + "\n")
	}
	f.Add(text.String(), 0.5)
	f.Add("accelerator_numa_node|0|metax\naccelerator_process_near_cpus_ratio|0|7\naccelerator_numa_cpus|1|0-3\naccelerator_numa_cpus|0|", 1.0)
	f.Fuzz(func(t *testing.T, text string, value float64) {
		var p page
		for i, line := range strings.Split(text, "\n") {
			fields := append(strings.Split(line, "|"), "", "", "")
			v := value
			if i%3 == 0 {
				v = float64(i % 5)
			}
			labels := map[string]string{
				"node": fields[1], "device": fields[1], "pid": fields[2], "cpus": fields[2], "mems": fields[1],
				"peer": fields[2], "link": fields[1], "vendor": "v", "target": fields[2], "process": fields[2],
			}
			p = append(p, runlog.Series{Name: fields[0], Value: v, Labels: labels})
		}
		m := Read(p)
		r := Judge(m)
		var out strings.Builder
		if err := r.Text(&out); err != nil {
			t.Fatal(err)
		}
		if err := r.JSON(&out); err != nil {
			t.Fatal(err)
		}
		for i, v := range r.Verdicts {
			if v.Text == "" || (v.Placed == nil) != strings.HasPrefix(v.Text, unknownStart) {
				t.Errorf("process %d: %+v", m.Processes[i].PID, v)
			}
		}
		_, _ = m.Sides()
		_, _ = m.OfTarget(behindBar(text))
		if meant, err := ParseDevices(text); err == nil {
			_, _ = m.Only(meant)
		}
	})
}

func behindBar(text string) string {
	_, after, _ := strings.Cut(text, "|")
	return after
}
