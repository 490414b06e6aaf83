package cpulist

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// most is above every number in these tests that is read.
const most = 65536

func span(first, last int) []int {
	numbers := []int{}
	for n := first; n <= last; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

func TestParse(t *testing.T) {
	cases := []struct {
		list string
		want []int // nil: refused
	}{
		{"", []int{}},
		{"\n", []int{}},
		{"0", []int{0}},
		{"0-3\n", span(0, 3)},
		{"0-1,4,6-7", []int{0, 1, 4, 6, 7}},
		{"6-7,0-1", []int{0, 1, 6, 7}},
		{"0-3,2-5,4,0", span(0, 5)},
		{"65535", []int{65535}},
		{"65536", nil},
		{"0-4294967295", nil},
		{"0-99999999999999999999", nil},
		{"3-0", nil},
		{"0-3,", nil},
		{",", nil},
		{"-3", nil},
		{"0--3", nil},
		{"0-3-5", nil},
		{"+1", nil},
		{"1 2", nil},
		{"0-31:2/4", nil},
		{"0x1", nil},
		{"N/A", nil},
	}
	for _, c := range cases {
		got, err := Parse(c.list, most)
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.want != nil) {
			t.Errorf("Parse(%q): %v (-want +got):\n%s", c.list, err, diff)
		}
	}
	// The same ranges again and again cost no more than once.
	all := strings.TrimSuffix(strings.Repeat("0-65535,", 8000), ",")
	if got, err := Parse(all, most); err != nil || !slices.Equal(got, span(0, 65535)) {
		t.Errorf("many ranges: %d CPUs, %v", len(got), err)
	}
}

func TestFormat(t *testing.T) {
	for _, list := range []string{"", "0", "0-1", "0-31,64-95", "1,3,5-7,9"} {
		ids, err := Parse(list, most)
		if got := Format(ids); got != list || err != nil {
			t.Errorf("%q became %q: %v", list, got, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"", "0\n", "0-31,64-95\n", "0-", "3-1", "0-4294967295", "1,1,0-2", "0-3,", "a-b", " 1 , 2 "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cpus, err := Parse(text, most)
		if err != nil {
			if cpus != nil {
				t.Errorf("%d CPUs beside the error %v", len(cpus), err)
			}
			return
		}
		for i, cpu := range cpus {
			if cpu < 0 || cpu >= most || i > 0 && cpu <= cpus[i-1] {
				t.Fatalf("CPU %d at %d is out of range or order", cpu, i)
			}
		}
		if again, err := Parse(plain(cpus), most); err != nil || !slices.Equal(cpus, again) {
			t.Errorf("%v was read again as %v, %v", cpus, again, err)
		}
	})
}

// plain is the list without ranges.
func plain(numbers []int) string {
	var words []string
	for _, n := range numbers {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ",")
}
