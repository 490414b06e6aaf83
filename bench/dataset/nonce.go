package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// nonceBits is the size of a nonce: ten hex digits.
const nonceBits = 40

const nonceMask = 1<<nonceBits - 1

// nonces are the numbers that make the prompts of one step new.
type nonces uint64

func newNonces(runID string, step int) nonces {
	// A lesser hash would put the starts of neighboring steps side by side.
	h := sha256.Sum256(fmt.Appendf(nil, "%s/%d", runID, step))
	return nonces(binary.BigEndian.Uint64(h[:]))
}

// at returns the i-th nonce. The nonces of a step all differ, since every line
// below maps 40 bits one to one. Those of two steps meet only if their starts
// are closer than either has prompts.
func (n nonces) at(i uint64) uint64 {
	x := (uint64(n) + i) & nonceMask
	x ^= x >> 21
	x = x * 0x9e3779b97f4a7c15 & nonceMask
	x ^= x >> 19
	x = x * 0xbf58476d1ce4e5b9 & nonceMask
	return x ^ x>>20
}

// addNonce puts a nonce before the prompt's text, in a conversation before the first
// message.
func addNonce(p *Prompt, nonce uint64) {
	text := &p.Text
	if len(p.Messages) > 0 {
		text = &p.Messages[0].Content
	}
	*text = fmt.Sprintf("%0*x\n%s", nonceBits/4, nonce, *text)
}
