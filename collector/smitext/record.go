package smitext

import (
	"errors"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

var errOtherValues = errors.New("not as many values as the header has columns")

// Record is the values of one row under its header. Read fills it anew, so that a
// parser needs one for a whole table.
type Record struct {
	header *Header
	cells  []string
	values []string // one a column
	fits   []bool   // by column: its cell holds as many values as the header has words
	tokens []string
}

// Read splits a row into one value a column, and reports whether it did. Else the
// record has no values: there is no header, or the row has fewer cells. Where the row has
// more, its header has lost a bar: both are then read as if they had no bars.
func (r *Record) Read(h *Header, cells []string) bool {
	r.header, r.values, r.fits = nil, r.values[:0], r.fits[:0]
	r.cells = append(r.cells[:0], cells...)
	if h == nil || len(cells) < len(h.cells) {
		return false
	}
	if len(cells) > len(h.cells) {
		h, r.cells = h.undivided(), append(r.cells[:0], strings.Join(cells, " "))
	}
	r.header = h
	for i, s := range h.cells {
		fits := r.split(s, r.cells[i])
		for range s.end - s.first {
			r.fits = append(r.fits, fits)
		}
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
		return false
	}
	before, after := s.phrase-s.first, s.end-1-s.phrase
	phrase := strings.Join(r.tokens[before:len(r.tokens)-after], " ")
	r.values = append(r.values, r.tokens[:before]...)
	r.values = append(r.values, strings.Join(strings.Fields(phrase), " "))
	r.values = append(r.values, r.tokens[len(r.tokens)-after:]...)
	return true
}

// Text returns the row as it was printed, without its blanks.
func (r *Record) Text() string { return strings.Join(r.cells, "|") }

// Get returns the value under a word, and false when the header lacks the word or
// the values of its cell do not line up with their words.
func (r *Record) Get(word string) (string, bool) {
	i := r.header.Find(word)
	if i < 0 {
		return "", false
	}
	return r.values[i], r.fits[i]
}

// Index returns the value under a word where it is a small whole number: a card's,
// a chip's, a process's. It may be the only value of its cell, if it is the first.
func (r *Record) Index(word string) (string, bool) {
	i := r.header.Find(word)
	if i < 0 {
		return "", false
	}
	value, cell := r.values[i], r.header.cellOf[i]
	if !r.fits[i] && r.header.cells[cell].first == i {
		value, _, _ = strings.Cut(r.cells[cell], " ")
	}
	_, isIndex := Index(value)
	return value, isIndex
}

// Readings adds the reading of every column that has a metric and that skip does not refuse.
// A cell with other values than its header has words is one error for all of them.
func (r *Record) Readings(to *model.Readings, skip func(c *Column, text string) bool, warn func(error)) {
	unread := -1 // cell
	for i, text := range r.values {
		c, cell := &r.header.Columns[i], r.header.cellOf[i]
		switch {
		case c.Field == nil, cell == unread, skip != nil && skip(c, text):
		case r.fits[i]:
			if err := c.Field.Read(to, text, c.Unit); err != nil {
				warn(CannotRead(c.Word, text, err))
			}
		case r.cells[cell] != "":
			unread = cell
			warn(CannotRead(c.Word, r.cells[cell], errOtherValues))
		}
	}
}

// Header words of the tables of processes, which vocabularies give to the tool's own.
const (
	PID           = "pid"
	ProcessName   = "process name"
	ProcessMemory = "process memory"
)

// Process reads a row of a table of processes, but for the card. It is not known where no
// memory is printed.
func (r *Record) Process() (p model.Process, known bool, err error) {
	pid, okPID := r.Index(PID)
	memory, okMemory := r.Get(ProcessMemory)
	if !okPID || !okMemory {
		return p, false, CannotRead("a process", r.Text(), errOtherValues)
	}
	bytes, known, err := Bytes.parse(memory, r.header.Columns[r.header.Find(ProcessMemory)].Unit)
	if err != nil {
		return p, false, CannotRead(ProcessMemory, memory, err)
	}
	name, _ := r.Get(ProcessName)
	return model.Process{PID: pid, Name: Label(name), UsedBytes: bytes}, known, nil
}

// appendTokens appends the parts of a cell to dst: it splits at blanks, and keeps a unit with
// its number ("36 C") and what stands on both sides of a slash together ("0    / 0"). Slashes
// join only with pairs, since a phrase may be a path; beside a phrase a unit is one only at
// the cell's end, since a phrase may hold a word such as "C".
func appendTokens(dst []string, cell string, pairs, phrase bool) []string {
	base, start, at := len(dst), 0, 0
	joining := false
	for f := range strings.FieldsSeq(cell) {
		begin := at + strings.Index(cell[at:], f)
		at = begin + len(f)
		joins := joining || pairs && f[0] == '/' ||
			isSymbol(f) && len(dst) > base && endsInDigit(dst[len(dst)-1]) && (!phrase || at == len(cell))
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
