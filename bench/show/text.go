package show

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf8"
)

// unknown stands where there is no figure.
const unknown = "-"

// Clean makes text from outside fit for a line of a terminal.
func Clean(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text))
}

const maxNamePart = 80 // bytes of each part of a file name; file systems allow 255

var unsafeInNames = regexp.MustCompile(`[^\pL\pN._-]`)

// FileName makes name fit to be a part of a file name: letters of any script, digits and ._- alone, nothing at its
// start that hides the file or looks like a flag, and 80 bytes at most. It is fallback where nothing of name is left.
func FileName(name, fallback string) string {
	name = strings.Trim(unsafeInNames.ReplaceAllString(name, "_"), "._-")
	return cmp.Or(strings.ToValidUTF8(name[:min(len(name), maxNamePart)], ""), fallback)
}

// Table has a first column of names, and columns of figures, - where not known. Its texts hold no control characters.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]string
	IsText  bool // columns of texts, which begin on the left
}

// lines collects a text before it is written at once.
type lines struct{ strings.Builder }

func (l *lines) line(format string, args ...any) {
	fmt.Fprintf(l, format, args...)
	l.WriteByte('\n')
}

// withRows are the tables that have any.
func withRows(tables ...Table) []Table {
	return slices.DeleteFunc(tables, func(t Table) bool { return len(t.Rows) == 0 })
}

// table writes below an empty line. The words of a head stand below each other: a column is as wide as its figures.
func (l *lines) table(t Table) {
	var rows [][]string
	for column, text := range t.Head {
		for i, word := range strings.Fields(text) {
			if i == len(rows) {
				rows = append(rows, make([]string, len(t.Head)))
			}
			rows[i][column] = word
		}
	}
	rows = append(rows, t.Rows...)

	width := 0 // of the names
	for _, row := range rows {
		width = max(width, utf8.RuneCountInString(row[0]))
	}
	flags := tabwriter.AlignRight
	if t.IsText {
		flags = 0
	}
	l.line("\n%s", t.Caption)
	w := tabwriter.NewWriter(l, 0, 0, 2, ' ', flags)
	for _, row := range rows {
		fmt.Fprintf(w, "%-*s\t%s\t\n", width, row[0], strings.Join(row[1:], "\t"))
	}
	_ = w.Flush() // into memory: it cannot fail
}
