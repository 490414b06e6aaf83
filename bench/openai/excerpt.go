package openai

import (
	"strings"
	"unicode"
)

const (
	maxExcerpt = 200     // bytes that Excerpt returns
	maxRaw     = 4 << 10 // bytes that it looks at
	minSecret  = 4       // bytes; a shorter value would hide half of all texts
	redacted   = "<secret>"
)

// Excerpt is the beginning of a text from outside, fit for a line of a log or a terminal:
// at most 200 bytes of printable UTF-8 on one line. Each secret, which was sent to whoever
// wrote the text, is replaced.
func Excerpt(text string, secret ...string) string {
	text = text[:min(len(text), maxRaw)]
	for _, s := range secret {
		if s = strings.TrimSpace(s); len(s) >= minSecret {
			text = strings.ReplaceAll(text, s, redacted)
		}
	}
	text = strings.TrimSpace(strings.Map(printable, strings.ToValidUTF8(text, "?")))
	if len(text) <= maxExcerpt {
		return text
	}
	return strings.ToValidUTF8(text[:maxExcerpt-len("…")], "") + "…"
}

// printable puts a blank for control characters and for those that turn the direction of
// writing.
func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return ' '
}
