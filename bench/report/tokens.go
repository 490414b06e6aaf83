package report

import (
	"fmt"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// clearlyMerged is from how many tokens a chunk of text on the mean gaps between
// chunks must not be read as the time of a token.
const clearlyMerged = 1.2

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

// Merged says whether chunks clearly hold several tokens each. The token that ends
// an answer has no text and is left out: it would make short answers look so.
func (c Tokens) Merged() bool {
	return c.Chunks > 0 && float64(c.Counted-c.Answers) >= clearlyMerged*float64(c.Chunks)
}

// warnings are about what the tokens' count does to the latencies.
func (c Tokens) warnings() []string {
	var list []string
	if c.Merged() {
		list = append(list, fmt.Sprintf("A chunk of text stands for %s tokens on the mean (the server's --stream-interval, speculative decoding, characters of several tokens, or chunks joined on the way): "+
			"ITL is the gap between chunks, so read TPOT for the time of a token.", number(c.PerChunk())))
	}
	if c.Unreadable > 0 {
		list = append(list, fmt.Sprintf("%s no text, though %s counted for them: they are special tokens, or half a character where the limit of tokens cut it; "+
			"such answers count as successes and have no latency, so see what the model writes, or ask for more tokens.",
			have(c.Unreadable, "answer"), are(int(c.UnreadableTokens), "token")))
	}
	return list
}

// tokens are where the numbers of tokens come from.
func (f *facts) tokens(c *Checks) {
	var parts []string
	for _, by := range []struct {
		source openai.TokenSource
		text   string
	}{
		{openai.TokensUsage, "%d by the server's usage"},
		{openai.TokensContinuous, "%d by its running usage"},
		{openai.TokensIDs, "%d by counting token ids"},
		{openai.TokensChunks, "%d by counting chunks, one token each"},
	} {
		if n := c.TokensBy[by.source]; n > 0 {
			parts = append(parts, fmt.Sprintf(by.text, n))
		}
	}
	f.add("output tokens", strings.Join(parts, ", "))
	t := c.Tokens
	if t.Chunks > 0 {
		f.add("tokens a chunk", fmt.Sprintf("%s: %s counted, and %s with text came", number(t.PerChunk()),
			are(int(t.Counted), "token"), counted(int(t.Chunks), "chunk")))
	}
	if t.Textless > 0 {
		f.add("without text", counted(int(t.Textless), "event")+" brought tokens and no text (halves of characters, special tokens)")
	}
	if t.Unreadable > 0 {
		f.add("unreadable", fmt.Sprintf("%s no text, of %s: successes without TTFT and E2E", have(t.Unreadable, "answer"), counted(int(t.UnreadableTokens), "token")))
	}
	f.add("prefix cache", cacheText(c))
}

func cacheText(c *Checks) string {
	if !c.CacheKnown || c.PromptTokens == 0 {
		return "not told by the server"
	}
	text := fmt.Sprintf("%s of %d prompt tokens were cached", percent(share(c.CachedTokens, c.PromptTokens)), c.PromptTokens)
	if c.CacheTold > 0 && c.CacheTold < c.Answered {
		text += fmt.Sprintf(", at least: it was told for %d of %d answers", c.CacheTold, c.Answered)
	}
	return text
}

// takeCache counts what a usage told of the prompt.
func (c *checker) takeCache(r *runlog.Request) {
	u := r.Trace.Usage
	if u == nil || u.PromptTokens == 0 {
		return
	}
	c.told++
	c.prompt += int64(u.PromptTokens)
	if u.CachedTokens != nil {
		c.cacheTold++
		c.cached += int64(min(*u.CachedTokens, u.PromptTokens)) // whatever a server claims
	}
}

// have is "1 answer has" or "2 answers have".
func have(n int, thing string) string {
	if n == 1 {
		return counted(n, thing) + " has"
	}
	return counted(n, thing) + " have"
}

// are is "1 token was" or "2 tokens were".
func are(n int, thing string) string {
	if n == 1 {
		return counted(n, thing) + " was"
	}
	return counted(n, thing) + " were"
}
