// Package dataset makes the prompts of a load test: from a file, or from a seed.
package dataset

import (
	"context"
	"fmt"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Prompt is what one request asks. One of Text, Messages, Tokens and Turns is
// set; Messages may stand before Turns.
type Prompt struct {
	Text     string           // the user's message, or the text to complete
	Messages []openai.Message // a conversation, for the chat API
	Tokens   []int32          // token ids, for the completions API

	MaxTokens int           // the length of the answer the dataset asks for, 0 for none
	Estimated bool          // MaxTokens was guessed from a text, see [Config.Tokenizer]
	At        time.Duration // when the request is due in a trace, since its start
	// ExpectedTokens is the exact length of a prompt of token ids, AimedTokens the one that
	// a prompt of made words is to have; else 0.
	ExpectedTokens, AimedTokens int
	// Turns make a conversation, behind Messages: the user's, each sent with the answers
	// to those before it.
	Turns []Turn
	// Shared are the starts of the prompt that others may have too, from the shortest on.
	Shared []Shared
	// ID names a request of a trace, and After the one that it continues, empty for none.
	// Those of one session have one name.
	ID, After string
}

// Shared is a start of a prompt: who has the same ID begins with the same tokens.
type Shared struct {
	ID     uint64
	Tokens int // from the start of the prompt
}

// Source gives out prompts one after the other. It is used by one goroutine at a time.
type Source interface {
	// Next returns the next prompt, or io.EOF when there are no more: a trace ends, and with
	// [Config.NoOversample] any file.
	Next(ctx context.Context) (Prompt, error)
	// Count is what was given out and skipped since the last call of Count.
	Count() runlog.DatasetCount
	// Close lets go of the file.
	Close()
}

type counter struct{ count runlog.DatasetCount }

// Count implements [Source].
func (c *counter) Count() runlog.DatasetCount {
	count := c.count
	c.count = runlog.DatasetCount{}
	return count
}

// Close implements [Source] where no file is open.
func (c *counter) Close() {}

// Read returns the records of the file of cfg, nil for a data set that has none.
func Read(cfg Config) ([]Record, error) {
	k, err := find(cfg.Kind)
	if err != nil || k.read == nil || cfg.Path == "" {
		return nil, err
	}
	all, err := k.read(cfg)
	if err != nil {
		return nil, fmt.Errorf("reading data set %s as %s: %w", cfg.Path, cfg.Kind, err)
	}
	return all, nil
}

// Open returns the prompts of one step. It fails where [Config.Check] does.
func Open(cfg Config) (Source, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	k, _ := find(cfg.Kind) // which Check has found
	return k.open(cfg), nil
}
