package smitext

import (
	"iter"
	"strings"
)

// Kind is what a line of output is.
type Kind uint8

// The kinds of line.
const (
	LineText      Kind = iota // anything outside a table, blank lines too
	LineSeparator             // +----+====+, or ... where somebody cut rows out
	LineRow                   // | a | b |
	LineTorn                  // | a | b   without its closing bar
)

// Line is one line of output. Cells belong to the iterator and are valid only
// until the next line.
type Line struct {
	Kind  Kind
	Text  string   // trimmed
	Cells []string // of a row, also of a torn one: trimmed, as many as the bars divide
}

// Lines splits output into lines. Line ends may be LF or CRLF.
func Lines(out []byte) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		cells := make([]string, 0, 8)
		for text := range strings.Lines(string(out)) {
			text = strings.TrimSpace(text)
			line := Line{Kind: kindOf(text), Text: text}
			if line.Kind == LineRow || line.Kind == LineTorn {
				cells = cells[:0]
				for cell := range strings.SplitSeq(strings.TrimSuffix(text[1:], "|"), "|") {
					cells = append(cells, strings.TrimSpace(cell))
				}
				line.Cells = cells
			}
			if !yield(line) {
				return
			}
		}
	}
}

func kindOf(s string) Kind {
	switch {
	case isSeparator(s), len(s) >= 3 && strings.Trim(s, ".… ") == "":
		return LineSeparator
	case s == "" || s[0] != '|':
		return LineText
	case len(s) > 1 && s[len(s)-1] == '|':
		return LineRow
	}
	return LineTorn
}

// isSeparator reports whether a line is any mixture of rule characters: real tools print |---+---|,
// +---+===+ and even +-----=+. A blank makes it a row of "-", which says that
// nothing is known.
func isSeparator(s string) bool {
	return strings.ContainsAny(s, "-=") && strings.Trim(s, "+-=|") == ""
}
