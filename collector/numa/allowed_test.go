package numa

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/internal/cpulist"
)

// status is what a status file ends with.
const status = `Threads:	500
Cpus_allowed:	ff
Cpus_allowed_list:	0-3,6
Mems_allowed:	00000000,00000003
Mems_allowed_list:	0-1
voluntary_ctxt_switches:	150
`

func TestParseAllowed(t *testing.T) {
	want := Allowed{CPUs: []int{0, 1, 2, 3, 6}, Nodes: []int{0, 1}}
	got, err := ParseAllowed("Name:\tpython\n" + status)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s%v", diff, err)
	}
	cut := strings.Index(status, "0-1")
	cases := []struct{ name, text, want string }{
		{"empty", "", "no Cpus_allowed_list or no Mems_allowed_list"},
		{"no nodes", "Cpus_allowed_list:\t0\n", "no Cpus_allowed_list or no Mems_allowed_list"},
		{"cut before its end", status[:cut], "Mems_allowed_list is twice there or cut"},
		{"cut inside the list", status[:cut+1], "Mems_allowed_list is twice there or cut"},
		{"twice", status + "Cpus_allowed_list:\t0\n", "Cpus_allowed_list is twice there or cut"},
		{"no CPUs", strings.Replace(status, "0-3,6", "", 1), "Cpus_allowed_list is empty"},
		{"no list", strings.Replace(status, "0-3,6", "all", 1), `Cpus_allowed_list: "all" is no range of CPUs or nodes`},
		{"without end", strings.Replace(status, "0-3,6", "0-4294967295", 1), `Cpus_allowed_list: "0-4294967295" is no range of CPUs or nodes`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseAllowed(c.text)
			if fmt.Sprint(err) != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if diff := cmp.Diff(Allowed{}, got); diff != "" {
				t.Errorf("something was read:\n%s", diff)
			}
		})
	}
}

const mappings = `55d0a2b4e000 default file=/usr/bin/python3.11 mapped=1 N0=1 kernelpagesize_kB=4
55d0a3000000 bind:1 heap anon=512 dirty=512 active=0 N0=300 N1=212 kernelpagesize_kB=4
7f0000000000 interleave:0-1 file=/dev/hugepages/x\040N9\0759 huge dirty=3 N1=3 kernelpagesize_kB=2048
7ffd0a8f1000 default stack anon=3
`

func TestSumMaps(t *testing.T) {
	want := map[int]int64{0: 301 << 12, 1: 212<<12 + 3<<21}
	for _, r := range []io.Reader{strings.NewReader(mappings), iotest.OneByteReader(strings.NewReader(mappings))} {
		got, err := SumMaps(r)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("(-want +got):\n%s%v", diff, err)
		}
	}
	cases := []struct{ name, text, want string }{
		{"cut", mappings[:len(mappings)-1], "the last line is cut"},
		{"no page size", "7f00 default N0=1\n", `"7f00 default N0=1" has no page size`},
		{"a page of nothing", "7f00 default N0=1 kernelpagesize_kB=0\n", `"7f00 default N0=1 kernelpagesize_kB=0" has no page size`},
		{"below 0", "7f00 default N0=-1 kernelpagesize_kB=4\n", `"N0=-1" is no count`},
		{"no node", "7f00 default Nx=1 kernelpagesize_kB=4\n", `"Nx=1" is no node`},
		{"node without end", "7f00 default N70000=1 kernelpagesize_kB=4\n", `"N70000=1" is no node`},
		{"too much", "7f00 default N0=1099511627776 kernelpagesize_kB=65536\n", `"7f00 default N0=1099511627776 kernelpage"... is more than any memory`},
		{"a line without end", strings.Repeat("x", maxMapsLine+1), "a line of more than 65536 bytes"},
		{"too long", strings.Repeat("7f00 default\n", maxMaps/13+1), "more than 16777216 bytes"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := SumMaps(strings.NewReader(c.text))
			if fmt.Sprint(err) != c.want || got != nil {
				t.Errorf("%v, %v, want the error %s", got, err, c.want)
			}
		})
	}
	if _, err := SumMaps(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(mappings)))); err == nil {
		t.Error("a reading that failed is taken for the whole")
	}
}

func FuzzParseAllowed(f *testing.F) {
	f.Add(status)
	f.Add("Cpus_allowed_list:\t0-65535\nMems_allowed_list:\t0\n")
	f.Add("Cpus_allowed_list:\t1,3,5,7-9,2-4\nMems_allowed_list:\t0-7,9\n")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAllowed(text)
		if err != nil {
			return
		}
		for _, list := range [][]int{a.CPUs, a.Nodes} {
			if len(list) == 0 || list[0] < 0 || list[len(list)-1] >= maxID || !slices.IsSorted(list) {
				t.Errorf("%q gives %v", text, list)
			}
			if again, err := cpulist.Parse(cpulist.Format(list), maxID); err != nil || !slices.Equal(again, list) {
				t.Errorf("%v is written as %q", list, cpulist.Format(list))
			}
		}
	})
}

func FuzzSumMaps(f *testing.F) {
	f.Add(mappings)
	f.Add("7f00 default N0=1099511627776 N1=1 kernelpagesize_kB=65536\n")
	f.Fuzz(func(t *testing.T, text string) {
		sum, err := SumMaps(strings.NewReader(text))
		if err != nil {
			return
		}
		for node, bytes := range sum {
			if bytes < 0 || node < 0 || node >= maxID {
				t.Errorf("%q: %d bytes on node %d", text, bytes, node)
			}
		}
		twice, err := SumMaps(strings.NewReader(text + text))
		for node := range sum {
			if err == nil && twice[node] != 2*sum[node] {
				t.Errorf("node %d: twice the mappings hold %d bytes, once %d", node, twice[node], sum[node])
			}
		}
	})
}
