package result

import (
	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// minMergedTokens is from how many tokens a chunk of text on the mean gaps between
// chunks must not be read as the time of a token.
const minMergedTokens = 1.2

// Tokens sets the output tokens of the successful answers beside the events that
// brought them.
type Tokens struct {
	// Counted are the tokens of the answers with text that a usage or token ids tell,
	// Chunks the chunks of text of the same Answers.
	Counted int64 `json:"counted,omitempty"`
	Chunks  int64 `json:"chunks,omitempty"`
	Answers int64 `json:"answers,omitempty"`
	// Textless counts the events that brought tokens and no text, as far as a running
	// usage or token ids show them.
	Textless int64 `json:"textless,omitempty"`
	// Unreadable counts the answers without any text, and UnreadableTokens what was
	// counted for them: special tokens, or half a character.
	Unreadable       int   `json:"unreadable,omitempty"`
	UnreadableTokens int64 `json:"unreadable_tokens,omitempty"`
}

func (c *Tokens) take(t *openai.Trace) {
	n, source := openai.OutputTokens(t)
	c.Textless += int64(t.Textless)
	switch {
	case len(t.Chunks) == 0:
		c.Unreadable++
		c.UnreadableTokens += int64(n)
	case source != openai.TokensChunks:
		c.Counted += int64(n)
		c.Chunks += int64(len(t.Chunks))
		c.Answers++
	}
}

// PerChunk is how many tokens a chunk of text stands for on the mean, 0 where
// nothing tells.
func (c Tokens) PerChunk() float64 {
	if c.Chunks == 0 {
		return 0
	}
	return float64(c.Counted) / float64(c.Chunks)
}

// Merged reports whether chunks clearly hold several tokens each. The token that ends
// an answer has no text and is left out: it would make short answers look so.
func (c Tokens) Merged() bool {
	return c.Chunks > 0 && float64(c.Counted-c.Answers) >= minMergedTokens*float64(c.Chunks)
}

// warnings are about what the tokens' count does to the latencies.
func (c Tokens) warnings() words.List {
	var list words.List
	list.If(c.Merged(), "A chunk of text stands for %s tokens on the mean (the server's --stream-interval, speculative decoding, characters of several tokens, or chunks joined on the way): "+
		"ITL is the gap between chunks, so read TPOT for the time of a token.", words.Number(c.PerChunk()))
	list.If(c.Unreadable > 0, "%s no text, though %s counted for them: they are special tokens, or half a character where the limit of tokens cut it; "+
		"such answers count as successes and have no latency, so see what the model writes, or ask for more tokens.",
		words.CountedVerb(c.Unreadable, "answer", "has", "have"), words.CountedVerb(int(c.UnreadableTokens), "token", "was", "were"))
	return list
}
