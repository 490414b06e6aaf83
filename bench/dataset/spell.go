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

// speller makes prompts of exact lengths from letters: token ids where the
// prompt can be sent so or a server can turn them into text, else words.
type speller struct {
	words     []string  // nil when letters are token ids
	tokenizer Tokenizer // nil when letters are sent as they are
	base      int32     // the first letter
	size      int32     // letters there are
	perLetter float64   // tokens
}

// newSpeller makes the speller of cfg; tokenizer is its own, or nil.
func newSpeller(cfg Config, tokenizer Tokenizer) speller {
	if cfg.API == openai.Completions {
		tokenizer = nil
	} else if tokenizer == nil {
		usual := vocabulary.Words()
		return speller{words: usual, size: int32(len(usual)), perLetter: cfg.TokensPerWord}
	}
	return speller{tokenizer: tokenizer, base: FirstToken, size: int32(cfg.VocabularySize - FirstToken), perLetter: 1}
}

// letters is how many letters make so many tokens.
func (s speller) letters(tokens int) int {
	if tokens == 0 {
		return 0
	}
	return max(1, int(math.Round(float64(tokens)/s.perLetter)))
}

// draw adds n letters.
func (s speller) draw(letters []int32, n int, r *rand.Rand) []int32 {
	for range n {
		letters = append(letters, s.base+r.Int32N(s.size))
	}
	return letters
}

// sign writes a nonce over the first letters, as many as it takes.
func (s speller) sign(letters []int32, nonce uint64) {
	for i, left := 0, uint64(nonceMask); i < len(letters) && left > 0; i++ {
		letters[i] = s.base + int32(nonce%uint64(s.size))
		nonce /= uint64(s.size)
		left /= uint64(s.size)
	}
}

// plain spells the letters, which are to make so many tokens, without asking
// anybody. It may keep them.
func (s speller) plain(letters []int32, tokens int) Prompt {
	if s.words == nil {
		return Prompt{Tokens: letters, ExpectedTokens: len(letters)}
	}
	words := make([]string, len(letters))
	for i, l := range letters {
		words[i] = s.words[l]
	}
	return Prompt{Text: strings.Join(words, " "), AimedTokens: tokens}
}

// maxFits bounds how often a text is cut or lengthened to fit.
const maxFits = 8

// fit finds a text of as many tokens as it was given. Tokens that became a text
// may be fewer or more when that text is read again, so what the server read is
// cut or lengthened until it agrees; a text that never does is taken for what it
// is, and the prompt says so.
func (s speller) fit(ctx context.Context, tokens []int32, r *rand.Rand) (Prompt, error) {
	want := len(tokens)
	for fits := 1; ; fits++ {
		text, err := s.tokenizer.Detokenize(ctx, tokens)
		if err != nil {
			return Prompt{}, fmt.Errorf("making text of %d tokens: %w", len(tokens), err)
		}
		tokens, err = s.tokenizer.Tokenize(ctx, text)
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
		tokens = s.draw(tokens, want-len(tokens), r)
	}
}

// random returns the i-th source of a named purpose: what is drawn for one
// prompt does not depend on what others drew.
func random(seed uint64, purpose string, i uint64) *rand.Rand {
	h := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", purpose, seed, i))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(h[:]), binary.BigEndian.Uint64(h[8:])))
}
