package result

import (
	"cmp"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
)

// assumedBlock is how many tokens a block of a prefix cache has where nothing tells, as in vLLM on most cards.
const assumedBlock = 16

// Cache says how many of the prompts' tokens a prefix cache could have served, and did. What is not known is nil.
type Cache struct {
	BlockSize    int  `json:"block_size"`         // tokens
	BlockAssumed bool `json:"block_size_assumed"` // neither the server nor the user named it
	// Possible is what a perfect cache would have served, in whole blocks and by the order of sending. Usage is by
	// that of the answers. Server is by the server's counters, where they are of this program's requests alone.
	Possible *Hits `json:"possible"`
	Usage    *Hits `json:"usage"`
	Server   *Hits `json:"server"`
}

// Hits are tokens of prompts that came from a prefix cache, of so many.
type Hits struct {
	Tokens int64   `json:"tokens"`
	Of     int64   `json:"of"`
	Ratio  float64 `json:"ratio"`
}

// newHits is nil of no tokens.
func newHits(tokens, of int64) *Hits {
	if of == 0 {
		return nil
	}
	return &Hits{Tokens: tokens, Of: of, Ratio: float64(tokens) / float64(of)}
}

// newCache is nil where nothing is known. Only whole blocks are possible, without a prompt's last token, which is
// always computed. The usage of vLLM leaves out 0 hits: such prompts count too.
func (d *stepData) newCache(s *Step) *Cache {
	run := &d.parts[0].run
	c := Cache{BlockSize: cmp.Or(run.BlockSize, assumedBlock), BlockAssumed: run.BlockSize == 0}
	if c.BlockAssumed && slices.ContainsFunc(d.requests, func(q request) bool { return q.cached%assumedBlock != 0 }) {
		c.BlockSize = 1 // as llama.cpp, whose cache knows no blocks
	}
	if d.prefixesKnown(s) {
		tokens, prompts := 0, 0
		for i := range d.requests {
			q := &d.requests[i]
			tokens += max(0, min(q.shared, q.prompt-1)) / c.BlockSize * c.BlockSize
			prompts += q.prompt
		}
		c.Possible = newHits(int64(tokens), int64(prompts))
	}
	if d.checks.CacheKnown {
		c.Usage = newHits(d.checks.CachedTokens, d.checks.PromptTokens)
	}
	if v := s.Server; v != nil && v.TTFTOurs && v.PrefixHits.Known() && v.PrefixQueries.Known() {
		c.Server = newHits(int64(v.PrefixHits), int64(v.PrefixQueries))
	}
	if c.Possible == nil && c.Served() == nil {
		return nil
	}
	return &c
}

// prefixesKnown reports whether the requests have all of [runlog.Request.SharedTokens]. Of prompts that an earlier
// step sent too, or of a file whose texts nobody counted, only a part is in it.
func (d *stepData) prefixesKnown(s *Step) bool {
	run := &d.parts[0].run
	switch kind := dataset.Kind(run.Dataset); {
	case kind == dataset.Replay:
		return true
	case run.DatasetPath == "":
		isMade := kind == dataset.MultiTurn || kind == dataset.Prefix || kind == dataset.Random
		return isMade && (!run.ReusePrompts || d.step.Index == 0)
	case kind == dataset.MultiTurn:
		return s.Stop != "" && s.Dataset.SharedUnknown == 0
	}
	return run.ReusePrompts && s.Dataset.SharedUnknown == 0 &&
		slices.ContainsFunc(d.requests, func(q request) bool { return q.shared > 0 })
}

// Served is by the usage of each request, or else by the server's counters.
func (c *Cache) Served() *Hits {
	if c == nil {
		return nil
	}
	return cmp.Or(c.Usage, c.Server)
}
