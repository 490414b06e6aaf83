package main

import (
	_ "embed"
	"io"
	"strings"
	"text/tabwriter"
	"text/template"
	"unicode/utf8"
)

//go:embed landing.txt
var landingText string

// textWidth is how wide the page is as text.
const textWidth = 80

// textPage is the page for a terminal.
func textPage() page {
	text := template.Must(template.New("landing").Funcs(template.FuncMap{"wrap": wrap, "fit": fit}).Parse(landingText))
	return func(w io.Writer, v landing) error {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		if err := text.Execute(table, v); err != nil {
			return err
		}
		return table.Flush()
	}
}

// wrap breaks a text at the page's width, each line after the indent.
func wrap(indent, text string) string {
	var b strings.Builder
	width := 0
	for i, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case i > 0 && width+1+n <= textWidth:
			b.WriteString(" ")
			width++
		case i > 0:
			b.WriteString("\n")
			fallthrough
		default:
			b.WriteString(indent)
			width = len(indent)
		}
		b.WriteString(word)
		width += n
	}
	return b.String()
}

// fit breaks a line that is too long.
func fit(line string) string {
	if utf8.RuneCountInString(line) <= textWidth {
		return line
	}
	return wrap("  ", line)
}
