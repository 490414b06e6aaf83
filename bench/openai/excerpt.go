package openai

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"
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
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' ' // for control characters and those that turn the direction of writing
	}, strings.ToValidUTF8(text, "?")))
	if len(text) <= maxExcerpt {
		return text
	}
	return strings.ToValidUTF8(text[:maxExcerpt-len("…")], "") + "…"
}

// errorMessage is the server's own words in an error: the message in its JSON, which is
// {"error":{"message":…}}, {"message":…}, {"error":…} or FastAPI's {"detail":…}, else the
// whole text.
func errorMessage(text []byte) string {
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) { // else gjson looks for it further on
		for _, path := range []string{"error.message", "message", "error", "detail"} {
			if message := gjson.GetBytes(text, path); message.Type == gjson.String && message.Str != "" {
				return message.Str
			}
		}
	}
	return string(text)
}
