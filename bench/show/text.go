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

// warnings writes what makes figures doubtful.
func (l *lines) warnings(all []string) {
	for i, text := range all {
		if i == 0 {
			l.line("")
		}
		l.line("! %s", text)
	}
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
}

// table writes names to the left and figures to the right. The words of a head stand
// below each other: a column is as wide as its figures.
func (l *lines) table(t Table) {
	if t.Caption != "" {
		l.line("%s", t.Caption)
	}
	rows := append(headLines(t.Head), t.Rows...)
	names := 0
	for _, row := range rows {
		names = max(names, utf8.RuneCountInString(row[0]))
	}
	w := tabwriter.NewWriter(l, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		fmt.Fprintf(w, "%-*s\t%s\t\n", names, row[0], strings.Join(row[1:], "\t"))
	}
	_ = w.Flush() // into memory: it cannot fail
}

// headLines ends each head in the last line.
func headLines(head []string) [][]string {
	most := 0
	for _, text := range head {
		most = max(most, len(strings.Fields(text)))
	}
	all := make([][]string, most)
	for i := range all {
		all[i] = make([]string, len(head))
	}
	for column, text := range head {
		fields := strings.Fields(text)
		for i, word := range fields {
			all[most-len(fields)+i][column] = word
		}
	}
	return all
}
