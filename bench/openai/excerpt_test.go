package openai

import (
	"strings"
	"testing"
)

func TestExcerpt(t *testing.T) {
	const key = "sk-0123456789abcdef"
	tests := map[string]struct{ text, want string }{
		"nothing to do":       {"model not found", "model not found"},
		"a key":               {"bad key " + key + "!", "bad key <secret>!"},
		"twice":               {key + " is not " + key, "<secret> is not <secret>"},
		"lines":               {"a\r\nb\tc\x00d\x1b[31m\u2028e\u202ef\n", "a  b c d [31m e f"},
		"not UTF-8":           {"a\xff\xfeb", "a??b"},
		"long":                {strings.Repeat("x", 300), strings.Repeat("x", 197) + "…"},
		"cut between letters": {strings.Repeat("é", 101), strings.Repeat("é", 98) + "…"},
		"a key at the end":    {strings.Repeat("x", 190) + key, strings.Repeat("x", 190) + "<secret>"},
		"a short secret":      {"yes, it is no secret", "yes, it is no secret"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Excerpt(tt.text, "", "no", " "+key+"\n"); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
