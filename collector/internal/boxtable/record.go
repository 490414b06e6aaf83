package boxtable

import (
	"iter"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/printed"
)

// Record is the values of one row under its header. Read fills it anew, so that a
// parser needs one for a whole table.
type Record struct {
	header *Header
	cells  []string
	values []string // one a column
	fits   []bool   // by cell: it holds as many values as the header has words
	tokens []string
}

// Read splits a row into one value a column, and reports whether it did. Else the
// record has no value at all: when there is no header or the row has other cells than it. The
// record is valid as long as cells.
func (r *Record) Read(h *Header, cells []string) bool {
	if h == nil || len(cells) != len(h.cells) {
		r.header = nil
		return false
	}
	r.header, r.cells = h, cells
	r.values, r.fits = r.values[:0], r.fits[:0]
	for i, s := range h.cells {
		r.fits = append(r.fits, r.split(s, cells[i]))
	}
	return true
}

// split appends one value for each column of a cell. A cell that does not hold as
// many values as its header has words gets empty ones: which value is missing
// cannot be known, so none is guessed.
func (r *Record) split(s span, cell string) bool {
	n := s.end - s.first
	if n == 1 {
		r.values = append(r.values, cell)
		return true
	}
	r.tokens = appendTokens(r.tokens[:0], cell, s.pairs, s.phrase >= 0)
	switch {
	case len(r.tokens) == n && s.phrase < 0:
		r.values = append(r.values, r.tokens...)
		return true
	case s.phrase < 0 || len(r.tokens) < n-1:
		for range n {
			r.values = append(r.values, "")
		}
		return n == 0 && cell == ""
	}
	before, after := s.phrase-s.first, s.end-1-s.phrase
	r.values = append(r.values, r.tokens[:before]...)
	r.values = append(r.values, oneLine(r.tokens[before:len(r.tokens)-after]))
	r.values = append(r.values, r.tokens[len(r.tokens)-after:]...)
	return true
}

// oneLine is a name of several tokens with one blank between its words.
func oneLine(tokens []string) string {
	name := strings.Join(tokens, " ")
	if strings.Contains(name, "  ") {
		name = strings.Join(strings.Fields(name), " ")
	}
	return name
}

// Get returns the value under a word, and false when the header lacks the word or
// the values of its cell do not line up with their words.
func (r *Record) Get(word string) (string, bool) {
	i := r.header.Find(word)
	if i < 0 {
		return "", false
	}
	return r.values[i], r.fits[r.header.cellOf(i)]
}

// Index returns the value under a word where it is a small whole number: a card's,
// a chip's, a process's.
func (r *Record) Index(word string) (string, bool) {
	value, ok := r.Get(word)
	_, isIndex := printed.Index(value)
	return value, ok && isIndex
}

// Lead returns the value under the first word of a cell. It stands first even
// where the values beside it are not printed.
func (r *Record) Lead(word string) (string, bool) {
	value, ok := r.Get(word)
	if i := r.header.Find(word); !ok && i >= 0 && r.header.cells[r.header.cellOf(i)].first == i {
		value, _, _ = strings.Cut(r.Cell(word), " ")
	}
	return value, value != ""
}

// Cell returns the whole cell that a word is in, "" when the header lacks it.
func (r *Record) Cell(word string) string {
	i := r.header.Find(word)
	if i < 0 {
		return ""
	}
	return r.cells[r.header.cellOf(i)]
}

func (h *Header) cellOf(column int) int {
	for i, s := range h.cells {
		if column < s.end {
			return i
		}
	}
	return -1
}

// Value is what one column of a row holds.
type Value struct {
	Column *Column
	Text   string // "" where the values of the cell do not fit its words
	Cell   string // the whole cell
	First  bool   // of its cell
	Fits   bool
}

// Values yields one value a column, in order.
func (r *Record) Values() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		for i, s := range r.header.cells {
			for j := s.first; j < s.end; j++ {
				if !yield(Value{&r.header.Columns[j], r.values[j], r.cells[i], j == s.first, r.fits[i]}) {
					return
				}
			}
		}
	}
}

// Tokens splits a cell at blanks, keeps a unit with its number ("36 C") and what
// stands on both sides of a slash together ("0    / 0").
func Tokens(cell string) []string { return appendTokens(nil, cell, true, false) }

// appendTokens appends the parts of a cell to dst. Slashes join only with pairs,
// since a phrase may be a path; beside a phrase a unit is one only at the cell's
// end, since a phrase may hold a word such as "C".
func appendTokens(dst []string, cell string, pairs, phrase bool) []string {
	base, start, at := len(dst), 0, 0
	joining := false
	for f := range strings.FieldsSeq(cell) {
		begin := at + strings.Index(cell[at:], f)
		at = begin + len(f)
		joins := joining || pairs && f[0] == '/' ||
			printed.IsSymbol(f) && len(dst) > base && endsInDigit(dst[len(dst)-1]) && (!phrase || at == len(cell))
		switch {
		case joins && len(dst) > base:
			dst[len(dst)-1] = cell[start:at]
		default:
			start = begin
			dst = append(dst, cell[start:at])
		}
		joining = pairs && f[len(f)-1] == '/'
	}
	return dst
}

func endsInDigit(s string) bool {
	c := s[len(s)-1]
	return '0' <= c && c <= '9'
}
