package configfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MaxMistakes bounds how many mistakes of one configuration are told.
const MaxMistakes = 20

// Mistake is one thing that is wrong with a configuration. It repeats no value of
// the configuration but names, hosts and the names of files: a secret in the wrong
// place would be one.
type Mistake struct {
	File  string // "" for what is not in a file
	Line  int    // from 1; 0 where it is not known
	Field string // as "http.tls_config.ca_file"; "" for the whole
	Text  string // what is wrong, and what would be right
}

// Error is "file:line: field: what is wrong, such as an example".
func (m Mistake) Error() string {
	var b strings.Builder
	switch {
	case m.File != "" && m.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", m.File, m.Line)
	case m.File != "":
		b.WriteString(m.File + ": ")
	case m.Line > 0:
		fmt.Fprintf(&b, "line %d: ", m.Line)
	}
	if m.Field != "" {
		b.WriteString(m.Field + ": ")
	}
	b.WriteString(m.Text)
	return b.String()
}

// Mistakes are several, of which the first MaxMistakes are told.
type Mistakes []Mistake

// Error is a line for each mistake.
func (m Mistakes) Error() string {
	lines := make([]string, 0, len(m))
	for _, err := range m.Unwrap() {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap are the mistakes that are told, and how many are not.
func (m Mistakes) Unwrap() []error {
	var errs []error
	for i, one := range m {
		if i == MaxMistakes {
			return append(errs, fmt.Errorf("and %d more", len(m)-i))
		}
		errs = append(errs, one)
	}
	return errs
}

// Err is nil for no mistake.
func (m Mistakes) Err() error {
	if len(m) == 0 {
		return nil
	}
	return m
}

// Sorted are the mistakes by line, each once.
func (m Mistakes) Sorted() Mistakes {
	slices.SortStableFunc(m, func(a, b Mistake) int { return cmp.Compare(a.Line, b.Line) })
	return slices.Compact(m)
}

// Examples are right values, as YAML, by field.
type Examples map[string]string

// Wrong is a mistake in a field, with the example of the field.
func (e Examples) Wrong(field, format string, args ...any) Mistake {
	text := fmt.Sprintf(format, args...)
	if example := e[field]; example != "" {
		text += ", such as " + example
	}
	return Mistake{Field: field, Text: text}
}
