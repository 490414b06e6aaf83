package boxtable

import (
	"strings"
	"unicode"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
)

// frame is the rules that a box is drawn with. Tools pad their rows to them, so a
// shorter row lost a part. A longer one may have a value that is too long.
type frame struct {
	out    string // of the tool, whole
	rule   string // the last rule
	fitted int    // length of the rule that a row of this box was as long as
	before Kind

	looked, renamed bool // whether out was searched for names, and are the rows with one all short
}

// add takes the next line, and reports whether it is a row that lost a part. A box
// of which no row is as long as its rule is not padded, and says nothing.
func (f *frame) add(line Line) (damaged bool) {
	n := len(line.Text)
	switch {
	case line.Kind == Row:
		damaged = f.fitted > 0 && f.fitted == len(f.rule) && n < len(f.rule) && !f.isRenamed(line.Text)
		if n == len(f.rule) {
			f.fitted = n
		}
	case line.Kind == Text || line.Kind == Separator && f.before == Separator: // a new box
		f.fitted = 0
	}
	if line.Kind == Separator && !line.Elided {
		f.rule = line.Text
	}
	f.before = line.Kind
	return damaged
}

// isRenamed reports whether a row is short because somebody who published the output put
// shorter names into it: into that of every card. One row alone lost a part.
func (f *frame) isRenamed(row string) bool {
	if !isShortName(row, f.rule) {
		return false
	}
	if !f.looked {
		f.looked, f.renamed = true, allShortNames(f.out)
	}
	return f.renamed
}

func allShortNames(out string) bool {
	rule := ""
	for text := range strings.Lines(out) {
		line := classify(strings.TrimSpace(text))
		switch {
		case line.Kind == Separator && !line.Elided:
			rule = line.Text
		case line.Kind == Row && isNamed(line.Text) && !isShortName(line.Text, rule):
			return false
		}
	}
	return true
}

// isShortName reports whether the first cell of a row has a card's number and name and is
// all by which the row is shorter than the rule.
func isShortName(row, rule string) bool {
	if !isNamed(row) || len(rule) < 2 {
		return false
	}
	width, cell := strings.IndexAny(rule[1:], "+|"), strings.IndexByte(row[1:], '|')
	return cell < width && len(rule)-len(row) == width-cell
}

// isNamed reports whether the first cell of a row begins with a card's number and name.
func isNamed(row string) bool {
	cell, _, _ := strings.Cut(row[1:], "|")
	words := strings.Fields(cell)
	if len(words) < 2 {
		return false
	}
	_, isNumber := printed.Index(words[0])
	return isNumber && strings.ContainsFunc(words[1], unicode.IsLetter)
}
