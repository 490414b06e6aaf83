package dataset

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// Token ids of made prompts leave the lowest alone, since special tokens often come
// first, and end where every current model has more.
const (
	firstToken = 1000
	lastToken  = 29999
)

// maker makes prompts of units: words, or token ids.
type maker struct {
	cfg   Config
	words []string // nil when units are token ids
}

func newMaker(cfg Config) maker {
	if cfg.TokenIDs {
		return maker{cfg: cfg}
	}
	return maker{cfg: cfg, words: Words()}
}

// random returns the i-th source of a named purpose: what is drawn for one prompt does
// not depend on what others drew, and is another in each step.
func (m maker) random(purpose string, i uint64) *rand.Rand {
	return random(m.cfg.Seed, fmt.Sprint(purpose, m.cfg.Step), i)
}

func random(seed uint64, purpose string, i uint64) *rand.Rand {
	h := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", purpose, seed, i))
	return rand.New(rand.NewPCG(binary.BigEndian.Uint64(h[:]), binary.BigEndian.Uint64(h[8:])))
}

// units is how many units make so many tokens.
func (m maker) units(tokens int) int {
	if m.words == nil || tokens == 0 {
		return tokens
	}
	return max(1, int(math.Round(float64(tokens)/m.cfg.TokensPerWord)))
}

// draw adds n units.
func (m maker) draw(units []int32, n int, r *rand.Rand) []int32 {
	for range n {
		if m.words == nil {
			units = append(units, firstToken+r.Int32N(lastToken+1-firstToken))
		} else {
			units = append(units, r.Int32N(int32(len(m.words))))
		}
	}
	return units
}

// prompt is made of the units, which are to make so many tokens.
func (m maker) prompt(units []int32, tokens int) Prompt {
	if m.words == nil {
		return Prompt{Tokens: units, ExpectedTokens: tokens}
	}
	return Prompt{Text: m.text(units), AimedTokens: tokens}
}

// text is the words of units.
func (m maker) text(units []int32) string {
	words := make([]string, len(units))
	for i, unit := range units {
		words[i] = m.words[unit]
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

// Words are one token each, with the blank before them, in the usual
// vocabularies.
func Words() []string {
	return strings.Fields("the of and to in is you that it he was for on are as with his they at be this have " +
		"from or one had by word but not what all were we when your can said there use an each which she do how " +
		"their if will up other about out many then them these so some her would make")
}

// randomPrompts are of so many tokens.
var randomPrompts = kind{name: Random, made: true, open: openMade}

// prefixes are few prefixes with many endings.
var prefixes = kind{name: Prefix, made: true, open: openMade}

// SplitForCache splits random prompts of so many tokens into a shared start, whose whole
// blocks are about a share of them, and the rest. It fails where that is off by more than 2
// points. The start ends in the middle of a block: the length of words is not exact.
func SplitForCache(tokens int, share float64, block int) (start, rest int, err error) {
	const most = 0.02
	held := int(math.Round(share*float64(tokens)/float64(block))) * block
	start = held + block/2
	if got := float64(held) / float64(tokens); math.Abs(got-share) > most || start >= tokens {
		return 0, 0, fmt.Errorf("of prompts of %d tokens, whole blocks of %d can make %.0f %%, not %.0f %%: give longer prompts", tokens, block, 100*got, 100*share)
	}
	return start, tokens - start, nil
}

// SharedStart is what all random prompts begin with, alone, for an answer of one token.
func SharedStart(cfg Config) Prompt {
	cfg.TokensPerWord = cmp.Or(cfg.TokensPerWord, 1)
	m := newMaker(cfg)
	p := m.prompt(m.draw(nil, m.units(cfg.PrefixLen), m.random("prefix", 0)), cfg.PrefixLen)
	p.MaxTokens, p.Shared = 1, m.shared("prefix", 0, cfg.PrefixLen)
	return p
}

// madeSource gives out prompts of kinds Random and Prefix, without end.
type madeSource struct {
	cfg   Config
	maker maker
	seq   uint64
	order []int // of the prefixes, in this round
	counter
}

func openMade(cfg Config) Source { return &madeSource{cfg: cfg, maker: newMaker(cfg)} }

func (s *madeSource) Next(ctx context.Context) (Prompt, error) {
	if err := ctx.Err(); err != nil {
		return Prompt{}, err
	}
	r := s.maker.random("prompt", s.seq)
	prefix, body, output := s.shape(r)
	units := s.maker.draw(nil, s.maker.units(s.cfg.PrefixLen), s.maker.random("prefix", uint64(prefix)))
	units = s.maker.draw(units, s.maker.units(body), r)
	p := s.maker.prompt(units, s.cfg.PrefixLen+body)
	p.MaxTokens, p.Shared = output, s.maker.shared("prefix", uint64(prefix), s.cfg.PrefixLen)
	s.seq++
	s.count.Prompts++
	return p, nil
}

// shape returns the number of the prompt's prefix, and its lengths in tokens.
func (s *madeSource) shape(r *rand.Rand) (prefix, body, output int) {
	if s.cfg.Kind == Random {
		return 0, spread(r, s.cfg.InputLen, s.cfg.InputRangeRatio), spread(r, s.cfg.OutputLen, s.cfg.OutputRangeRatio)
	}
	// Every prefix comes once a round, in an order of its own, as if all had been
	// shuffled.
	n := uint64(max(1, s.cfg.NumPrefixes))
	if s.seq%n == 0 {
		s.order = s.maker.random("order", s.seq/n).Perm(int(n))
	}
	return s.order[s.seq%n], s.cfg.InputLen, s.cfg.OutputLen
}

// spread draws a length of at least 1 evenly from the range around n.
func spread(r *rand.Rand, n int, ratio float64) int {
	low := max(1, int(math.Floor(float64(n)*(1-ratio))))
	high := max(1, int(math.Ceil(float64(n)*(1+ratio))))
	return low + r.IntN(high-low+1)
}
