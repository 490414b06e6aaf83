package show

import (
	"io"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
)

// Checks writes an empty line and then what says how far the figures of a
// step can be trusted: its [Facts], the steady state beside the whole step, the
// cards, and the warnings, each begun with "warning: ". It is at most 100 columns
// wide; what is not known is "-".
func Checks(w io.Writer, s *result.Step) error {
	var p page
	p.line("")
	p.line("Checks, %s", fit(words.Clean(s.Heading()), 80))
	p.checks(s)
	for _, text := range s.Warnings {
		p.warning(text)
	}
	return p.writeTo(w)
}

func (p *page) checks(s *result.Step) {
	for _, f := range Facts(s) {
		p.row(f.Name, f.Text)
	}
	g := RateGrid(s)
	g.Rows = append(g.Rows, latencyRows(s)...)
	g.write(p, 2)
	if len(s.Cards) == 0 {
		return
	}
	g = CardGrid(s)
	for _, row := range g.Rows {
		row[0], row[1] = fit(row[0], 16), fit(row[1], 20)
	}
	g.write(p, 2)
}
