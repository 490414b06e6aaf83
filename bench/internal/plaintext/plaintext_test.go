package plaintext

import (
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		"页 not found":          "页 not found",
		"two\r\nlines\tand":    "two  lines and",
		"\x1b[31mred":          " [31mred",
		"cut \xe9\xa1":         "cut ??",
		"turned \u202eround":   "turned  round",
		"a replacement \ufffd": "a replacement ?",
	} {
		if got := Line(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestBrief(t *testing.T) {
	for text, want := range map[string]string{
		"short":                       "short",
		"a\nb\x1b[31m\xffc":           "a b [31m?c",
		strings.Repeat("x", 200):      strings.Repeat("x", 200),
		strings.Repeat("x", 201):      strings.Repeat("x", 197) + "…",
		"x" + strings.Repeat("字", 67): "x" + strings.Repeat("字", 65) + "…",
	} {
		if got := Brief(text); got != want || len(got) > most {
			t.Errorf("%q (%d bytes), want %q", got, len(got), want)
		}
	}
}
