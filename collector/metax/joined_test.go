package metax_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/fakesmi"
	"github.com/accelerator-exporter/accelerator_exporter/collector/metax"
)

// eight is the lines of a table of eight idle cards, three a card, from line card0 on.
func eight(t *testing.T) (lines []string, card0 int) {
	t.Helper()
	l := fakesmi.MetaXLayouts()[2]
	var b bytes.Buffer
	if err := l.Print(&b, l.Reduce(fakesmi.MetaXMachine(l.Version, fakesmi.Load{})), time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	lines = strings.SplitAfter(b.String(), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "|===") {
			return lines, i + 1
		}
	}
	t.Fatal("no header")
	return nil, 0
}

// Lines that are lost between two cards make one of them, with the values of both.
// Whatever tells that they are lost costs the cards beside them, and no others.
func TestCardsBesideLostLines(t *testing.T) {
	for _, c := range []struct {
		name  string
		edit  func(lines []string, card0 int) []string
		cards string
	}{
		{"nothing is lost", func(l []string, _ int) []string { return l }, "01234567"},
		{"from one card's second row to the next one's: fewer cards than are attached", without(1, 3), "234567"},
		{"the last two cards become one", without(19, 3), "012345"},
		{"a whole card: it may be the same", without(3, 3), "234567"},
		{"one row: what is left tells which card it was", without(4, 1), "0234567"},
		{"a rule", without(5, 1), "0234567"},
		{"as many cards as are attached, although a number is missing", func(l []string, card0 int) []string {
			l = without(3, 3)(l, card0)
			for i := range l {
				l[i] = strings.Replace(l[i], ": 8\n", ": 7\n", 1)
			}
			return l
		}, "0234567"},
		{"up to the box of processes", func(l []string, card0 int) []string {
			at := card0 + 22
			return append(append(l[:at:at], l[at][:58]+"| Critical             |\n", "| 7   1   a   1 |\n"), l[len(l)-3:]...)
		}, "0123456"},
	} {
		lines, card0 := eight(t)
		r, err := metax.ParseTable([]byte(strings.Join(c.edit(lines, card0), "")))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := ""
		for _, d := range r.Devices {
			got += d.ID
		}
		if got != c.cards {
			t.Errorf("%s: cards %s, want %s; warnings: %q", c.name, got, c.cards, r.Warnings.Texts)
		}
	}
}

// without leaves out n lines, the first of which is that many behind the first card's first row.
func without(behind, n int) func(lines []string, card0 int) []string {
	return func(lines []string, card0 int) []string {
		at := card0 + behind
		return append(lines[:at:at], lines[at+n:]...)
	}
}
