package placement

import (
	"encoding/json"
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/docs/expositiontest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func text(t *testing.T, r *Machine) string {
	t.Helper()
	var b strings.Builder
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A process chooses its name: none draws on the terminal, or adds a line.
func TestHostileName(t *testing.T) {
	on := two(0).with(holder{"ascend", "77", "\x1b[2Jvllm\n  78 python, ascend 0: on the node of its cards\u202e", []string{"0"}, "0-7", "0-1"})
	_, got, _ := strings.Cut(text(t, Read(on).Judge()), "processes:\n")
	got, _, _ = strings.Cut(got, "\nbinding:")
	if diff := cmp.Diff("  77 [2Jvllm   78 python, ascend 0: on the node of its cards, ascend 0: may run anywhere\n", got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a user sees of each machine, as text and as JSON.
func TestGolden(t *testing.T) {
	worker := func(pid, device, cpus, mems string) holder {
		return holder{"metax", pid, "ray::RayWorkerW", []string{device}, cpus, mems}
	}
	for name, on := range map[string]page{
		"users": eight().
			with(holder{"metax", "15652", "python", []string{"0"}, "0-127", "0-7"}).
			with(worker("22854", "1", "0-15", "0-7")).
			with(worker("22945", "2", "0-63", "0-3")).
			with(worker("23034", "3", "", "")),
		"one-node": one(0, -1).with(holder{"ascend", "100", "", []string{"0"}, "0-7", "0"}),
		"spanning": two(0, 0, 1, 1).with(holder{"ascend", "100", "python", []string{"0", "1", "2", "3"}, "0-7", "0-1"}),
	} {
		t.Run(name, func(t *testing.T) {
			r := Read(on).Judge()
			object, err := json.MarshalIndent(r, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			expositiontest.Golden(t, "testdata/"+name+".txt", text(t, r), *update)
			expositiontest.Golden(t, "testdata/"+name+".json", string(object)+"\n", *update)
		})
	}
}

func TestVerdicts(t *testing.T) {
	yes, no := new(true), new(false)
	const spans = "cards span nodes 0 and 1"
	ascend := func(cpus, mems string, devices ...string) holder {
		return holder{"ascend", "77", "python", devices, cpus, mems}
	}
	metax := func(cpus, mems string) holder { return holder{"metax", "77", "python", []string{"0"}, cpus, mems} }
	for _, tt := range []struct {
		name   string
		on     page
		h      holder
		want   string
		placed *bool
	}{
		{"bound right", eight(), metax("0-15", "0-7"), onNode, yes},
		{"some CPUs of it", eight(), metax("2-3", "0"), onNode, yes},
		{"unbound", eight(), metax("0-127", "0-7"), anywhere, no},
		{"most CPUs of every node", eight(), metax("1-127", "0-7"), anywhere, no},
		{"bound wrong", eight(), metax("16-31", "1"), otherNode, no},
		{"partly bound", eight(), metax("0-63", "0-3"), "bound to nodes 0-3, cards on node 0", no},
		{"memory elsewhere", eight(), metax("0-15", "1-7"), otherMemory, no},
		{"could not be read", eight(), metax("", ""), notKnown + "the page does not say where it may run (can the exporter read its status?)", nil},
		{"list that was cut", two(0), ascend("0-3,…1f2e", "0", "0"), notKnown + "the page does not say where it may run (can the exporter read its status?)", nil},
		{"cards on both nodes", two(0, 1), ascend("0-7", "0-1", "0", "1"), spans, yes},
		{"cards on both nodes, on one", two(0, 1), ascend("4-7", "1", "0", "1"), spans, yes},
		{"a worker of one card", two(0, 1), ascend("0-7", "0-1", "0"), anywhere, no},
		{"one node, could not be read", one(0), ascend("", "", "0"), onNode, yes},
		{"memory-only node beside", memoryOnly(0), ascend("0-3", "0-2", "0"), onNode, yes},
		{"memory on the memory-only node", memoryOnly(0), ascend("0-3", "2", "0"), otherMemory, no},
		{"card on a memory-only node", memoryOnly(2), ascend("0-3", "2", "0"), notKnown + "node 2 of card ascend 0 has no CPUs or no memory", nil},
		{"node without memory", withoutMemory(1), ascend("4-7", "0", "0"), notKnown + "node 1 of card ascend 0 has no CPUs or no memory", nil},
		{"card without a node", two(0, -1), ascend("0-3", "0", "0", "1"), notKnown + "the node of card ascend 1 is not known", nil},
		{"no nodes", nil, ascend("0-3", "0", "0"), notKnown + "the page has no NUMA nodes (is the exporter's collector numa off?)", nil},
	} {
		r := Read(tt.on.with(tt.h)).Judge()
		if got := r.Processes[0].Text; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		if diff := cmp.Diff(tt.placed, r.Placed()); diff != "" {
			t.Errorf("%s: placed (-want +got):\n%s", tt.name, diff)
		}
	}
	if placed := Read(two(0)).Judge().Placed(); placed == nil || !*placed {
		t.Error("where nothing holds a card, something is misplaced")
	}
	mixed := two(0).with(ascend("", "", "0")).with(holder{"ascend", "78", "b", []string{"0"}, "4-7", "1"})
	if placed := Read(mixed).Judge().Placed(); placed == nil || *placed {
		t.Error("an unknown process hides a misplaced one")
	}
}

func TestDevices(t *testing.T) {
	p := two(0, 0, 1, 1)
	p.cards("metax", 0)
	p.add("numa_node", 0, "vendor", "metax", "device", "1.1")
	m := Read(p)
	cards := func(m *Machine, err error) string {
		if err != nil {
			return err.Error()
		}
		var names []string
		for _, c := range m.Cards {
			names = append(names, c.String())
		}
		return strings.Join(names, ", ")
	}
	for text, want := range map[string]string{
		"0":     "ascend 0, metax 0",
		"1-2":   "ascend 1, ascend 2",
		"0,1.1": "ascend 0, metax 0, metax 1.1",
		"9":     "the exporter has 6 cards, and none of these",
	} {
		chosen, err := ParseDevices(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := cards(m.WithCards(chosen)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "0-", "3-1", "0,,1", "-"} {
		if _, err := ParseDevices(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestSides(t *testing.T) {
	lines := func(p page) string {
		sides, err := Read(p).Sides()
		if err != nil {
			return err.Error()
		}
		var all []string
		for _, s := range sides {
			line := s.Name + ": " + s.Binding
			all = append(all, strings.TrimSpace(line+" "+s.Command))
		}
		return strings.Join(all, "\n")
	}
	for name, tt := range map[string]struct {
		on   page
		want string
	}{
		"two nodes": {two(1, 1), `none: unbound
node1: bound to node 1 numactl --cpunodebind=1 --membind=1
node0: bound to node 0 numactl --cpunodebind=0 --membind=0
interleaved: interleaved over all nodes numactl --interleave=all`},
		"cards on both": {two(0, 1), `none: unbound
node0: bound to node 0 numactl --cpunodebind=0 --membind=0
node1: bound to node 1 numactl --cpunodebind=1 --membind=1
interleaved: interleaved over all nodes numactl --interleave=all`},
		"a node without memory": {withoutMemory(1), `none: unbound
node0: bound to node 0 numactl --cpunodebind=0 --membind=0
interleaved: interleaved over all nodes numactl --interleave=all`},
		"nothing but cards on the other": {one(1), "there is one NUMA node only, so there is no binding to compare"},
		"none":                           {nil, "the page has no NUMA nodes (is the exporter's collector numa off?)"},
	} {
		if diff := cmp.Diff(tt.want, lines(tt.on)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
