package probe

import (
	"strings"
	"testing"
)

func TestPrompt(t *testing.T) {
	tests := map[string]struct {
		change func(*Spec)
		want   string // of a request whose nonce is "n0nce"
	}{
		"default":                 {nil, "n0nce\n" + DefaultPrompt},
		"configured":              {func(s *Spec) { s.Prompt = " tell me\n" }, "n0nce\n tell me\n"},
		"cache friendly":          {func(s *Spec) { s.CacheFriendly = true }, DefaultPrompt},
		"configured and friendly": {func(s *Spec) { s.Prompt, s.CacheFriendly = "tell me", true }, "tell me"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := makeTarget(t, tt.change).text("n0nce"); got != tt.want {
				t.Errorf("prompt %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRandomPrompt(t *testing.T) {
	target := makeTarget(t, func(s *Spec) { s.RandomInputTokens = 256 })
	nonce, words, _ := strings.Cut(target.text("n0nce"), "\n")
	if n := len(strings.Fields(words)); nonce != "n0nce" || n != 256 {
		t.Errorf("%d words after the nonce %q", n, nonce)
	}
	if _, other, _ := strings.Cut(target.text("other"), "\n"); other == words {
		t.Error("the same words after another nonce")
	}
	target.spec.CacheFriendly = true
	if target.text("n0nce") != target.text("other") {
		t.Error("prompts differ although they are to be cached")
	}
}
