// Package dataset makes the prompts of a load test: from local files, streamed
// and never loaded whole, or from a seed.
package dataset

import (
	"context"
	"io"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Prompt is what one request asks. Exactly one of Text, Messages and Tokens is
// set.
type Prompt struct {
	Text     string           // the user's message, or the text to complete
	Messages []openai.Message // a conversation, for the chat API
	Tokens   []int32          // token ids, for the completions API
	// MaxTokens is the length of the answer the dataset asks for, 0 for none.
	MaxTokens int
	// Estimated is true when MaxTokens was guessed from a text, see
	// [Config.Tokenizer].
	Estimated bool
	// At is when the request is due in a replay, since its start.
	At time.Duration
	// ExpectedTokens is the exact length of the prompt where it was made so,
	// else 0.
	ExpectedTokens int
	// AimedTokens is the length that the prompt was made for and may not have: it is
	// made of words, whose tokens are estimated, or ExpectedTokens tells that no text
	// of that length was found. 0 where neither is so.
	AimedTokens int
}

// Source gives out prompts one after the other. It is used by one goroutine at
// a time.
type Source interface {
	// Next returns the next prompt. It returns io.EOF when there are no more
	// (only a replay ends; a file is begun again) and any other error when there
	// can be no more: a file that cannot be read, one without a usable record, too
	// many bad ones, a server that does not tokenize.
	Next(ctx context.Context) (Prompt, error)
	// Count is what was given out and skipped since the last call of Count.
	Count() runlog.DatasetCount
	io.Closer // lets go of the file
}
