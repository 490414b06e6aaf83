package host

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// usersMachine is the machine of `numactl --hardware` in the users' document: 8 nodes of
// 16 CPUs, with its sizes in MB and its distances.
func usersMachine(t *testing.T) NUMA {
	t.Helper()
	distances := []string{
		"10 22 22 22 28 22 28 28", "22 10 22 22 22 28 28 28", "22 22 10 22 28 28 28 22", "22 22 22 10 28 28 22 28",
		"28 22 28 28 10 22 22 22", "22 28 28 28 22 10 22 22", "28 28 28 22 22 22 10 22", "28 28 22 28 22 22 22 10",
	}
	size := []int{64992, 65461, 65461, 65461, 65461, 65461, 65461, 64436}
	free := []int{4950, 12524, 9299, 11394, 7189, 6740, 7317, 11067}
	tr := sysfsTree{}
	for id := range distances {
		tr.node(id, fmt.Sprintf("%d-%d", 16*id, 16*id+15), distances[id], size[id]<<10)
		tr[fmt.Sprintf("node%d/meminfo", id)] = fmt.Sprintf("Node %[1]d MemTotal: %[2]d kB\nNode %[1]d MemFree: %[3]d kB\n", id, size[id]<<10, free[id]<<10)
	}
	s, err := ReadNUMA(tr.write(t))
	if err != nil || s.Warnings.Count > 0 {
		t.Fatal(err, s.Warnings)
	}
	for id, n := range s.Nodes {
		total, _ := n.Readings.Get("numa_memory_total_bytes")
		rest, _ := n.Readings.Get("numa_memory_free_bytes")
		if total != float64(size[id]<<20) || rest != float64(free[id]<<20) {
			t.Errorf("node %d: %v of %v bytes free, want %d of %d MB", id, rest, total, free[id], size[id])
		}
	}
	return s
}

// machineWith is a machine of nodes 0, 1, ... with these lists of CPUs, all with memory
// but those that are named.
func machineWith(t *testing.T, cpulists []string, withoutMemory ...int) NUMA {
	t.Helper()
	tr := sysfsTree{}
	for id, list := range cpulists {
		figures := ""
		for peer := range cpulists {
			figures += fmt.Sprintf("%d ", 10+10*min(1, max(id-peer, peer-id)))
		}
		total := 4000
		for _, without := range withoutMemory {
			if id == without {
				total = 0
			}
		}
		tr.node(id, list, figures, total)
	}
	s, err := ReadNUMA(tr.write(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// on makes cards by the numbers of their nodes, below 0 for one that is not known, each
// with process 7 on it.
func on(nodes ...int) (devices []model.Device, processes []model.Process) {
	for i, node := range nodes {
		d := model.Device{ID: fmt.Sprint(i)}
		if node >= 0 {
			d.NUMANode = &node
		}
		devices = append(devices, d)
		processes = append(processes, model.Process{Device: d.ID, PID: "7"})
	}
	return devices, processes
}

func near(device string, cpus float64, memory bool) model.Nearness {
	return model.Nearness{Device: device, CPUs: &cpus, Memory: &memory}
}

func TestPlace(t *testing.T) {
	users, one := usersMachine(t), machineWith(t, []string{"0-1"})
	two := machineWith(t, []string{"0-3", "4-7"})
	yes, no := true, false
	cases := []struct {
		name       string
		machine    NUMA
		cards      []int
		cpus, mems string
		want       model.Placement
	}{
		{
			"unbound on the users' machine", users,
			[]int{0, 0},
			"0-127", "0-7",
			model.Placement{CPUs: "0-127", Nodes: "0-7", Near: []model.Nearness{near("0", 0.125, true), near("1", 0.125, true)}},
		},
		{
			"numactl -N0 -m0 there", users,
			[]int{0},
			"0-15", "0-7", // the policy of memory is not a limit
			model.Placement{CPUs: "0-15", Nodes: "0-7", Near: []model.Nearness{near("0", 1, true)}},
		},
		{
			"nodes 0, 2, 4 and 6 there", users,
			[]int{0},
			"0-15,32-47,64-79,96-111", "0,2,4,6",
			model.Placement{CPUs: "0-15,32-47,64-79,96-111", Nodes: "0,2,4,6", Near: []model.Nearness{near("0", 0.25, true)}},
		},
		{
			"bound to another node, memory too", users,
			[]int{0},
			"80-95", "5",
			model.Placement{CPUs: "80-95", Nodes: "5", Near: []model.Nearness{near("0", 0, false)}},
		},
		{
			"one node", one,
			[]int{0},
			"0-1", "0",
			model.Placement{CPUs: "0-1", Nodes: "0", Near: []model.Nearness{near("0", 1, true)}},
		},
		{
			"a card whose node is not known", one,
			[]int{-1},
			"0-1", "0",
			model.Placement{CPUs: "0-1", Nodes: "0"},
		},
		{
			"a card on a node that the kernel does not show", one,
			[]int{3},
			"0-1", "0",
			model.Placement{CPUs: "0-1", Nodes: "0"},
		},
		{
			"cards on two nodes", two,
			[]int{0, 1},
			"0-5", "0-1",
			model.Placement{CPUs: "0-5", Nodes: "0-1", Near: []model.Nearness{near("0", 4.0/6, true), near("1", 2.0/6, true)}},
		},
		{
			// CPUs 2 and 3 are off, so the kernel leaves them out of the node but not of the process.
			"offline CPUs", machineWith(t, []string{"0-1", "4-7"}),
			[]int{0},
			"0-3", "0-1",
			model.Placement{CPUs: "0-1", Nodes: "0-1", Near: []model.Nearness{near("0", 1, true)}},
		},
		{
			"a CPU set of a container", two,
			[]int{0},
			"3-4", "1",
			model.Placement{CPUs: "3-4", Nodes: "1", Near: []model.Nearness{near("0", 0.5, false)}},
		},
		{
			"a card on a node of memory only", machineWith(t, []string{"0-3", ""}),
			[]int{1},
			"0-3", "0-1",
			model.Placement{CPUs: "0-3", Nodes: "0-1", Near: []model.Nearness{{Device: "0", Memory: &yes}}},
		},
		{
			"the same, out of its reach", machineWith(t, []string{"0-3", ""}),
			[]int{1},
			"0-3", "0",
			model.Placement{CPUs: "0-3", Nodes: "0", Near: []model.Nearness{{Device: "0", Memory: &no}}},
		},
		{
			"a card on a node without memory", machineWith(t, []string{"0-3", "4-7"}, 1),
			[]int{1},
			"4-7", "0",
			model.Placement{CPUs: "4-7", Nodes: "0", Near: []model.Nearness{{Device: "0", CPUs: ptr(1.0)}}},
		},
		{
			"a node whose CPUs cannot be read", machineWith(t, []string{"0-3", "4-"}),
			[]int{0},
			"0-3", "0",
			model.Placement{Nodes: "0", Near: []model.Nearness{{Device: "0", Memory: &yes}}},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var p listedProcess
			var err error
			p.cpus, p.nodes, err = ParseAllowed("Name:\tpython\nCpus_allowed_list:\t" + c.cpus + "\nMems_allowed_list:\t" + c.mems + "\n")
			must(t, err)
			found := Placements{numa: c.machine, withPlacement: true, processes: map[string]listedProcess{"7": p}}
			var s model.Snapshot
			s.Devices, s.Processes = on(c.cards...)
			found.AddTo(&s)
			c.want.PID = "7"
			if diff := cmp.Diff([]model.Placement{c.want}, s.Placements); diff != "" || *s.UnreadProcesses != 0 {
				t.Errorf("%d not known (-want +got):\n%s", *s.UnreadProcesses, diff)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestParseAllowedRefuses(t *testing.T) {
	for name, status := range map[string]string{
		"empty":       "",
		"no nodes":    "Cpus_allowed_list:\t0\n",
		"no CPUs":     "Cpus_allowed_list:\t\nMems_allowed_list:\t0\n",
		"no list":     "Cpus_allowed_list:\tall\nMems_allowed_list:\t0\n",
		"a cut list":  "Cpus_allowed_list:\t0\nMems_allowed_list:\t0-",
		"without end": "Cpus_allowed_list:\t0-4294967295\nMems_allowed_list:\t0\n",
	} {
		if cpus, nodes, err := ParseAllowed(status); err == nil || cpus != nil || nodes != nil {
			t.Errorf("%s: %v, %v, %v", name, cpus, nodes, err)
		}
	}
}
