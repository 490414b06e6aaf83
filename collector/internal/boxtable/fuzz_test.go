package boxtable_test

import (
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/boxtable"
)

// Whatever the bytes, every row has the cells that its bars enclose, and no cell
// holds more than the line.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "|", "||", "| a | b |\n", "+--+\r\n| 1 |\r\n", "...\n| torn", "|\x00|\n", "| N/A / N/A |\n", "| 12 / 34 MiB | 5 C |\n",
	} {
		f.Add([]byte(seed))
	}
	header := vocabulary().Header([]string{"NPU Name", "Memory-Usage(MB) Temp(C)"})
	f.Fuzz(func(t *testing.T, out []byte) {
		var r boxtable.Record
		n := 0
		for l := range boxtable.Lines(out) {
			n++
			if (l.Kind == boxtable.Row) != (len(l.Cells) > 0) {
				t.Fatalf("%q is a line of kind %d with %d cells", l.Text, l.Kind, len(l.Cells))
			}
			if l.Kind == boxtable.Row && len(l.Cells) != strings.Count(l.Text, "|")-1 {
				t.Fatalf("%q has %d cells", l.Text, len(l.Cells))
			}
			for _, c := range vocabulary().Header(l.Cells).Columns {
				if c.Word == "" {
					t.Fatalf("%q has a column without a word", l.Text)
				}
			}
			if !r.Read(header, l.Cells) {
				continue
			}
			for v := range r.Values() {
				if v.Fits && len(v.Text) > len(v.Cell) || !v.Fits && v.Text != "" {
					t.Fatalf("%q gives %+v", l.Text, v)
				}
			}
		}
		if most := strings.Count(string(out), "\n") + 1; n > most {
			t.Fatalf("%d lines out of %d", n, most)
		}
	})
}

// Whatever the cell, a usage is non-negative and within its total.
func FuzzParseUsage(f *testing.F) {
	for _, seed := range []string{"1/2", "0    / 0", "NA / 5 MiB", "N/A/N/A", "-3 / 4", "18446744073709551615 / 4", "9 GiB / 1 KiB", "/", "1 / 2 / 3"} {
		f.Add(seed, "MB")
	}
	f.Fuzz(func(t *testing.T, cell, unit string) {
		u, err := boxtable.ParseUsage(cell, unit)
		for _, v := range []*float64{u.Used, u.Total} {
			if v != nil && !(*v >= 0 && *v < 1<<60) {
				t.Fatalf("%q gives %v", cell, *v)
			}
		}
		if u.Used != nil && u.Total != nil && *u.Used > *u.Total {
			t.Fatalf("%q gives %v of %v", cell, *u.Used, *u.Total)
		}
		if u.Total != nil && *u.Total == 0 {
			t.Fatalf("%q gives a total of 0", cell)
		}
		if err != nil && u.Used != nil {
			t.Fatalf("%q gives %v and %v", cell, *u.Used, err)
		}
	})
}

func FuzzNumbers(f *testing.F) {
	for _, seed := range []string{"0", "-1.5", "71 W", "0000:3b:00.0", "99999999999", "99999999999999991808", ".", "1e5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, ok := boxtable.Number(s, "W"); ok && !(v >= -1e20 && v <= 1e20) {
			t.Fatalf("Number(%q) = %v", s, v)
		}
		if n, ok := boxtable.Index(s); ok && n < 0 {
			t.Fatalf("Index(%q) = %d", s, n)
		}
		if boxtable.PCIAddress(s) && boxtable.Absent(s) {
			t.Fatalf("%q is an address and nothing", s)
		}
	})
}
