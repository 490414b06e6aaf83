package smitext

import (
	"cmp"
	"slices"
	"strings"
)

// Word is a header word that the caller knows, lower case and without its unit. It
// may hold blanks ("npu id").
type Word struct {
	Text   string
	As     string // the word that columns get, where it differs
	Phrase bool   // values are free text that may hold blanks; at most one a cell
	Field  Field  // what is read from the values, nothing where it has no metric
}

// Vocabulary is the header words of a vendor's tables. A word that it lacks has no
// blanks, and values without blanks, so that it still takes its place.
type Vocabulary []Word

// Column is one header word of a table.
type Column struct {
	Word   string // lower case, without the unit
	Unit   string // what stood in parentheses: W, C, %, MB, page; often empty
	Phrase bool
	Field  *Field // nil where no metric is read from the values
}

// Header is one header row: the columns of all its cells, in order.
type Header struct {
	Columns []Column
	cells   []span
	cellOf  []int // by column
}

// span is the columns [first, end) of Header.Columns, which share a cell.
type span struct {
	first, end int
	phrase     int // the one that may hold blanks, -1 for none
	pairs      bool
}

// maxColumns bounds what every row under a header costs. Real headers have ten words.
const maxColumns = 64

// Header reads the header words of a row.
func (v Vocabulary) Header(cells []string) *Header {
	h := &Header{Columns: make([]Column, 0, 2*len(cells))}
	for _, cell := range cells {
		h.Columns = v.appendColumns(h.Columns, cell)
		h.addCell()
	}
	return h
}

// addCell makes a cell of those columns that are in none.
func (h *Header) addCell() {
	s := span{first: len(h.cellOf), end: len(h.Columns), phrase: -1}
	for i := s.first; i < s.end; i++ {
		switch c := &h.Columns[i]; {
		case c.Field != nil && c.Field.isPair():
			s.pairs = true
		case c.Phrase && s.phrase < 0:
			s.phrase = i
		}
		h.cellOf = append(h.cellOf, len(h.cells))
	}
	h.cells = append(h.cells, s)
}

// undivided is the header as a row of one cell.
func (h *Header) undivided() *Header {
	one := &Header{Columns: h.Columns}
	one.addCell()
	return one
}

// Find returns where in Columns a word is, -1 when the header lacks it. A nil
// Header has no words.
func (h *Header) Find(word string) int {
	if h == nil {
		return -1
	}
	for i := range h.Columns {
		if h.Columns[i].Word == word {
			return i
		}
	}
	return -1
}

// hasAll reports whether the header has all of some words, of which there must be one.
func (h *Header) hasAll(words []string) bool {
	return len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return h.Find(w) < 0 })
}

// appendColumns reads the header words of one cell. A unit in parentheses belongs to the
// word before it, with or without a blank between them.
func (v Vocabulary) appendColumns(cols []Column, cell string) []Column {
	before := len(cols)
	for rest := strings.TrimSpace(cell); rest != "" && len(cols) < maxColumns; rest = strings.TrimSpace(rest) {
		if unit, ok := strings.CutPrefix(rest, "("); ok && len(cols) > before {
			unit, rest, _ = strings.Cut(unit, ")")
			cols[len(cols)-1].Unit = strings.TrimSpace(unit)
			continue
		}
		n, known := v.next(rest)
		c := Column{Word: strings.ToLower(rest[:n])}
		if known != nil {
			c.Word, c.Phrase = cmp.Or(known.As, c.Word), known.Phrase
			if known.Field.Metric != "" {
				c.Field = &known.Field
			}
		}
		cols = append(cols, c)
		rest = rest[n:]
	}
	return cols
}

// next returns the length of the longest known word that s starts with, else of
// what stands before the next blank or parenthesis.
func (v Vocabulary) next(s string) (length int, known *Word) {
	for i := range v {
		w := &v[i]
		n := len(w.Text)
		if n > length && n <= len(s) && endsWord(s[n:]) && strings.EqualFold(s[:n], w.Text) {
			length, known = n, w
		}
	}
	if known == nil {
		if length = strings.IndexAny(s[1:], wordEnds) + 1; length == 0 {
			length = len(s)
		}
	}
	return length, known
}

const wordEnds = " \t("

func endsWord(rest string) bool { return rest == "" || strings.IndexByte(wordEnds, rest[0]) >= 0 }
