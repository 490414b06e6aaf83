package dataset

import (
	"context"
	"io"
	"math"
	"math/rand/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// made gives out prompts of kinds Random and Prefix, without end.
type made struct {
	cfg    Config
	spell  speller
	nonces nonces
	seq    uint64
	order  []int // of the prefixes, in this round
	count  runlog.DatasetCount
	closed bool
}

func newMade(cfg Config) *made {
	return &made{
		cfg:    cfg,
		spell:  newSpeller(cfg, cfg.Tokenizer),
		nonces: newNonces(cfg.RunID, cfg.Step),
	}
}

func (m *made) Next(ctx context.Context) (Prompt, error) {
	if m.closed {
		return Prompt{}, io.ErrClosedPipe
	}
	if err := ctx.Err(); err != nil {
		return Prompt{}, err
	}
	r := random(m.cfg.Seed, "prompt", m.seq)
	prefix, body, output := m.shape(r)
	shared := m.spell.letters(m.cfg.PrefixLen)
	letters := m.spell.draw(make([]int32, 0, m.cfg.PrefixLen+body), shared,
		random(m.cfg.Seed, "prefix", uint64(prefix)))
	letters = m.spell.draw(letters, m.spell.letters(body), r)
	switch {
	case m.cfg.ReusePrompts:
	case m.cfg.PrefixLen > 0: // the prefix is shared in the step, and new to it
		m.spell.sign(letters[:shared], m.nonces.at(uint64(prefix)))
	default:
		m.spell.sign(letters, m.nonces.at(m.seq))
	}
	p, err := m.prompt(ctx, letters, m.cfg.PrefixLen+body, r)
	if err != nil {
		return Prompt{}, err
	}
	p.MaxTokens = output
	m.seq++
	m.count.Prompts++
	return p, nil
}

func (m *made) prompt(ctx context.Context, letters []int32, tokens int, r *rand.Rand) (Prompt, error) {
	if m.spell.tokenizer == nil {
		return m.spell.plain(letters, tokens), nil
	}
	return m.spell.fit(ctx, letters, r)
}

// shape returns the number of the prompt's prefix, and its lengths in tokens.
func (m *made) shape(r *rand.Rand) (prefix, body, output int) {
	if m.cfg.Kind == Random {
		least := 1
		if m.cfg.PrefixLen > 0 {
			least = 0
		}
		return 0, m.spread(r, m.cfg.InputLen, least), m.spread(r, m.cfg.OutputLen, 1)
	}
	// Every prefix comes once a round, in an order of its own, as if all had been
	// shuffled.
	n := uint64(m.cfg.NumPrefixes)
	if m.seq%n == 0 {
		m.order = random(m.cfg.Seed, "order", m.seq/n).Perm(m.cfg.NumPrefixes)
	}
	return m.order[m.seq%n], m.cfg.SuffixLen, m.cfg.OutputLen
}

// spread draws a length evenly from the range around n.
func (m *made) spread(r *rand.Rand, n, least int) int {
	low := max(least, int(math.Floor(float64(n)*(1-m.cfg.RangeRatio))))
	high := max(least, int(math.Ceil(float64(n)*(1+m.cfg.RangeRatio))))
	return low + r.IntN(high-low+1)
}

func (m *made) Count() runlog.DatasetCount {
	c := m.count
	m.count = runlog.DatasetCount{}
	return c
}

func (m *made) Close() error {
	m.closed = true
	return nil
}
