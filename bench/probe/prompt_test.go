package probe

import (
	"strings"
	"testing"
)

func TestRandomPrompt(t *testing.T) {
	target := makeTarget(t, func(s *Spec) { s.RandomInputTokens = 256 })
	nonce, words, _ := strings.Cut(target.text("n0nce"), "\n")
	if n := len(strings.Fields(words)); nonce != "n0nce" || n != 256 {
		t.Errorf("%d words after the nonce %q", n, nonce)
	}
	if _, other, _ := strings.Cut(target.text("other"), "\n"); other == words {
		t.Error("the same words after another nonce")
	}
	target.CacheFriendly = true
	if target.text("n0nce") != target.text("other") {
		t.Error("prompts differ although they are to be cached")
	}
}
