package show

import (
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// Grid is a table of texts: a first column of names, and columns of figures. What
// is not known is "-". Its texts hold no control characters.
type Grid struct {
	Caption string
	Heads   [][]string // one or more lines, each with a cell for every column
	Rows    [][]string
}

// stepGrid has a row for each step.
func stepGrid(r *result.Report, caption string, columns []result.Column) Grid {
	g := Grid{Caption: caption, Heads: [][]string{{"step"}, {""}}}
	for _, c := range columns {
		g.Heads[0], g.Heads[1] = append(g.Heads[0], c.Head), append(g.Heads[1], c.Below)
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		row := []string{words.Clean(s.Name)}
		for _, c := range columns {
			row = append(row, cell(c, s, &s.Whole))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// cell is a column's value with as many digits as matter.
func cell(c result.Column, s *result.Step, f *result.Figures) string {
	v, known := c.Value(s, f)
	switch {
	case !known:
		return words.Unknown
	case c.Unit == result.Count:
		return words.Integer(v)
	}
	return words.Number(v * c.Unit.Scale())
}

// Head is the heads in one line.
func (g *Grid) Head() []string {
	head := make([]string, len(g.Heads[0]))
	for _, line := range g.Heads {
		for i, text := range line {
			head[i] = strings.TrimSpace(head[i] + " " + text)
		}
	}
	return head
}

// widths are those of the columns.
func (g *Grid) widths() []int {
	widths := make([]int, len(g.Heads[0]))
	for _, lines := range [][][]string{g.Heads, g.Rows} {
		for _, line := range lines {
			for i, cell := range line {
				widths[i] = max(widths[i], columns(cell))
			}
		}
	}
	return widths
}

const gap = "  " // between columns

// fitting is how many columns from one on fit on the page beside the first, at least
// one.
func fitting(widths []int, from, indent int) int {
	used, n := indent+widths[0], 0
	for _, w := range widths[from:] {
		if used += len(gap) + w; n > 0 && used > pageWidth {
			break
		}
		n++
	}
	return n
}

// write lays the table out. What does not fit beside each other on the page
// goes into a table of its own below, with the first column again.
func (g *Grid) write(p *page, indent int) {
	widths := g.widths()
	for from := 1; from < len(widths); {
		to := from + fitting(widths, from, indent)
		if from > 1 {
			p.line("")
		}
		for _, lines := range [][][]string{g.Heads, g.Rows} {
			for _, line := range lines {
				text := strings.Repeat(" ", indent) + pad(line[0], widths[0])
				for i := from; i < to; i++ {
					text += gap + padLeft(line[i], widths[i])
				}
				p.line("%s", strings.TrimRight(text, " "))
			}
		}
		from = to
	}
}
