package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/plaintext"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

const (
	pageWidth  = 100 // columns of this program's own blocks
	labelWidth = 18
	noFigure   = "-" // where there is nothing to show
)

// page collects the lines of a text before they are written at once, so that
// the only error of a renderer is that of writing.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) {
	fmt.Fprintf(p, format, args...)
	p.WriteByte('\n')
}

func (p *page) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, p.String())
	return err
}

// row writes a label and its value, the value broken into as many lines as it
// needs. A label that is longer than its column makes the value's narrower.
func (p *page) row(label, value string) {
	indent := strings.Repeat(" ", 2+labelWidth)
	label = pad(fit(label, pageWidth/2), labelWidth-1) + " "
	for i, part := range wrap(value, pageWidth-2-columns(label)) {
		if i == 0 {
			p.line("  %s%s", label, part)
			continue
		}
		p.line("%s%s", indent, part)
	}
}

// warning writes one warning.
func (p *page) warning(text string) { p.marked("warning: ", text) }

// marked writes a text after a mark, broken where it is too long for a line.
func (p *page) marked(mark, text string) {
	for i, part := range wrap(clean(text), pageWidth-len(mark)) {
		if i == 0 {
			p.line("%s%s", mark, part)
			continue
		}
		p.line("%*s%s", len(mark), "", part)
	}
}

// clean makes text from outside fit for a line of a terminal.
func clean(text string) string {
	return strings.TrimSpace(plaintext.Line(text))
}

// columns is the width of text on a terminal.
func columns(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana),
		r >= 0x3000 && r <= 0x303f, r >= 0xff01 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff:
		return 2
	}
	return 1
}

// fit cuts text to a number of columns, with a mark where it was cut.
func fit(text string, width int) string {
	used, cut := 0, 0 // cut is where the mark still fits
	for i, r := range text {
		if used < width {
			cut = i
		}
		if used += runeColumns(r); used > width {
			return text[:cut] + "…"
		}
	}
	return text
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-columns(text)))
}

func padLeft(text string, width int) string {
	return strings.Repeat(" ", max(0, width-columns(text))) + text
}

// wrap breaks text at blanks into lines of at most width columns; a word that
// is longer is cut into pieces. There is always one line.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && columns(line)+1+columns(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for head := fit(word, width); head != word; head = fit(word, width) {
			head = strings.TrimSuffix(head, "…")
			lines, word = append(lines, head), word[len(head):]
		}
		line = word
	}
	return append(lines, line)
}

// finite is v, or 0 where v is not a number or without bound: neither may reach
// a reader of ours.
func finite(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// number writes v with as many digits as matter, in few columns, and "-" where it
// is no finite number.
func number(v float64) string {
	switch a := math.Abs(v); {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return noFigure
	case a == 0:
		return "0"
	case a < 0.1:
		return strconv.FormatFloat(v, 'f', min(1-int(math.Floor(math.Log10(a))), 9), 64)
	case a < 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a < 1000:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a < 1e9:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// integer writes a count that came as a float.
func integer(v float64) string {
	if number(v) == noFigure {
		return noFigure
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// percent writes a share of 0 to 1.
func percent(share float64) string {
	if number(share*100) == noFigure {
		return noFigure
	}
	return number(share*100) + " %"
}

// millis writes the percentile p in milliseconds.
func millis(d Distribution, p float64) string {
	v, ok := d.At(p)
	if d.Count == 0 || !ok {
		return noFigure
	}
	return number(v * 1e3)
}

// meanMillis writes the mean in milliseconds.
func meanMillis(d Distribution) string {
	if d.Count == 0 {
		return noFigure
	}
	return number(d.Mean * 1e3)
}

// counted writes "1 line", "2 lines".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// percentileName writes 99 as "99" and 99.9 as "99.9".
func percentileName(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) }

// reasons are the reasons of an account's failures, in the order of
// [openai.Reasons], any others after them.
func reasons(a Account) []openai.Reason {
	var found []openai.Reason
	for _, r := range openai.Reasons() {
		if a.Failed[r] > 0 {
			found = append(found, r)
		}
	}
	known := len(found)
	for r, n := range a.Failed {
		if n > 0 && !slices.Contains(found[:known], r) {
			found = append(found, r)
		}
	}
	slices.Sort(found[known:])
	return found
}
