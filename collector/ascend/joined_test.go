package ascend_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/ascend"
	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
)

// Lines that are lost between two chips make one of them, with the values of both.
// Whatever tells that they are lost costs the chip before them, and no others.
func TestChipsBesideLostLines(t *testing.T) {
	l, err := fakesmi.AscendLayoutNamed("910b-23.0")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := l.Print(&b, l.Reduce(fakesmi.AscendMachine(l.Version, 1, fakesmi.Load{}))); err != nil {
		t.Fatal(err)
	}
	all := strings.SplitAfter(b.String(), "\n")
	const chip0, processes = 6, 6 + 8*3 // the first rows of the two tables
	for _, c := range []struct {
		name     string
		from, to int
		chips    string
	}{
		{"nothing is lost", 0, 0, "01234567"},
		{"from one chip's second row to the next one's: the process table names it", chip0 + 1, chip0 + 4, "234567"},
		{"the last two chips become one", chip0 + 19, chip0 + 22, "012345"},
		{"a whole chip: it may be the same", chip0 + 3, chip0 + 6, "234567"},
		{"one row: what is left tells which chip it was", chip0 + 4, chip0 + 5, "0234567"},
		{"a rule", chip0 + 5, chip0 + 6, "0234567"},
		{"the rule before the table of processes", chip0 + 23, processes + 1, "0123456"},
		{"lines of the table of processes", processes + 4, processes + 9, "01234567"},
	} {
		r, err := ascend.ParseInfo([]byte(strings.Join(append(all[:c.from:c.from], all[c.to:]...), "")))
		got := ""
		for _, d := range r.Devices {
			got += d.ID
		}
		if err != nil || got != c.chips {
			t.Errorf("%s: %v, chips %s, want %s; warnings: %q", c.name, err, got, c.chips, r.Warnings.Texts)
		}
	}
}
