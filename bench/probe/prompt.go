package probe

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
)

// DefaultPrompt asks for an answer of some length in a few tokens.
const DefaultPrompt = "You are answering a health check of a language model service. " +
	"In a few plain sentences, describe how a letter travels from one town to another, step by step, " +
	"until whoever asked has read enough."

// text returns the prompt of one request. A nonce at its very start makes every
// prompt new to a prefix cache, which would otherwise flatter the figures.
func (t Target) text(nonce string) string {
	if t.spec.CacheFriendly {
		nonce = ""
	}
	body := t.prompt
	if t.spec.RandomInputTokens > 0 {
		body = randomWords(t.spec.RandomInputTokens, nonce)
	}
	if nonce == "" {
		return body
	}
	return nonce + "\n" + body
}

// randomWords makes n words that are about one token each; the usage says how many the
// server counted.
func randomWords(n int, seed string) string {
	usual := dataset.Words()
	h := fnv.New64a()
	h.Write([]byte(seed))
	r := rand.New(rand.NewPCG(h.Sum64(), uint64(n)))
	words := make([]string, n)
	for i := range words {
		words[i] = usual[r.IntN(len(usual))]
	}
	return strings.Join(words, " ")
}
