package smitext

import (
	"cmp"
	"slices"
	"strings"
)

// Column is one header word of a table.
type Column struct {
	Word string // lower case, without the unit
	Unit string // what stood in parentheses: W, C, %, MB, page; often empty
	Row  *Row   // nil for a word that the vendor's table lacks
}

func (c *Column) isPhrase() bool  { return c.Row != nil && c.Row.Form == FormPhrase }
func (c *Column) isReading() bool { return c.Row != nil && c.Row.Metric != "" }

// Header is one header row: the columns of each of its cells.
type Header [][]Column

// maxColumns bounds what every row under a header costs. Real headers have ten words.
const maxColumns = 64

// Header reads the header words of a row. A word that the table lacks has no blanks, and values without blanks, so that
// it still takes its place.
func (rows Rows) Header(cells []string) Header {
	var h Header
	left := maxColumns
	for _, cell := range cells {
		h = append(h, rows.columns(cell, left))
		left -= len(h[len(h)-1])
	}
	return h
}

// columns reads the header words of one cell. A unit in parentheses belongs to the word before it, with or without a
// blank between them.
func (rows Rows) columns(cell string, most int) (all []Column) {
	for rest := strings.TrimSpace(cell); rest != "" && len(all) < most; rest = strings.TrimSpace(rest) {
		if unit, ok := strings.CutPrefix(rest, "("); ok && len(all) > 0 {
			unit, rest, _ = strings.Cut(unit, ")")
			all[len(all)-1].Unit = strings.TrimSpace(unit)
			continue
		}
		n, row := rows.nextWord(rest)
		c := Column{Word: strings.ToLower(rest[:n]), Row: row}
		if row != nil {
			c.Word = cmp.Or(row.As, c.Word)
		}
		all = append(all, c)
		rest = rest[n:]
	}
	return all
}

// nextWord returns the length of the longest known word that s starts with, else of what stands before the next blank or
// parenthesis.
func (rows Rows) nextWord(s string) (length int, known *Row) {
	const ends = " \t("
	for i := range rows {
		n := len(rows[i].Word)
		isWord := n <= len(s) && strings.EqualFold(s[:n], rows[i].Word) && (n == len(s) || strings.IndexByte(ends, s[n]) >= 0)
		if isWord && n > length {
			length, known = n, &rows[i]
		}
	}
	if known == nil {
		if length = strings.IndexAny(s[1:], ends) + 1; length == 0 {
			length = len(s)
		}
	}
	return length, known
}

// hasAll reports whether the header has all of some words, of which there must be one.
func (h Header) hasAll(words []string) bool {
	columns := slices.Concat(h...)
	return len(words) > 0 && !slices.ContainsFunc(words, func(word string) bool {
		return !slices.ContainsFunc(columns, func(c Column) bool { return c.Word == word })
	})
}

// Block returns the entries of a row, one a column. It has none where there is no header, or the row has fewer cells.
// Where the row has more, its header has lost a bar: both are then read as if they had no bars.
func (h Header) Block(cells []string) Block {
	b := Block{Text: strings.Join(cells, "|")}
	if len(h) == 0 || len(cells) < len(h) {
		return b
	}
	if len(cells) > len(h) {
		h, cells = Header{slices.Concat(h...)}, []string{strings.Join(cells, " ")}
	}
	for i, columns := range h {
		values := cellValues(columns, cells[i])
		if values == nil {
			b.Entries = append(b.Entries, misfitEntries(columns, cells[i])...)
			continue
		}
		for j, c := range columns {
			b.Entries = append(b.Entries, Entry{Word: c.Word, Unit: c.Unit, Value: values[j]})
		}
	}
	return b
}

// misfitEntries are those of a cell that has other values than its header has words: which value is missing is not
// known, so none is guessed, but that the first is the first word's, such as a card's number.
func misfitEntries(columns []Column, cell string) (all []Entry) {
	first, _, _ := strings.Cut(cell, " ")
	if len(columns) > 0 && first != "" && !columns[0].isReading() && !columns[0].isPhrase() {
		all = append(all, Entry{Word: columns[0].Word, Unit: columns[0].Unit, Value: first})
	}
	if i := slices.IndexFunc(columns, func(c Column) bool { return c.isReading() }); i >= 0 && cell != "" {
		all = append(all, Entry{Word: columns[i].Word, Value: cell, Err: errOtherValues})
	}
	return all
}

// cellValues splits a cell into one value a column, nil where it has more or fewer.
func cellValues(columns []Column, cell string) []string {
	if len(columns) == 1 {
		return []string{cell}
	}
	phrase := slices.IndexFunc(columns, func(c Column) bool { return c.isPhrase() })
	hasPairs := slices.ContainsFunc(columns, func(c Column) bool { return c.Row != nil && c.Row.Form.isPair() })
	values := tokens(cell, hasPairs, phrase >= 0)
	if end := len(values) - (len(columns) - 1 - phrase); phrase >= 0 && end >= phrase {
		text := strings.Join(strings.Fields(strings.Join(values[phrase:end], " ")), " ")
		values = slices.Concat(values[:phrase], []string{text}, values[end:])
	}
	if len(values) != len(columns) {
		return nil
	}
	return values
}

// tokens splits a cell at blanks, and keeps a unit with its number ("36 C") and what stands on both sides of a slash
// together ("0    / 0"). Slashes join only with pairs, since a phrase may be a path; beside a phrase a unit is one only at
// the cell's end, since a phrase may hold a word such as "C".
func tokens(cell string, pairs, phrase bool) []string {
	all := make([]string, 0, 8)
	start, at, joining := 0, 0, false
	for f := range strings.FieldsSeq(cell) {
		begin := at + strings.Index(cell[at:], f)
		at = begin + len(f)
		isUnit := len(all) > 0 && isSymbol(f) && endsInDigit(all[len(all)-1]) && (!phrase || at == len(cell))
		if len(all) > 0 && (joining || isUnit || pairs && f[0] == '/') {
			all[len(all)-1] = cell[start:at]
		} else {
			start = begin
			all = append(all, cell[start:at])
		}
		joining = pairs && f[len(f)-1] == '/'
	}
	return all
}

func endsInDigit(s string) bool {
	c := s[len(s)-1]
	return '0' <= c && c <= '9'
}
