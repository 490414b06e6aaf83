package plaintext

import "testing"

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
