package fakevllm

import (
	"container/list"
	"hash/fnv"
	"slices"
)

// prefixCache holds whole blocks of the prompts and answers that were seen, as vLLM's
// automatic prefix caching does. Where it is full, the least recently used block goes.
type prefixCache struct {
	block, capacity int // tokens of a block, and blocks
	blocks          map[uint64]*list.Element
	used            *list.List // of hashes, the most recently used first
}

func newPrefixCache(block, capacity int) *prefixCache {
	return &prefixCache{block: block, capacity: capacity, blocks: map[uint64]*list.Element{}, used: list.New()}
}

// take returns how many tokens of a prompt are held, in whole blocks from its start, and holds
// all its blocks. The last token is always computed, as in vLLM.
func (c *prefixCache) take(tokens []string) (held int) {
	hashes := c.hashes(tokens)
	for _, h := range hashes {
		if c.blocks[h] == nil {
			break
		}
		held++
	}
	c.hold(hashes)
	return min(held, (len(tokens)-1)/c.block) * c.block
}

// hold makes blocks the most recently used, those at the start of a prompt first.
func (c *prefixCache) hold(hashes []uint64) {
	for _, h := range slices.Backward(hashes) {
		if e := c.blocks[h]; e != nil {
			c.used.MoveToFront(e)
			continue
		}
		c.blocks[h] = c.used.PushFront(h)
	}
	for c.used.Len() > c.capacity {
		delete(c.blocks, c.used.Remove(c.used.Back()).(uint64))
	}
}

// hashes are those of the whole blocks, each of all tokens up to its end.
func (c *prefixCache) hashes(tokens []string) []uint64 {
	var all []uint64
	h := fnv.New64a()
	for i, token := range tokens {
		_, _ = h.Write([]byte(token + " ")) // it cannot fail
		if (i+1)%c.block == 0 {
			all = append(all, h.Sum64())
		}
	}
	return all
}
