package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/vocabulary"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// generator makes prompts of exact lengths from units: token ids where the
// prompt can be sent so or a server can turn them into text, else words.
type generator struct {
	words     []string  // nil when units are token ids
	tokenizer Tokenizer // nil when units are sent as they are
	base      int32     // the first unit
	size      int32     // units there are
	perUnit   float64   // tokens
}

// newGenerator makes the generator of cfg; tokenizer is its own, or nil.
func newGenerator(cfg Config, tokenizer Tokenizer) generator {
	if cfg.API == openai.Completions {
		tokenizer = nil
	} else if tokenizer == nil {
		usual := vocabulary.Words()
		return generator{words: usual, size: int32(len(usual)), perUnit: cfg.TokensPerWord}
	}
	return generator{tokenizer: tokenizer, base: FirstToken, size: int32(cfg.VocabularySize - FirstToken), perUnit: 1}
}

// units is how many units make so many tokens.
func (g generator) units(tokens int) int {
	if tokens == 0 {
		return 0
	}
	return max(1, int(math.Round(float64(tokens)/g.perUnit)))
}

// draw adds n units.
func (g generator) draw(units []int32, n int, r *rand.Rand) []int32 {
	for range n {
		units = append(units, g.base+r.Int32N(g.size))
	}
	return units
}

// addNonce writes a nonce over the first units, as many as it takes.
func (g generator) addNonce(units []int32, nonce uint64) {
	for i, left := 0, uint64(nonceMask); i < len(units) && left > 0; i++ {
		units[i] = g.base + int32(nonce%uint64(g.size))
		nonce /= uint64(g.size)
		left /= uint64(g.size)
	}
}

// plain is a prompt of the units, which are to make so many tokens, without asking
// anybody. It may keep them.
func (g generator) plain(units []int32, tokens int) Prompt {
	if g.words == nil {
		return Prompt{Tokens: units, ExpectedTokens: len(units)}
	}
	words := make([]string, len(units))
	for i, l := range units {
		words[i] = g.words[l]
	}
	return Prompt{Text: strings.Join(words, " "), AimedTokens: tokens}
}

// maxFits bounds how often a text is cut or lengthened to fit.
const maxFits = 8

// fit finds a text of as many tokens as it was given. Tokens that became a text
// may be fewer or more when that text is read again, so what the server read is
// cut or lengthened until it agrees; a text that never does is taken for what it
// is, and the prompt says so.
func (g generator) fit(ctx context.Context, tokens []int32, r *rand.Rand) (Prompt, error) {
	want := len(tokens)
	for fits := 1; ; fits++ {
		text, err := g.tokenizer.Detokenize(ctx, tokens)
		if err != nil {
			return Prompt{}, fmt.Errorf("making text of %d tokens: %w", len(tokens), err)
		}
		tokens, err = g.tokenizer.Tokenize(ctx, text)
		if err != nil {
			return Prompt{}, fmt.Errorf("counting the tokens of a text: %w", err)
		}
		if len(tokens) == want || fits == maxFits {
			if text == "" {
				return Prompt{}, errors.New("the server makes no text of tokens")
			}
			p := Prompt{Text: text, ExpectedTokens: len(tokens)}
			if len(tokens) != want {
				p.AimedTokens = want
			}
			return p, nil
		}
		tokens = tokens[:min(len(tokens), want)]
		tokens = g.draw(tokens, want-len(tokens), r)
	}
}

// random returns the i-th source of a named purpose: what is drawn for one
// prompt does not depend on what others drew.
func random(seed uint64, purpose string, i uint64) *rand.Rand {
	h := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", purpose, seed, i))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(h[:]), binary.BigEndian.Uint64(h[8:])))
}
