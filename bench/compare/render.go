package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
)

const (
	legend = "In brackets: the 95 % confidence interval of the median; with fewer than 6 runs the lowest and the highest run, " +
		"which hold it with less confidence (5 runs: 94 %, 2 runs: 50 %)."
	legendWhole = "Failures and J/output token are always of the whole step."
	legendPower = "Needed to tell: if runs spread as these did, a true difference of this size is found in 80 of 100 such comparisons. " +
		"More repeats make it smaller."
	legendDoubt = "Marked !: these sides were not under the same load or settings. Read the warnings first."
)

// form is how a text shows the parts of a comparison: by formats, of a line each.
type form struct {
	side, title, warning, note string
	head, row, between         string // of a table: both sides, the cells, and what is between two
	rule                       string // below the names of columns, for five of them
	sentence                   string
	escape                     func(string) string
}

// Text writes the comparison for a terminal.
func (c *Comparison) Text(w io.Writer) error {
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	c.write(table, form{
		side: "%s\t%s\n", title: "\n%s\n", warning: "! %s\n", note: "%s\n",
		sentence: "%s\n", head: "\t%s\t%s\t\n", row: "%s\n", between: "\t", escape: func(text string) string { return strings.ReplaceAll(text, "\t", " ") },
	})
	_ = table.Flush()
	_, err := w.Write(trimLines(out.Bytes()))
	return err
}

// Markdown writes the comparison as tables for a document.
func (c *Comparison) Markdown(w io.Writer) error {
	var out bytes.Buffer
	c.write(&out, form{
		side: "- **%s**: %s\n", title: "\n### %s\n\n", warning: "\n> **!** %s\n", note: "- %s\n",
		sentence: "**%s**\n\n", rule: "|---|---:|---:|---:|---:|\n", head: "| | %s | %s | |\n|---|---:|---:|---|\n", row: "| %s |\n", between: " | ", escape: markdown,
	})
	_, err := w.Write(out.Bytes())
	return err
}

// write writes the comparison in a form, into memory.
func (c *Comparison) write(w io.Writer, f form) {
	line := func(format string, texts ...string) {
		escaped := make([]any, len(texts))
		for i, text := range texts {
			escaped[i] = f.escape(text)
		}
		fmt.Fprintf(w, format, escaped...)
	}
	for _, s := range c.Sides {
		line(f.side, sideNamed(s.Name), s.text())
	}
	for _, n := range c.NotStarted {
		line(f.warning, n.text())
	}
	for _, warning := range c.Warnings {
		line(f.warning, warning)
	}
	for _, b := range c.Bindings {
		line(f.title, b.Level+": bindings")
		line(f.sentence, b.Verdict)
		for i, cells := range b.table() {
			for j := range cells {
				cells[j] = f.escape(cells[j])
			}
			fmt.Fprintf(w, f.row, strings.Join(cells, f.between))
			if i == 0 {
				fmt.Fprint(w, f.rule)
			}
		}
	}
	for _, l := range c.Levels {
		for _, p := range l.Pairs {
			line(f.title, l.title(p))
			line(f.head, sideNamed(p.Base), sideNamed(p.Side))
			for _, r := range p.Rows {
				cells := []string{r.label, r.Base.text(r.scale), r.Side.text(r.scale), p.verdict(r)}
				for i := range cells {
					cells[i] = f.escape(cells[i])
				}
				fmt.Fprintf(w, f.row, strings.Join(cells, f.between))
			}
			for _, warning := range p.Warnings {
				line(f.warning, warning)
			}
		}
	}
	fmt.Fprintln(w)
	for _, note := range c.footnotes() {
		line(f.note, note)
	}
}

// table is the names of the columns and a row for each binding.
func (b Bindings) table() [][]string {
	rows := [][]string{{"binding", "requests/s", "mean latency, s", "output tokens/s", "TPOT p50, ms"}}
	for _, r := range b.Rows {
		rows = append(rows, []string{r.Binding, r.Requests.text(1), r.Latency.text(1), r.Output.text(1), r.TPOT.text(1e3)})
	}
	return rows
}

// JSON writes the comparison as one object, indented.
func (c *Comparison) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

func (a About) text() string {
	parts := words.List{words.Counted(a.Runs, "run"), "model " + a.Model, "dataset " + a.Dataset}
	parts.If(a.Server != "", "%s", a.Server)
	return parts.String()
}

func (n NotStarted) text() string {
	return fmt.Sprintf("%s could not be started: %s (%s)", sideNamed(n.Side), n.Reason, n.Server)
}

func (l Level) title(p Pair) string {
	part := "whole step"
	if l.Part == "steady" {
		part = "steady state"
	}
	return fmt.Sprintf("%s: %s against %s, %s", l.Name, sideNamed(p.Side), sideNamed(p.Base), part)
}

// sideNamed is a side in a text: its name alone may be any word, such as none.
func sideNamed(name string) string { return "side " + name }

// verdict is what can be said of a row.
func (p Pair) verdict(r Row) string {
	if p.doubts(r) {
		return r.Text + " !"
	}
	return r.Text
}

// doubts reports whether a difference was found that is to be read with care.
func (p Pair) doubts(r Row) bool {
	return p.Doubtful && (r.Finding == Higher || r.Finding == Lower || r.Finding == Differs)
}

func (e Estimate) text(scale float64) string {
	switch {
	case len(e.Values) == 0:
		return "–"
	case len(e.Values) == 1 || e.Low == e.High:
		return figure(scale*e.Median, 4)
	}
	return fmt.Sprintf("%s (%s–%s)", figure(scale*e.Median, 4), figure(scale*e.Low, 4), figure(scale*e.High, 4))
}

// anyRow reports whether some row is so.
func (c *Comparison) anyRow(is func(Pair, Row) bool) bool {
	return slices.ContainsFunc(c.Levels, func(l Level) bool {
		return slices.ContainsFunc(l.Pairs, func(p Pair) bool {
			return slices.ContainsFunc(p.Rows, func(r Row) bool { return is(p, r) })
		})
	})
}

func (c *Comparison) footnotes() []string {
	var notes words.List
	notes.If(c.anyRow(func(_ Pair, r Row) bool { return len(r.Base.Values) > 1 || len(r.Side.Values) > 1 }), "%s", legend)
	notes.If(slices.ContainsFunc(c.Levels, func(l Level) bool { return l.Part == "steady" }), "%s", legendWhole)
	notes.If(c.anyRow(func(_ Pair, r Row) bool { return r.Finding == NotTold && r.Detectable != nil }), "%s", legendPower)
	notes.If(c.anyRow(Pair.doubts), "%s", legendDoubt)
	return append(notes, c.Notes...)
}

// figure is v with so many significant digits and no exponent.
func figure(v float64, digits int) string {
	if v == 0 {
		return "0"
	}
	// By way of the exponent form, so that 9.996 becomes 10.00 and not 9.996.
	text := strconv.FormatFloat(v, 'e', digits-1, 64)
	rounded, err := strconv.ParseFloat(text, 64)
	if err != nil || rounded == 0 {
		return "0"
	}
	decimals := digits - 1 - int(math.Floor(math.Log10(math.Abs(rounded))))
	return strconv.FormatFloat(rounded, 'f', min(max(0, decimals), 9), 64)
}

// markdown keeps text from being read as marks.
func markdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "\n", " ").Replace(text)
}

// trimLines takes the blanks that align columns off the ends of lines.
func trimLines(text []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		out.Write(bytes.TrimRight(line, " \n"))
		out.WriteByte('\n')
	}
	return out.Bytes()
}
