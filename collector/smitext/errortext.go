// Package smitext turns what the vendor tools print into readings. Drawn tables, column tables, keys with values and
// comma-separated rows become blocks of entries, and the rows of a vendor's table say which entry is which metric. It is
// pure: bytes in, values out.
package smitext

import (
	"bytes"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// Pattern is a piece of an error text and what it means.
type Pattern struct {
	Text   string // matched without regard to case
	Reason failure.Reason
}

// LoaderPatterns are what the dynamic loaders of glibc and musl print when a
// driver's library is missing or of another version.
func LoaderPatterns() []Pattern {
	return []Pattern{
		{Text: "error while loading shared libraries", Reason: failure.Driver},
		{Text: "cannot open shared object", Reason: failure.Driver},
		{Text: "error loading shared librar", Reason: failure.Driver},
		{Text: "symbol lookup error", Reason: failure.Driver},
	}
}

// Match finds the first pattern, in the order given, that occurs in what a tool
// printed, and returns its line.
func Match(text []byte, patterns []Pattern) (reason failure.Reason, line string, ok bool) {
	for _, p := range patterns {
		word := bytes.ToLower([]byte(p.Text))
		for line := range bytes.Lines(text) {
			if bytes.Contains(bytes.ToLower(line), word) {
				return p.Reason, Excerpt(line), true
			}
		}
	}
	return "", "", false
}

// Excerpt makes one short printable line of output that may hold anything.
func Excerpt(text []byte) string {
	const longest = 160
	text = bytes.TrimSpace(text)
	if len(text) > longest {
		text = text[:longest]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return ' '
		}
		return r
	}, string(text))
}
