package show

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// lines collects a text before it is written at once, so that the only error of a
// form is that of writing it.
type lines struct{ strings.Builder }

func (l *lines) line(format string, args ...any) {
	fmt.Fprintf(l, format, args...)
	l.WriteByte('\n')
}

func (l *lines) writeTo(w io.Writer) error {
	_, err := io.WriteString(w, l.String())
	return err
}

// Table is a table of texts: a first column of names, and columns of figures. What is
// not known is "-". Its texts hold no control characters.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]string
	IsText  bool // columns of texts, which begin on the left
}

// headRows has each word of a head in a row of its own.
func headRows(head []string) [][]string {
	var rows [][]string
	for column, text := range head {
		for i, word := range strings.Fields(text) {
			if i == len(rows) {
				rows = append(rows, make([]string, len(head)))
			}
			rows[i][column] = word
		}
	}
	return rows
}

// table writes names to the left and figures to the right. The words of a head stand
// below each other: a column is as wide as its figures.
func (l *lines) table(t Table) {
	l.line("%s", t.Caption)
	rows, names := append(headRows(t.Head), t.Rows...), 0
	for _, row := range rows {
		names = max(names, utf8.RuneCountInString(row[0]))
	}
	flags := tabwriter.AlignRight
	if t.IsText {
		flags = 0
	}
	w := tabwriter.NewWriter(l, 0, 0, 2, ' ', flags)
	for _, row := range rows {
		fmt.Fprintf(w, "%-*s\t%s\t\n", names, row[0], strings.Join(row[1:], "\t"))
	}
	_ = w.Flush() // into memory: it cannot fail
}
