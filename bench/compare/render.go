package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

const legend = "In brackets: the 95 % confidence interval of the median; with fewer than 6 runs the lowest and the highest run, " +
	"which hold it with less confidence (5 runs: 94 %, 2 runs: 50 %)."

const legendWhole = "Failures and J/output token are always of the whole step."

const legendPower = "Needed to tell: if runs spread as these did, a true difference of this size is found in 80 of 100 such comparisons. " +
	"More repeats make it smaller."

const legendDoubt = "Marked !: these sides were not under the same load or settings. Read the warnings first."

// Text writes the comparison for a terminal.
func (c *Comparison) Text(w io.Writer) error {
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, s := range c.Sides {
		fmt.Fprintf(table, "%s\t%s\n", sideNamed(s.Name), s.text())
	}
	_ = table.Flush()
	for _, warning := range c.Warnings {
		fmt.Fprintf(&out, "! %s\n", warning)
	}
	for _, l := range c.Levels {
		for _, p := range l.Pairs {
			fmt.Fprintf(&out, "\n%s\n", l.title(p))
			table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
			fmt.Fprintf(table, "\t%s\t%s\t\n", sideNamed(p.Base), sideNamed(p.Side))
			for _, r := range p.Rows {
				cells := p.cells(r)
				fmt.Fprintf(table, "%s\n", strings.Join(cells[:], "\t"))
			}
			_ = table.Flush()
			for _, warning := range p.Warnings {
				fmt.Fprintf(&out, "! %s\n", warning)
			}
		}
	}
	fmt.Fprintln(&out)
	for _, note := range c.footnotes() {
		fmt.Fprintln(&out, note)
	}
	_, err := w.Write(trimLines(out.Bytes()))
	return err
}

// Markdown writes the comparison as tables for a document.
func (c *Comparison) Markdown(w io.Writer) error {
	var out bytes.Buffer
	for _, s := range c.Sides {
		fmt.Fprintf(&out, "- **%s**: %s\n", markdown(sideNamed(s.Name)), markdown(s.text()))
	}
	for _, warning := range c.Warnings {
		fmt.Fprintf(&out, "\n> **!** %s\n", markdown(warning))
	}
	for _, l := range c.Levels {
		for _, p := range l.Pairs {
			fmt.Fprintf(&out, "\n### %s\n\n", markdown(l.title(p)))
			fmt.Fprintf(&out, "| | %s | %s | |\n|---|---:|---:|---|\n", markdown(sideNamed(p.Base)), markdown(sideNamed(p.Side)))
			for _, r := range p.Rows {
				cells := p.cells(r)
				for i, cell := range cells {
					cells[i] = markdown(cell)
				}
				fmt.Fprintf(&out, "| %s |\n", strings.Join(cells[:], " | "))
			}
			for _, warning := range p.Warnings {
				fmt.Fprintf(&out, "\n> **!** %s\n", markdown(warning))
			}
		}
	}
	fmt.Fprintln(&out)
	for _, note := range c.footnotes() {
		fmt.Fprintf(&out, "- %s\n", markdown(note))
	}
	_, err := w.Write(out.Bytes())
	return err
}

// JSON writes the comparison as one object, indented.
func (c *Comparison) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

func (a About) text() string {
	runs := "1 run"
	if a.Runs != 1 {
		runs = strconv.Itoa(a.Runs) + " runs"
	}
	text := fmt.Sprintf("%s, model %s, dataset %s", runs, a.Model, a.Dataset)
	if a.Server != "" {
		text += ", " + a.Server
	}
	return text
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

// cells are a row as text: label, both sides, verdict.
func (p Pair) cells(r Row) [4]string {
	verdict := r.Text
	if p.doubts(r) {
		verdict += " !"
	}
	return [4]string{r.label, r.Base.text(r.scale), r.Side.text(r.scale), verdict}
}

// doubts reports whether a difference was found that is to be read with care.
func (p Pair) doubts(r Row) bool {
	return p.Doubtful && (r.Finding == Higher || r.Finding == Lower || r.Finding == Differs)
}

func (e Estimate) text(scale float64) string {
	switch len(e.Values) {
	case 0:
		return "–"
	case 1:
		return figure(scale*e.Median, 4)
	}
	if e.Low == e.High {
		return figure(scale*e.Median, 4)
	}
	return fmt.Sprintf("%s (%s–%s)", figure(scale*e.Median, 4), figure(scale*e.Low, 4), figure(scale*e.High, 4))
}

func (c *Comparison) footnotes() []string {
	var notes []string
	brackets, doubt, steady, needed := false, false, false, false
	for _, l := range c.Levels {
		steady = steady || l.Part == "steady"
		for _, p := range l.Pairs {
			for _, r := range p.Rows {
				doubt = doubt || p.doubts(r)
				needed = needed || r.Finding == NotTold && r.Detectable != nil
				brackets = brackets || len(r.Base.Values) > 1 || len(r.Side.Values) > 1
			}
		}
	}
	if brackets {
		notes = append(notes, legend)
	}
	if steady {
		notes = append(notes, legendWhole)
	}
	if needed {
		notes = append(notes, legendPower)
	}
	if doubt {
		notes = append(notes, legendDoubt)
	}
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
