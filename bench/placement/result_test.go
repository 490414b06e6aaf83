package placement

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// What a user sees of each machine, as text and as JSON.
func TestGolden(t *testing.T) {
	worker := func(vendor, pid, device, cpus, mems string) holder {
		return holder{vendor, pid, "ray::RayWorkerW", []string{device}, cpus, mems}
	}
	machines := map[string]func() page{
		"users": func() page { // as the document has it, each worker bound in another way
			p := users()
			p.add("link_info", 1, "vendor", "metax", "device", "0", "peer", "mlx5_0", "link", "PIX")
			p.process(holder{"metax", "15652", "python", []string{"0"}, "0-127", "0-7"}, true)
			p.process(worker("metax", "22854", "1", "0-15", "0-7"), true)
			p.process(worker("metax", "22945", "2", "0-63", "0-3"), true)
			p.process(worker("metax", "23034", "3", "", ""), true)
			p.add("process_placement_unknown", 1, "vendor", "metax")
			return p
		},
		"one-node": func() page {
			p := one()
			p.process(holder{"metax", "100", "python", []string{"0"}, "0-7", "0"}, true)
			return p
		},
		"spanning": func() page {
			p := two(0, 0, 1, 1)
			p.process(holder{"ascend", "100", "python", []string{"0", "1", "2", "3"}, "0-7", "0-1"}, true)
			p.process(worker("ascend", "101", "2", "4-7", "1"), true)
			return p
		},
		"short-of-memory": func() page {
			p := two(0, 0)
			p.process(holder{"ascend", "100", "python", []string{"0", "1"}, "0-7", "0-1"}, true)
			p.add("process_node_memory_bytes", 2<<30, "vendor", "ascend", "pid", "100", "node", "0")
			p.add("process_node_memory_bytes", 30<<30, "vendor", "ascend", "pid", "100", "node", "1")
			return p
		},
		"memory-only": func() page { return memoryOnly(2) },
		"no-lists": func() page {
			var p page
			for _, s := range two(0) {
				if !strings.HasSuffix(s.Name, "cpu_list_info") && !strings.Contains(s.Name, "distance") {
					p = append(p, s)
				}
			}
			p.add("numa_node_conflict", 1, "vendor", "ascend", "device", "0")
			p.add("process_memory_used_bytes", 1, "vendor", "ascend", "device", "0", "pid", "100", "process", "py\x1b[31m\tthon")
			p.add("process_near_cpus_ratio", 0.5, "vendor", "ascend", "device", "0", "pid", "100")
			return p
		},
		"node-not-known": func() page { return two(0, -1) },
		"empty":          func() page { return nil },
	}
	for name, of := range machines {
		t.Run(name, func(t *testing.T) {
			r := Judge(Read(of()))
			var text, json strings.Builder
			if err := r.Text(&text); err != nil {
				t.Fatal(err)
			}
			if err := r.JSON(&json); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt", text.String())
			golden(t, name+".json", json.String())
		})
	}
	files, err := filepath.Glob("testdata/*.*")
	if err != nil || len(files) != 2*len(machines) {
		t.Errorf("%d golden files for %d machines: %v", len(files), len(machines), err)
	}
}

// Memory that is short is told, of one process and of all together, where it would be
// taken: also on a node that has memory alone.
func TestShortOfMemory(t *testing.T) {
	hold := func(p page, mb float64, node string, pids ...string) page {
		for _, pid := range pids {
			p.process(holder{"ascend", pid, "python", []string{"0"}, "0-7", "0-2"}, true)
			p.add("process_node_memory_bytes", mb*(1<<20), "vendor", "ascend", "pid", pid, "node", node)
		}
		return p
	}
	for name, tt := range map[string]struct {
		on   page
		want string // empty for nothing
	}{
		"one":                   {hold(two(0), 20001, "1", "1", "2"), "on node 0 for process 1: it holds 20001 MB on other nodes, and 20000 MB are free"},
		"all together":          {hold(two(0), 12000, "1", "1", "2"), "on node 0 for all processes together: they hold 24000 MB on other nodes, and 20000 MB are free"},
		"enough for all":        {hold(two(0), 10000, "1", "1", "2"), ""},
		"there already":         {hold(two(0), 12000, "0", "1", "2"), ""},
		"card on memory alone":  {hold(memoryOnly(2), 50000, "1", "1"), ""},
		"on it already":         {hold(memoryOnly(2), 90000, "2", "1"), ""},
		"too much for both":     {hold(memoryOnly(2), 90000, "1", "1"), "on nodes 0 and 2 for process 1: it holds 90000 MB on other nodes, and 83000 MB are free"},
		"nobody knows how much": {hold(two(0), 0, "x", "1"), "20000 MB are free on node 0; what the processes hold is not on the page"},
	} {
		all := strings.Join(Judge(Read(tt.on)).Advice.Remarks, "\n")
		if short := strings.Contains(all, " free"); short != (tt.want != "") || !strings.Contains(all, tt.want) {
			t.Errorf("%s: %q", name, all)
		}
	}
}

// The nodes stand as numactl --hardware has them in the users' document, figure for
// figure.
func TestAsNumactl(t *testing.T) {
	text, err := os.ReadFile("../../../shared/reference/mxc500-vllm-benchmark.md")
	if err != nil {
		t.Skip(err)
	}
	at := strings.Index(string(text), "available: 8 nodes")
	want, _, _ := strings.Cut(string(text[at:]), "```")
	var got strings.Builder
	Read(users()).hardware(&got)
	if diff := cmp.Diff(trimmed(want), trimmed(got.String())); diff != "" {
		t.Errorf("(-numactl +got):\n%s", diff)
	}
}

// trimmed is the lines of a text without the blanks at their ends.
func trimmed(text string) []string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

func TestDevices(t *testing.T) {
	p := two(0, 0, 1, 1)
	p.cards("metax", "MX", 0, 0)
	p.add("numa_node", 0, "vendor", "metax", "device", "1.1")
	p.add("probe_target_device_info", 1, "target", "main", "vendor", "ascend", "device", "3")
	p.add("probe_target_device_info", 1, "target", "main", "vendor", "ascend", "device", "2")
	m := Read(p)
	cards := func(m *Machine, err error) string {
		if err != nil {
			return err.Error()
		}
		var ids []CardID
		for _, c := range m.Cards {
			ids = append(ids, c.CardID)
		}
		return cardList(ids)
	}
	for text, want := range map[string]string{
		"0":         "ascend 0, metax 0",
		"1-2":       "ascend 1 2",
		"ascend/0":  "ascend 0",
		"0,1.1":     "ascend 0, metax 0 1.1",
		"metax/0-9": "metax 0",
		"9":         "no such card on the exporter's page, which has ascend 0, ascend 1, ascend 2, ascend 3, metax 0, metax 1.1",
	} {
		meant, err := ParseDevices(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := cards(m.Only(meant)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", "0-", "3-1", "0,,1", "-"} {
		if _, err := ParseDevices(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
	if got := cards(m.OfTarget("main")); got != "ascend 2 3" {
		t.Error(got)
	}
	if got, want := cards(m.OfTarget("other")), `the exporter's page does not tell which cards serve "other", but those of main`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Of two servers, the one whose cards are asked for gets the binding to their node, and
// the other's processes are not its business.
func TestBindingOfSomeCards(t *testing.T) {
	p := two(0, 0, 1, 1)
	p.process(holder{"ascend", "1", "a", []string{"0"}, "0-7", "0-1"}, true)
	p.process(holder{"ascend", "2", "b", []string{"2"}, "4-7", "1"}, true)
	meant, err := ParseDevices("2-3")
	if err != nil {
		t.Fatal(err)
	}
	m, err := Read(p).Only(meant)
	if err != nil {
		t.Fatal(err)
	}
	r := Judge(m)
	if r.Outcome() != AllPlaced || len(r.Verdicts) != 1 || r.Advice.Binding.Numactl != "numactl --cpunodebind=1 --membind=1" {
		t.Errorf("%+v %+v", r.Verdicts, r.Advice.Binding)
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
			line := s.Name + ": " + s.Meaning
			if s.Recommended {
				line += " (recommended)"
			}
			all = append(all, strings.TrimSpace(line+" "+strings.Join(s.Prefix, " ")))
		}
		return strings.Join(all, "\n")
	}
	for name, tt := range map[string]struct {
		on   page
		want string
	}{
		"two nodes": {two(1, 1), `none: unbound
node1: bound to node 1 (recommended) numactl --cpunodebind=1 --membind=1
node0: bound to node 0 numactl --cpunodebind=0 --membind=0
interleaved: interleaved over all nodes numactl --interleave=all`},
		"cards on both": {two(0, 1), `none: unbound
node0: bound to node 0 numactl --cpunodebind=0 --membind=0
node1: bound to node 1 numactl --cpunodebind=1 --membind=1
interleaved: interleaved over all nodes numactl --interleave=all`},
		"a node of memory alone": {memoryOnly(2), `none: unbound
node0: bound to node 0 (recommended) numactl --cpunodebind=0 --membind=0,2
node1: bound to node 1 numactl --cpunodebind=1 --membind=1
interleaved: interleaved over all nodes numactl --interleave=all`},
		"no memory on the page": {noMemory(0), `none: unbound
node0: bound to node 0 (recommended) numactl --cpunodebind=0 --localalloc
node1: bound to node 1 numactl --cpunodebind=1 --localalloc
interleaved: interleaved over all nodes numactl --interleave=all`},
		"a node without memory": {oneWithMemory(1), `none: unbound
node1: bound to node 1 (recommended) numactl --cpunodebind=1 --localalloc
node0: bound to node 0 numactl --cpunodebind=0 --membind=0
interleaved: interleaved over all nodes numactl --interleave=all`},
		"nothing but cards on the other": {cardsOnly(1), "there is one NUMA node only, so there is no binding to compare"},
		"one node":                       {one(), "there is one NUMA node only, so there is no binding to compare"},
		"none":                           {nil, "the page has no NUMA nodes (is the exporter's collector numa off?)"},
	} {
		if diff := cmp.Diff(tt.want, lines(tt.on)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
