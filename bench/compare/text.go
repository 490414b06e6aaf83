package compare

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/accelerator-exporter/accelerator_exporter/bench/show"
)

const legend = "A run is one log, taken to be of one start of the server: its repeats count once, by their median. " +
	"In brackets: the 95 % confidence interval of the median; with fewer than 6 runs the lowest and the highest run, " +
	"which hold it with less confidence (5 runs: 94 %, 2 runs: 50 %). Failures and energy are always of the whole step."

// Text writes the comparison for a terminal.
func (c *Comparison) Text(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range c.Sides {
		fmt.Fprintf(table, "side %s\t%s\tn = %d, model %s, dataset %s\n", s.Name, s.Binding, s.Runs, s.Model, s.Dataset)
	}
	for _, b := range c.Bindings {
		fmt.Fprintf(table, "\n%s: bindings\n%s\n", b.Level, b.Verdict)
		fmt.Fprintf(table, "binding\trequests/s\tmean latency, s\toutput tokens/s\tTPOT p50, ms\tagainst %s\n", b.Rows[0].Binding)
		for _, r := range b.Rows {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Binding, r.Requests.text(show.RequestRate), r.Latency.text(show.Seconds),
				r.Output.text(show.TokenRate), r.TPOT.text(show.Milliseconds), cmp.Or(r.Found, "-"))
		}
	}
	for _, l := range c.Levels {
		part := map[string]string{"steady": "steady state", "whole": "whole step"}[l.Part]
		for _, p := range l.Pairs {
			fmt.Fprintf(table, "\n%s: side %s against side %s, %s\n\tside %s\tside %s\n", l.Name, p.Side, p.Base, part, p.Base, p.Side)
			for _, r := range p.Rows {
				unit := r.column.Unit
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.column.Title(), r.Base.text(unit), r.Side.text(unit), r.text(unit))
			}
			for _, warning := range p.Warnings {
				fmt.Fprintf(table, "! %s\n", warning)
			}
		}
	}
	fmt.Fprintf(table, "\n%s\nWith fewer than %d runs of each side no difference can be found, however large.\n", legend, LeastRuns(len(c.Sides)))
	for _, note := range c.Notes {
		fmt.Fprintln(table, note)
	}
	return table.Flush()
}

func (e Estimate) text(unit show.Unit) string {
	switch {
	case len(e.Values) == 0:
		return "-"
	case e.Low == e.High:
		return unit.Text(e.Median)
	}
	return fmt.Sprintf("%s (%s–%s)", unit.Text(e.Median), unit.Text(e.Low), unit.Text(e.High))
}

func (v Verdict) text(unit show.Unit) string {
	text := string(v.Finding)
	switch {
	case v.Change.Known() && unit == show.Share:
		text += fmt.Sprintf(": %+.2f points", 100*v.Change)
	case v.Change.Known():
		text += fmt.Sprintf(": %+.1f %%", 100*v.Change)
	}
	if v.P.Known() {
		text += fmt.Sprintf(" (p=%.2g)", v.P)
	}
	return text
}
