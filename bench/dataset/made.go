package dataset

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Token ids of made prompts: special tokens often come first, and every current model has more than the last.
const (
	firstToken = 1000
	lastToken  = 29999
)

// maker makes prompts of units: words, or token ids, where cfg has no words.
type maker struct{ cfg Config }

func newMaker(cfg Config) maker {
	cfg.TokensPerWord = cmp.Or(cfg.TokensPerWord, 1)
	switch {
	case cfg.TokenIDs:
		cfg.Words = nil
	case cfg.Words == nil:
		cfg.Words = Words()
	}
	return maker{cfg}
}

// random returns the i-th source of a purpose, another in each step: prompts do not depend on each other.
func (m maker) random(purpose string, i uint64) *rand.Rand {
	return random(m.cfg.Seed, fmt.Sprint(purpose, m.cfg.Step), i)
}

func random(seed uint64, purpose string, i uint64) *rand.Rand {
	h := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", purpose, seed, i))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(h[:]), binary.BigEndian.Uint64(h[8:])))
}

func (m maker) units(tokens int) int {
	if m.cfg.Words == nil || tokens == 0 {
		return tokens
	}
	return max(1, int(math.Round(float64(tokens)/m.cfg.TokensPerWord)))
}

func (m maker) draw(units []int32, n int, r *rand.Rand) []int32 {
	for range n {
		if m.cfg.Words == nil {
			units = append(units, firstToken+r.Int32N(lastToken+1-firstToken))
		} else {
			units = append(units, r.Int32N(int32(len(m.cfg.Words))))
		}
	}
	return units
}

func (m maker) prompt(units []int32, tokens int) Prompt {
	if m.cfg.Words == nil {
		return Prompt{Tokens: units, ExpectedTokens: tokens}
	}
	return Prompt{Text: m.text(units), AimedTokens: tokens}
}

func (m maker) text(units []int32) string {
	words := make([]string, len(units))
	for i, unit := range units {
		words[i] = m.cfg.Words[unit]
	}
	return strings.Join(words, " ")
}

// shared is a start of so many tokens that the i-th source of a named purpose makes.
func (m maker) shared(purpose string, i uint64, tokens int) []Shared {
	if tokens == 0 {
		return nil
	}
	return []Shared{{ID: m.random(purpose, i).Uint64(), Tokens: tokens}}
}

// Words are one token each, with the blank before them, in the usual vocabularies.
func Words() []string {
	return strings.Fields("the of and to in is you that it he was for on are as with his they at be this have " +
		"from or one had by word but not what all were we when your can said there use an each which she do how " +
		"their if will up other about out many then them these so some her would make")
}

// candidates are words of which most are one token each in the usual vocabularies.
func candidates() []string {
	return append(Words(), strings.Fields("no way could people my than first water been call who now find long down day did get come made may part "+
		"over new sound take only little work know place year live me back give most very after thing our just name good "+
		"man think say great where help through much before line right too mean old any same tell boy follow came want show "+
		"also around form three small set put end does another well large must big even such because turn here why ask went "+
		"men read need land different home us move try kind hand picture again change off play air away animal house point "+
		"page letter mother answer found study still learn should world high every near add food between own below country last school "+
		"city tree farm hard start might story saw far sea late run")...)
}

// VocabularyText is a text from whose token ids [OneTokenWords] learns the server's words.
func VocabularyText() string {
	text := "a"
	for _, word := range candidates() {
		text += " " + word + " " + word
	}
	return text
}

// OneTokenWords returns the words that are one token each, with the blank before them, by
// the ids of [VocabularyText]; nil where they are fewer than 32, or the ids of another text.
// Every word is in it twice, so its ids come twice; those left at its start are no word's.
func OneTokenWords(ids []int32) (words []string) {
	for _, word := range slices.Backward(candidates()) {
		n, end := 1, len(ids)
		for 2*n <= end && !slices.Equal(ids[end-2*n:end-n], ids[end-n:]) {
			n++
		}
		if 2*n > end {
			return nil
		}
		ids = ids[:end-2*n]
		if n == 1 {
			words = append(words, word)
		}
	}
	const first, enough = 4, 32 // ids of the first word and of what a tokenizer puts before it; words
	if len(ids) > first || len(words) < enough {
		return nil
	}
	return words
}

// madeSource gives out prompts that are made by their number, without end.
type madeSource struct {
	prompt func(i uint64) Prompt
	next   uint64
	counter
}

func (s *madeSource) Next(ctx context.Context) (Prompt, error) {
	if err := ctx.Err(); err != nil {
		return Prompt{}, err
	}
	s.next++
	s.count.Prompts++
	return s.prompt(s.next - 1), nil
}

func openSingle(c Config) Source { return &madeSource{prompt: newMaker(c).single} }

func (m maker) single(i uint64) Prompt {
	r, prefix := m.random("prompt", i), 0
	body, output := spread(r, m.cfg.InputLen, m.cfg.InputRangeRatio), spread(r, m.cfg.OutputLen, m.cfg.OutputRangeRatio)
	if m.cfg.Kind == Prefix { // each comes once a round, in an order of its own, as if all had been shuffled
		n := uint64(max(1, m.cfg.NumPrefixes))
		prefix = m.random("order", i/n).Perm(int(n))[i%n]
	}
	units := m.draw(nil, m.units(m.cfg.PrefixLen), m.random("prefix", uint64(prefix)))
	p := m.prompt(m.draw(units, m.units(body), r), m.cfg.PrefixLen+body)
	p.MaxTokens, p.Shared = output, m.shared("prefix", uint64(prefix), m.cfg.PrefixLen)
	return p
}

// SplitForCache splits random prompts into a start that all share, whose whole blocks of so many tokens are about
// CacheHit of them, and the rest. It fails where that is off by more than 2 points.
func (c *Config) SplitForCache(block int) error {
	if c.CacheHit == 0 {
		return nil
	}
	const most = 0.02
	tokens := c.InputLen
	held := int(math.Round(c.CacheHit*float64(tokens)/float64(block))) * block
	c.PrefixLen = held + block/2
	c.InputLen = tokens - c.PrefixLen
	if got := float64(held) / float64(tokens); math.Abs(got-c.CacheHit) > most || c.InputLen < 1 {
		return fmt.Errorf("--random-cache-hit: of prompts of %d tokens, whole blocks of %d can make %.0f %%, not %.0f %%: give longer prompts", tokens, block, 100*got, 100*c.CacheHit)
	}
	return nil
}

// SharedStart is what all random prompts begin with, alone, for an answer of one token.
func SharedStart(cfg Config) Prompt {
	m := newMaker(cfg)
	p := m.prompt(m.draw(nil, m.units(cfg.PrefixLen), m.random("prefix", 0)), cfg.PrefixLen)
	p.MaxTokens, p.Shared = 1, m.shared("prefix", 0, cfg.PrefixLen)
	return p
}

// Longest returns the most tokens of a made prompt and of its answer, of a conversation the first; 0 of a file.
func (c Config) Longest() (prompt, answer int) {
	if c.Path != "" {
		return 0, 0
	}
	_, prompt = bounds(c.InputLen, c.InputRangeRatio)
	_, answer = bounds(c.OutputLen, c.OutputRangeRatio)
	return c.PrefixLen + prompt, answer
}

// spread draws a length evenly from the range around n, at least 1.
func spread(r *rand.Rand, n int, ratio float64) int {
	low, high := bounds(n, ratio)
	return low + r.IntN(high-low+1)
}

func bounds(n int, ratio float64) (low, high int) {
	return max(1, int(math.Floor(float64(n)*(1-ratio)))), max(1, int(math.Ceil(float64(n)*(1+ratio))))
}
