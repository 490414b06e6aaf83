package report

import "strings"

// Grid is a table of texts: a first column of names, and columns of figures. What
// is not known is "-". Its texts hold no control characters.
type Grid struct {
	Caption string
	Heads   [][]string // one or more lines, each with a cell for every column
	Rows    [][]string
}

// write lays the table out. What does not fit beside each other on the page
// goes into a table of its own below, with the first column again.
func (g *Grid) write(p *page, indent int) {
	widths := make([]int, len(g.Heads[0]))
	for _, line := range append(g.Heads[:len(g.Heads):len(g.Heads)], g.Rows...) {
		for i, cell := range line {
			widths[i] = max(widths[i], columns(cell))
		}
	}
	const gap = 2
	for from := 1; from < len(widths); {
		used, to := indent+widths[0], from
		for to < len(widths) && (to == from || used+gap+widths[to] <= pageWidth) {
			used += gap + widths[to]
			to++
		}
		if from > 1 {
			p.line("")
		}
		for _, line := range g.Heads {
			p.gridLine(line, widths, indent, from, to)
		}
		for _, line := range g.Rows {
			p.gridLine(line, widths, indent, from, to)
		}
		from = to
	}
}

func (p *page) gridLine(cells []string, widths []int, indent, from, to int) {
	line := strings.Repeat(" ", indent) + pad(cells[0], widths[0])
	for i := from; i < to; i++ {
		line += "  " + padLeft(cells[i], widths[i])
	}
	p.line("%s", strings.TrimRight(line, " "))
}
