package show

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
)

const (
	pageWidth  = 100 // columns of this program's own blocks
	labelWidth = 18
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
	label = pad(fit(label, pageWidth/2), labelWidth-1) + " "
	lines := wrap(value, pageWidth-2-columns(label))
	p.line("  %s%s", label, lines[0])
	p.behind(strings.Repeat(" ", 2+labelWidth), lines[1:])
}

// warning writes one warning.
func (p *page) warning(text string) { p.marked("warning: ", text) }

// marked writes a text after a mark, broken where it is too long for a line.
func (p *page) marked(mark, text string) {
	p.behind(mark, wrap(words.Clean(text), pageWidth-len(mark)))
}

// behind writes lines with a mark before the first.
func (p *page) behind(mark string, lines []string) {
	for i, line := range lines {
		if i > 0 {
			mark = strings.Repeat(" ", columns(mark))
		}
		p.line("%s%s", mark, line)
	}
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
	if !words.Known(v) {
		return 0
	}
	return v
}
