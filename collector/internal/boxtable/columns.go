package boxtable

import "strings"

// Shape tells what a column's values look like inside a shared cell.
type Shape uint8

// The shapes.
const (
	Scalar Shape = iota // one word
	Pair                // used / total, with or without blanks round the slash
	Phrase              // free text that may hold blanks; at most one a cell
)

// Vocabulary is the header words a vendor's tool uses, lower case and without
// units, by the shape of their values. A word may hold blanks ("npu id"). A word
// it lacks is a Scalar without blanks, so that it still takes its place.
type Vocabulary struct {
	Scalars, Pairs, Phrases []string
}

// Column is one header word.
type Column struct {
	Word  string // lower case, without the unit
	Unit  string // what stood in parentheses: W, C, %, MB, page; often empty
	Shape Shape
}

// Header is one header row: the columns of all its cells, in order.
type Header struct {
	Columns []Column
	cells   []span
}

// span is the columns [first, end) of Header.Columns, which share a cell.
type span struct {
	first, end int
	phrase     int // the one that may hold blanks, -1 for none
	pairs      bool
}

// Header reads the header words of a row.
func (v Vocabulary) Header(cells []string) *Header {
	h := &Header{Columns: make([]Column, 0, 2*len(cells)), cells: make([]span, 0, len(cells))}
	for _, cell := range cells {
		s := span{first: len(h.Columns), phrase: -1}
		h.Columns = v.appendColumns(h.Columns, cell)
		s.end = len(h.Columns)
		for i, c := range h.Columns[s.first:] {
			switch {
			case c.Shape == Pair:
				s.pairs = true
			case c.Shape == Phrase && s.phrase < 0:
				s.phrase = s.first + i
			}
		}
		h.cells = append(h.cells, s)
	}
	return h
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

// Has reports whether the header has a word.
func (h *Header) Has(word string) bool { return h.Find(word) >= 0 }

// Columns reads the header words of one cell. A unit in parentheses belongs to the
// word before it, with or without a blank between them.
func (v Vocabulary) Columns(cell string) []Column { return v.appendColumns(nil, cell) }

func (v Vocabulary) appendColumns(cols []Column, cell string) []Column {
	before := len(cols)
	for rest := strings.TrimSpace(cell); rest != ""; rest = strings.TrimSpace(rest) {
		if unit, ok := strings.CutPrefix(rest, "("); ok && len(cols) > before {
			unit, rest, _ = strings.Cut(unit, ")")
			cols[len(cols)-1].Unit = strings.TrimSpace(unit)
			continue
		}
		word, shape := v.next(rest)
		cols = append(cols, Column{Word: strings.ToLower(word), Shape: shape})
		rest = rest[len(word):]
	}
	return cols
}

// next finds the longest known word that s starts with, else takes what stands
// before the next blank or parenthesis.
func (v Vocabulary) next(s string) (word string, shape Shape) {
	for i, known := range [...][]string{Scalar: v.Scalars, Pair: v.Pairs, Phrase: v.Phrases} {
		for _, k := range known {
			if n := len(k); n > len(word) && n <= len(s) && strings.EqualFold(s[:n], k) && endsWord(s[n:]) {
				word, shape = s[:n], Shape(i)
			}
		}
	}
	if word != "" {
		return word, shape
	}
	if end := strings.IndexAny(s[1:], wordEnds); end >= 0 {
		return s[:end+1], Scalar
	}
	return s, Scalar
}

const wordEnds = " \t("

func endsWord(rest string) bool { return rest == "" || strings.IndexByte(wordEnds, rest[0]) >= 0 }
