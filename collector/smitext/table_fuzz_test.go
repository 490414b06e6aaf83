package smitext_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/collector/smitext"
)

// Whatever the bytes, a row has the cells that its bars divide, and no column lacks a word.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{"| a | b |\n", "+--+\r\n| 1 |\r\n", "...\n| torn", "|\x00|\n", "| N/A / N/A |\n", "| 12 / 34 MiB | 5 C |\n"} {
		f.Add([]byte(seed))
	}
	header := tableRows.Header([]string{"NPU Name", "Memory-Usage(MB) Temp(C)"})
	f.Fuzz(func(t *testing.T, out []byte) {
		for l := range smitext.Lines(out) {
			if l.Kind == smitext.LineRow && len(l.Cells) != strings.Count(l.Text, "|")-1 {
				t.Fatalf("%q has %d cells", l.Text, len(l.Cells))
			}
			for _, c := range slices.Concat(tableRows.Header(l.Cells)...) {
				if c.Word == "" {
					t.Fatalf("%q has a column without a word", l.Text)
				}
			}
			if b := header.Block(l.Cells); len(b.Entries) > 4 {
				t.Fatalf("%q gives %+v", l.Text, b)
			}
		}
	})
}
