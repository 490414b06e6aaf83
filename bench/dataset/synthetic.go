package dataset

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// synthetic gives out prompts of kinds Random and Prefix, without end.
type synthetic struct {
	cfg    Config
	gen    generator
	nonces nonces
	seq    uint64
	order  []int // of the prefixes, in this round
	count  runlog.DatasetCount
}

func newSynthetic(cfg Config) *synthetic {
	return &synthetic{
		cfg:    cfg,
		gen:    newGenerator(cfg, cfg.Tokenizer),
		nonces: newNonces(cfg.RunID, cfg.Step),
	}
}

func (s *synthetic) Next(ctx context.Context) (Prompt, error) {
	if err := ctx.Err(); err != nil {
		return Prompt{}, err
	}
	r := random(s.cfg.Seed, "prompt", s.seq)
	prefix, body, output := s.shape(r)
	shared := s.gen.units(s.cfg.PrefixLen)
	units := s.gen.draw(make([]int32, 0, s.cfg.PrefixLen+body), shared,
		random(s.cfg.Seed, "prefix", uint64(prefix)))
	units = s.gen.draw(units, s.gen.units(body), r)
	switch {
	case s.cfg.ReusePrompts:
	case s.cfg.PrefixLen > 0: // the prefix is shared in the step, and new to it
		s.gen.addNonce(units[:shared], s.nonces.at(uint64(prefix)))
	default:
		s.gen.addNonce(units, s.nonces.at(s.seq))
	}
	p := s.gen.plain(units, s.cfg.PrefixLen+body)
	if s.gen.tokenizer != nil {
		var err error
		if p, err = s.gen.fit(ctx, units, r); err != nil {
			return Prompt{}, err
		}
	}
	p.MaxTokens = output
	s.seq++
	s.count.Prompts++
	return p, nil
}

// shape returns the number of the prompt's prefix, and its lengths in tokens.
func (s *synthetic) shape(r *rand.Rand) (prefix, body, output int) {
	if s.cfg.Kind == Random {
		least := 1
		if s.cfg.PrefixLen > 0 {
			least = 0
		}
		return 0, s.spread(r, s.cfg.InputLen, least), s.spread(r, s.cfg.OutputLen, 1)
	}
	// Every prefix comes once a round, in an order of its own, as if all had been
	// shuffled.
	n := uint64(s.cfg.NumPrefixes)
	if s.seq%n == 0 {
		s.order = random(s.cfg.Seed, "order", s.seq/n).Perm(s.cfg.NumPrefixes)
	}
	return s.order[s.seq%n], s.cfg.SuffixLen, s.cfg.OutputLen
}

// spread draws a length evenly from the range around n.
func (s *synthetic) spread(r *rand.Rand, n, least int) int {
	low := max(least, int(math.Floor(float64(n)*(1-s.cfg.RangeRatio))))
	high := max(least, int(math.Ceil(float64(n)*(1+s.cfg.RangeRatio))))
	return low + r.IntN(high-low+1)
}

func (s *synthetic) Count() runlog.DatasetCount {
	c := s.count
	s.count = runlog.DatasetCount{}
	return c
}

func (s *synthetic) Close() error { return nil }
