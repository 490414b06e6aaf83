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

// Vocabulary maps a header word, lower case and without its unit, to the shape
// of its values. A word may hold blanks ("npu id"). Words it does not know are
// Scalars, so that they still take their place.
type Vocabulary map[string]Shape

// Column is one header word.
type Column struct {
	Word  string // lower case, without the unit
	Unit  string // what stood in parentheses: W, C, %, MB, page; often empty
	Shape Shape
}

// Columns reads the header words of one cell.
func (v Vocabulary) Columns(cell string) []Column {
	fields := strings.Fields(cell)
	var cols []Column
	for len(fields) > 0 {
		if unit, ok := strings.CutPrefix(fields[0], "("); ok && len(cols) > 0 {
			cols[len(cols)-1].Unit = strings.TrimSuffix(unit, ")")
			fields = fields[1:]
			continue
		}
		n := v.longest(fields)
		word, unit := splitUnit(strings.Join(fields[:n], " "))
		cols = append(cols, Column{Word: word, Unit: unit, Shape: v[word]})
		fields = fields[n:]
	}
	return cols
}

// longest returns how many fields make the longest known word, at least 1.
func (v Vocabulary) longest(fields []string) int {
	const longestWord = 4 // "process id in container"
	for n := min(longestWord, len(fields)); n > 1; n-- {
		if strings.Contains(strings.Join(fields[:n-1], " "), "(") {
			continue // a unit ends a word
		}
		word, _ := splitUnit(strings.Join(fields[:n], " "))
		if _, known := v[word]; known {
			return n
		}
	}
	return 1
}

func splitUnit(s string) (word, unit string) {
	word, unit, found := strings.Cut(s, "(")
	if found {
		unit = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(unit), ")"))
	}
	return strings.ToLower(strings.TrimSpace(word)), unit
}

// Values splits a data cell into one value a column, appended to dst. It
// reports false, and appends nothing, when the cell does not hold as many
// values as the header has words: which one is missing cannot be known, so none
// is guessed.
func Values(dst []string, cols []Column, cell string) ([]string, bool) {
	if len(cols) == 1 {
		return append(dst, cell), true
	}
	tokens := Tokens(cell, hasShape(cols, Pair))
	phrase := phraseIndex(cols)
	switch {
	case len(tokens) == len(cols):
		return append(dst, tokens...), true
	case phrase < 0 || len(tokens) < len(cols)-1:
		return dst, false
	}
	after := len(cols) - 1 - phrase
	dst = append(dst, tokens[:phrase]...)
	dst = append(dst, strings.Join(tokens[phrase:len(tokens)-after], " "))
	return append(dst, tokens[len(tokens)-after:]...), true
}

func hasShape(cols []Column, s Shape) bool {
	for _, c := range cols {
		if c.Shape == s {
			return true
		}
	}
	return false
}

func phraseIndex(cols []Column) int {
	for i, c := range cols {
		if c.Shape == Phrase {
			return i
		}
	}
	return -1
}

// Tokens splits a cell at blanks, keeps a unit with its number ("36 C"), and,
// with pairs, keeps what stands on both sides of a slash together ("0    / 0").
func Tokens(cell string, pairs bool) []string {
	fields := strings.Fields(cell)
	tokens := fields[:0]
	joining := false
	for _, f := range fields {
		if strings.EqualFold(f, "n/a") {
			f = "NA" // its slash is not a pair's
		}
		last := len(tokens) - 1
		switch {
		case last >= 0 && (joining || pairs && f[0] == '/'):
			tokens[last] += f
		case last >= 0 && isUnit(f) && endsInDigit(tokens[last]):
			tokens[last] += f
		default:
			tokens = append(tokens, f)
		}
		joining = pairs && f[len(f)-1] == '/'
	}
	return tokens
}

func isUnit(s string) bool {
	switch s {
	case "C", "W", "%", "KB", "KiB", "MB", "MiB", "GB", "GiB", "MHz":
		return true
	}
	return false
}

func endsInDigit(s string) bool {
	c := s[len(s)-1]
	return '0' <= c && c <= '9'
}
