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
	if n := t.spec.RandomInputTokens; n > 0 {
		// Words of about one token each; the usage says how many the server counted.
		usual, seed := dataset.Words(), fnv.New64a()
		seed.Write([]byte(nonce))
		r := rand.New(rand.NewPCG(seed.Sum64(), uint64(n)))
		words := make([]string, n)
		for i := range words {
			words[i] = usual[r.IntN(len(usual))]
		}
		body = strings.Join(words, " ")
	}
	if nonce == "" {
		return body
	}
	return nonce + "\n" + body
}
