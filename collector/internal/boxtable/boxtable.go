// Package boxtable reads tables drawn with + - = and | characters, as vendor
// tools print them. It knows no vendor: what a header word means is told by the
// caller, in a Vocabulary.
//
// Nothing is read by position or width. A row that lost its closing bar is
// torn, and a torn row is never data: a cut number is a wrong number.
package boxtable

import (
	"iter"
	"strings"
)

// Kind is what a line of output is.
type Kind uint8

// The kinds of line.
const (
	Text      Kind = iota // anything outside a table, blank lines too
	Separator             // +----+====+, or ... where somebody cut rows out
	Row                   // | a | b |
	Torn                  // | a | b   without its closing bar
)

// Line is one line of output. Cells belong to the iterator and are valid only
// until the next line.
type Line struct {
	Kind  Kind
	Text  string   // trimmed
	Cells []string // of a Row: trimmed, as many as the bars enclose
	// Damaged reports whether a Row is shorter than the rules that its box is drawn with.
	Damaged bool
	Elided  bool // a Separator is dots, where somebody cut rows out
}

// Lines splits output into lines. Line ends may be LF or CRLF.
func Lines(out []byte) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		rest := string(out)
		cells := make([]string, 0, 8)
		f := frame{out: rest}
		for rest != "" {
			text, tail, _ := strings.Cut(rest, "\n")
			rest = tail
			line := classify(strings.TrimSpace(text))
			if line.Kind == Row {
				cells = appendCells(cells[:0], line.Text)
				line.Cells = cells
			}
			line.Damaged = f.add(line)
			if !yield(line) {
				return
			}
		}
	}
}

func classify(s string) Line {
	line := Line{Text: s}
	switch {
	case s == "":
	case isSeparator(s):
		line.Kind = Separator
	case s[0] == '|' && len(s) > 1 && s[len(s)-1] == '|':
		line.Kind = Row
	case s[0] == '|':
		line.Kind = Torn
	case len(s) >= 3 && strings.Trim(s, ".… ") == "":
		line.Kind, line.Elided = Separator, true
	}
	return line
}

// isSeparator reports whether a row is any mixture of rule characters: real tools print |---+---|,
// +---+===+ and even +-----=+. A blank makes it a row of "-", which says that
// nothing is known.
func isSeparator(s string) bool {
	rule := false
	for i := range len(s) {
		switch s[i] {
		case '-', '=':
			rule = true
		case '+', '|':
		default:
			return false
		}
	}
	return rule
}

func appendCells(cells []string, row string) []string {
	inner := row[1 : len(row)-1]
	for {
		cell, rest, more := strings.Cut(inner, "|")
		cells = append(cells, strings.TrimSpace(cell))
		if !more {
			return cells
		}
		inner = rest
	}
}
