//go:build e2e_numa

// Package numa tests the exporter on a kernel with several NUMA nodes, which QEMU
// emulates: `make e2e-numa`.
package numa

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const mega = 1 << 20

// TestEndToEnd compares the exporter with the kernel's own tools on four nodes, the last of
// them without CPUs, where one process is bound to the card's node, one to another by
// numactl, one by a CPU set, and one not at all.
func TestEndToEnd(t *testing.T) {
	parts := boot(t)
	for mark, text := range parts {
		t.Logf("%s\n%s", mark, text)
	}
	page := samples(parts["page"])
	t.Run("nodes", func(t *testing.T) { checkHardware(t, page, parts["hardware"], parts["hardware after"]) })
	t.Run("allocations", func(t *testing.T) { checkNumastat(t, page, parts["numastat"], parts["numastat after"]) })
	pids := map[string]string{}
	for words := range slices.Chunk(strings.Fields(parts["pids"]), 2) {
		pids[words[0]] = words[1]
	}
	t.Run("places", func(t *testing.T) { checkPlaces(t, page, pids) })
	t.Run("memory", func(t *testing.T) {
		for _, name := range []string{"right", "wrong"} {
			checkMemory(t, page, pids[name], parts["memory of "+pids[name]])
		}
	})
	t.Run("offline", func(t *testing.T) { checkOffline(t, samples(parts["page without CPU 1"]), pids) })
	for line := range strings.Lines(parts["log"]) {
		// An emulated machine may be too slow for an interval; the page has it from the next.
		if !strings.Contains(line, "by node is not known: the") {
			t.Errorf("the exporter complains: %s", line)
		}
	}
}

// samples are those of a page, by what stands in front of the value without the prefix.
func samples(page string) map[string]float64 {
	all := map[string]float64{}
	for line := range strings.Lines(page) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			all[strings.TrimPrefix(name, "accelerator_")] = v
		}
	}
	return all
}

// about are the samples of some metrics.
func about(page map[string]float64, names string) map[string]float64 {
	of := regexp.MustCompile(`^(` + names + `)\{`)
	all := maps.Clone(page)
	maps.DeleteFunc(all, func(name string, _ float64) bool { return !of.MatchString(name) })
	return all
}

// checkHardware compares with `numactl --hardware`, whose megabytes are whole ones.
func checkHardware(t *testing.T, page map[string]float64, before, after string) {
	want := map[string]float64{}
	matrix := false
	for line := range strings.Lines(before) {
		f := strings.Fields(strings.ReplaceAll(line, ":", " "))
		switch {
		case strings.HasPrefix(line, "node distances"):
			matrix = true
		case matrix && len(f) > 0 && f[0] != "node":
			for peer, d := range f[1:] {
				want[fmt.Sprintf(`numa_distance{node="%s",peer="%d"}`, f[0], peer)] = number(t, d)
			}
		case len(f) > 2 && f[2] == "cpus":
			want[fmt.Sprintf(`numa_cpus{node="%s"}`, f[1])] = float64(len(f) - 3)
		case len(f) > 3 && f[2] == "size":
			want[fmt.Sprintf(`numa_memory_total_bytes{node="%s"}`, f[1])] = number(t, f[3])
		}
	}
	if len(want) != 4+4+16 {
		t.Errorf("numactl tells %d figures:\n%s", len(want), before)
	}
	got := about(page, "numa_distance|numa_cpus|numa_memory_total_bytes")
	for name := range got {
		if strings.HasPrefix(name, "numa_memory") {
			got[name] = float64(int(got[name] / mega))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-numactl +exporter):\n%s", diff)
	}
	lists := map[string]float64{
		`numa_cpu_list_info{cpus="0-1",node="0"}`: 1, `numa_cpu_list_info{cpus="2-3",node="1"}`: 1,
		`numa_cpu_list_info{cpus="4",node="2"}`: 1, `numa_cpu_list_info{cpus="",node="3"}`: 1,
	}
	if diff := cmp.Diff(lists, about(page, "numa_cpu_list_info")); diff != "" {
		t.Errorf("lists of CPUs (-QEMU's +exporter):\n%s", diff)
	}
	// Free memory moves; the page lies between two readings, which lie near each other.
	const slack = 16
	free := regexp.MustCompile(`node (\d) free: (\d+) MB`)
	later := free.FindAllStringSubmatch(after, -1)
	for i, m := range free.FindAllStringSubmatch(before, -1) {
		a, b := number(t, m[2]), number(t, later[i][2])
		got := page[fmt.Sprintf(`numa_memory_free_bytes{node="%s"}`, m[1])] / mega
		if got < min(a, b)-slack || got > max(a, b)+slack {
			t.Errorf("node %s: %.0f MB free, by numactl %.0f before and %.0f after", m[1], got, a, b)
		}
	}
}

// checkNumastat compares with two outputs of numastat around the page: counts only grow.
func checkNumastat(t *testing.T, page map[string]float64, before, after string) {
	a, b := columns(before), columns(after)
	compared := 0
	for row, counts := range a {
		for node, from := range counts {
			name := fmt.Sprintf(`numa_allocations_total{node="%d",result="%s"}`, node, strings.TrimPrefix(row, "numa_"))
			got, ok := page[name]
			if to := b[row][node]; !ok || got < from || got > to {
				t.Errorf("%s: %.0f, by numastat %.0f before and %.0f after", name, got, from, to)
			}
			compared++
		}
	}
	if compared != 6*4 {
		t.Errorf("%d counts are compared, want 6 of each of 4 nodes:\n%s", compared, before)
	}
}

// columns reads rows of a name and figures.
func columns(text string) map[string][]float64 {
	all := map[string][]float64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		var figures []float64
		for _, word := range f[min(1, len(f)):] {
			if v, err := strconv.ParseFloat(word, 64); err == nil {
				figures = append(figures, v)
			}
		}
		if len(figures) > 0 && len(figures) == len(f)-1 {
			all[f[0]] = append(all[f[0]], figures...) // numastat -p cuts wide tables in parts
		}
	}
	return all
}

// checkPlaces tells the processes apart. The card is on node 0.
func checkPlaces(t *testing.T, page map[string]float64, pids map[string]string) {
	want := map[string]float64{`process_placement_unknown{vendor="metax"}`: 1} // no process has the last number
	for _, p := range []struct {
		name, cpus, mems string
		ratio, memory    float64
	}{
		{"right", "0-1", "0-3", 1, 1},
		{"wrong", "2-3", "0-3", 0, 1}, // the kernel does not tell numactl's policy here
		{"unbound", "0-4", "0-3", 0.4, 1},
		{"container", "1,3-4", "1", 1.0 / 3, 0},
	} {
		pid := pids[p.name]
		want[fmt.Sprintf(`process_cpus_info{cpus="%s",mems="%s",pid="%s",vendor="metax"}`, p.cpus, p.mems, pid)] = 1
		want[fmt.Sprintf(`process_near_cpus_ratio{device="0",pid="%s",vendor="metax"}`, pid)] = p.ratio
		want[fmt.Sprintf(`process_near_memory_allowed{device="0",pid="%s",vendor="metax"}`, pid)] = p.memory
	}
	if diff := cmp.Diff(want, about(page, "process_cpus_info|process_near_.*|process_placement_unknown")); diff != "" {
		t.Errorf("(-as they were started +exporter):\n%s", diff)
	}
}

// checkMemory compares with `numastat -p`, which has hundredths of megabytes.
func checkMemory(t *testing.T, page map[string]float64, pid, numastat string) {
	total := columns(numastat)["Total"]
	if len(total) != 5 { // four nodes and their sum
		t.Fatalf("numastat -p prints no totals of four nodes:\n%s", numastat)
	}
	for node, want := range total[:4] {
		got := page[fmt.Sprintf(`process_node_memory_bytes{node="%d",pid="%s",vendor="metax"}`, node, pid)] / mega
		if got < want-0.02 || got > want+0.02 {
			t.Errorf("process %s holds %.2f MB on node %d, by numastat %.2f", pid, got, node, want)
		}
	}
}

// checkOffline: with CPU 1 off, node 0 has one CPU of four.
func checkOffline(t *testing.T, page map[string]float64, pids map[string]string) {
	want := map[string]float64{`numa_cpu_list_info{cpus="0",node="0"}`: 1, `numa_cpus{node="0"}`: 1}
	for name, cpus := range map[string]string{"right": "0", "unbound": "0,2-4", "container": "3-4"} {
		ratio := map[string]float64{"right": 1, "unbound": 0.25, "container": 0}[name]
		mems := map[bool]string{true: "1", false: "0-3"}[name == "container"]
		want[fmt.Sprintf(`process_cpus_info{cpus="%s",mems="%s",pid="%s",vendor="metax"}`, cpus, mems, pids[name])] = 1
		want[fmt.Sprintf(`process_near_cpus_ratio{device="0",pid="%s",vendor="metax"}`, pids[name])] = ratio
	}
	for name, v := range want {
		if got, ok := page[name]; !ok || got != v {
			t.Errorf("%s is %v, want %v", name, got, v)
		}
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Error(err)
	}
	return v
}
