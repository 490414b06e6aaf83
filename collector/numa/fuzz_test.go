package numa

import (
	"strconv"
	"strings"
	"testing"
	"unicode"
)

func FuzzParseMeminfo(f *testing.F) {
	f.Add("Node 0 MemTotal:        6514892 kB\nNode 0 MemFree:         6216096 kB\nNode 0 MemUsed:          298796 kB\n", 0)
	f.Add("Node 3 MemTotal: 0 kB\nNode 3 MemFree: 0 kB\n", 3)
	f.Add("\nNode 1 MemTotal: 18446744073709551615 kB\nNode 1 MemFree:\n", 1)
	f.Add("Node 0 MemTotal: 1 kB\nNode 0 MemFree: 2 kB\nMemTotal: 3 kB", 0)
	f.Fuzz(func(t *testing.T, text string, id int) {
		figures, problems := parseMeminfo(text, id)
		for _, r := range figures {
			if v := r.Value; v < 0 || v > 1<<63 || v != float64(uint64(v)) {
				t.Errorf("%g is no number of bytes", v)
			}
		}
		if total, ok := figures.Get("numa_memory_total_bytes"); ok && total == 0 || len(figures) > 3 {
			t.Errorf("read %v", figures)
		}
		oneLine(t, problems)
	})
}

func FuzzParseDistances(f *testing.F) {
	f.Add("10\n", 1)
	f.Add("10 21 31 41\n", 4)
	f.Add("10 256", 2)
	f.Add("", 0)
	f.Fuzz(func(t *testing.T, text string, nodes int) {
		all := span(5, 4+max(0, min(nodes, 1024)))
		distances, problems := parseDistances(text, all)
		if len(distances) != len(all) && len(problems) == 0 || len(distances) > 0 && len(problems) > 0 {
			t.Errorf("%d distances for %d nodes, %v", len(distances), len(all), problems)
		}
		for i, r := range distances {
			if r.Value < 1 || r.Value > 255 || r.Labels[0] != strconv.Itoa(all[i]) {
				t.Errorf("distance %v to node %q", r.Value, r.Labels)
			}
		}
		oneLine(t, problems)
	})
}

func FuzzParseNumastat(f *testing.F) {
	f.Add("numa_hit 9146688\nnuma_miss 0\nnuma_foreign 0\ninterleave_hit 1132\nlocal_node 9146688\nother_node 0\n")
	f.Add("numa_hit 1 2\nother_node")
	f.Add("numa_hit 18446744073709551616\nnuma_hit 1\nnuma_hit 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		counts, problems := parseNumastat(text)
		if len(counts) > 6 {
			t.Errorf("%d counts", len(counts))
		}
		if len(counts)+len(problems) == 0 {
			t.Error("nothing was read and nobody told")
		}
		oneLine(t, problems)
	})
}

func FuzzPCIName(f *testing.F) {
	for _, seed := range []string{"0000:3b:00.0", "0000:3B:00.0", "10000:e1:1f.7", "00000000:05:00.0", "3b:00.0", "../../x", "0000:3b:00.0/..", "0000:3b:00. 0", "NA"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		name, ok := pciName(address)
		if !ok {
			if name != "" {
				t.Errorf("%q beside a refusal", name)
			}
			return
		}
		if strings.Trim(name, "0123456789abcdef:.") != "" || strings.Contains(name, "..") {
			t.Errorf("%q became the file name %q", address, name)
		}
		if again, ok := pciName(name); !ok || again != name {
			t.Errorf("%q is another name than itself: %q", name, again)
		}
	})
}

// oneLine checks that problems can be logged and compared.
func oneLine(t *testing.T, problems []error) {
	t.Helper()
	for _, p := range problems {
		if s := p.Error(); len(s) > 300 || strings.ContainsFunc(s, unicode.IsControl) {
			t.Errorf("a problem reads %q", s)
		}
	}
}
