package host

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

const mappings = `55d0a2b4e000 default file=/usr/bin/python3.11 mapped=1 N0=1 kernelpagesize_kB=4
55d0a3000000 bind:1 heap anon=512 dirty=512 active=0 N0=300 N1=212 kernelpagesize_kB=4
7f0000000000 interleave:0-1 file=/dev/hugepages/x\040N9\0759 huge dirty=3 N1=3 kernelpagesize_kB=2048
7ffd0a8f1000 default stack anon=3
`

func TestSumNUMAMaps(t *testing.T) {
	want := map[int]float64{0: 301 << 12, 1: 212<<12 + 3<<21}
	got, err := sumNUMAMaps(strings.NewReader(mappings))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, c := range []struct{ name, text, want string }{
		{"no page size", "7f00 default N0=1\n", `"7f00 default N0=1" does not count pages of a size`},
		{"below 0", "7f00 default N0=-1 kernelpagesize_kB=4\n", `"7f00 default N0=-1 kernelpagesize_kB=4" does not count pages of a size`},
		{"no node", "7f00 default Nx=1 kernelpagesize_kB=4\n", `"7f00 default Nx=1 kernelpagesize_kB=4" does not count pages of a size`},
		{"a line without end", strings.Repeat("x", 1<<17), "bufio.Scanner: token too long"},
	} {
		if got, err := sumNUMAMaps(strings.NewReader(c.text)); fmt.Sprint(err) != c.want || got != nil {
			t.Errorf("%s: %v, %v, want the error %s", c.name, got, err, c.want)
		}
	}
	if _, err := sumNUMAMaps(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(mappings)))); err == nil {
		t.Error("a reading that failed is taken for the whole")
	}
}

func FuzzSumNUMAMaps(f *testing.F) {
	f.Add(mappings)
	f.Add("7f00 default N0=1099511627776 N1=1 kernelpagesize_kB=65536\n")
	f.Fuzz(func(t *testing.T, text string) {
		sum, err := sumNUMAMaps(strings.NewReader(text + "\n"))
		twice, errTwice := sumNUMAMaps(strings.NewReader(text + "\n" + text + "\n"))
		if err != nil || errTwice != nil {
			return
		}
		for node := range sum {
			sum[node] *= 2
		}
		if !maps.Equal(sum, twice) {
			t.Errorf("twice the mappings hold %v, once half of %v", twice, sum)
		}
	})
}
