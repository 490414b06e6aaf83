// Package plaintext makes text from outside fit to be shown.
package plaintext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is text as one line of valid UTF-8 without control characters, also
// without those that turn the direction of writing. What is not UTF-8 is "?".
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError:
			return '?'
		case !unicode.IsPrint(r):
			return ' '
		}
		return r
	}, text)
}

// most bounds what [Brief] returns, in bytes.
const most = 200

// Brief is [Line], cut to 200 bytes: fit for a line of a log and of a terminal.
func Brief(text string) string {
	text = Line(text)
	if len(text) <= most {
		return text
	}
	cut := most - len("…")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
