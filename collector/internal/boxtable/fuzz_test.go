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
