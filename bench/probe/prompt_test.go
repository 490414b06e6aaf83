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
	for _, n := range []int{1, 2, 256, 5000} {
		target := makeTarget(t, func(s *Spec) { s.RandomInputTokens = n })
		text := target.text("n0nce")
		nonce, words, ok := strings.Cut(text, "\n")
		if got := len(strings.Fields(words)); !ok || nonce != "n0nce" || got != n || strings.Count(words, " ") != n-1 {
			t.Errorf("%d words asked for: %d after the nonce %q", n, got, nonce)
		}
		if target.text("n0nce") != text {
			t.Errorf("%d words: two prompts of one nonce", n)
		}
		if _, other, _ := strings.Cut(target.text("other"), "\n"); n > 100 && other == words {
			t.Errorf("%d words: the same words after another nonce", n)
		}
		target.spec.CacheFriendly = true
		if a, b := target.text("n0nce"), target.text("other"); a != b || len(strings.Fields(a)) != n {
			t.Errorf("%d words, cache friendly: prompts differ, or have %d words", n, len(strings.Fields(a)))
		}
	}
}

// A prompt begins as no prompt did before, so nothing of it is in a prefix cache.
func TestNonce(t *testing.T) {
	target := makeTarget(t, nil)
	seen := map[string]bool{}
	for range 1000 {
		id := newID()
		start := target.text(id)[:12]
		if !strings.HasPrefix(id, start) || seen[start] {
			t.Fatalf("prompt starts with %q, id is %q", start, id)
		}
		seen[start] = true
	}
}
