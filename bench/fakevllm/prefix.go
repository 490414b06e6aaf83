package fakevllm

import (
	"container/list"
	"slices"
)

// blockTokens is the size of a cache block, in tokens.
const blockTokens = 16

// blocksOf returns how many blocks hold n tokens.
func blocksOf(n int) int { return (n + blockTokens - 1) / blockTokens }

// digest counts a prompt's tokens and hashes each full block together with all
// that precedes it, so that equal hashes mean equal prefixes.
type digest struct {
	n      int
	hash   uint64
	blocks []uint64
}

// newDigest starts a prompt; prompts of different salts share no block.
func newDigest(salt string) *digest {
	d := &digest{hash: 14695981039346656037}
	d.mark(salt)
	return d
}

// mark hashes a text that is no token, such as a role.
func (d *digest) mark(text string) {
	for i := range len(text) {
		d.hash = (d.hash ^ uint64(text[i])) * 1099511628211
	}
	d.hash = mix(d.hash)
}

func (d *digest) text(text string) {
	for token := range tokens(text) {
		d.token(token)
	}
}

func (d *digest) token(token string) {
	d.mark(token)
	d.n++
	if d.n%blockTokens == 0 {
		d.blocks = append(d.blocks, d.hash)
	}
}

// prefixCache remembers the blocks of prompts, the least recently used leaving
// first.
type prefixCache struct {
	capacity int // blocks
	order    *list.List
	at       map[uint64]*list.Element
}

func newPrefixCache(capacity int) *prefixCache {
	return &prefixCache{capacity: capacity, order: list.New(), at: map[uint64]*list.Element{}}
}

// use looks a prompt up and adds its blocks; it returns how many of its tokens
// were there. The last token is always computed, as its output is wanted.
func (c *prefixCache) use(blocks []uint64, prompt int) int {
	hits := 0
	for hits < len(blocks) && c.at[blocks[hits]] != nil {
		hits++
	}
	// From the end, so that a prompt loses its last block first.
	for _, b := range slices.Backward(blocks) {
		if e := c.at[b]; e != nil {
			c.order.MoveToFront(e)
		} else {
			c.at[b] = c.order.PushFront(b)
		}
	}
	for len(c.at) > c.capacity {
		oldest := c.order.Back()
		delete(c.at, oldest.Value.(uint64))
		c.order.Remove(oldest)
	}
	return min(hits, (prompt-1)/blockTokens) * blockTokens
}
