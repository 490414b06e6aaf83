package dataset

import (
	"context"
	"errors"
	"fmt"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Config says which prompts to make. One Source serves one step of a run.
type Config struct {
	Kind Kind
	Path string     // the file, for the kinds that have one
	API  openai.API // openai.Chat when empty
	Seed uint64
	// Step is 0 for the first step of a run. In any other, a warm-up's negative one among
	// them, prompts are other ones, as the server has the first in its prefix cache: made
	// ones are drawn anew, one word is put before those of a file.
	Step int
	// Records, where not nil, are those that [Read] returned, so that a file is read
	// once for all steps.
	Records []Record
	// DisableShuffle takes the records of a file in their order. Otherwise they are
	// shuffled by Seed, as vLLM does; those of a trace never.
	DisableShuffle bool
	// MinPromptLength and MaxPromptLength bound the prompts taken from a file, in
	// characters (evalscope's --max-prompt-length); 0 is no bound. Others are skipped
	// and counted.
	MinPromptLength, MaxPromptLength int
	// OutputLen is the number of tokens to ask for, 0 for what the records say. Made
	// prompts need one.
	OutputLen int
	// InputLen is the length of made prompts in tokens, without PrefixLen.
	InputLen int
	// InputRangeRatio and OutputRangeRatio r, from 0 to below 1, spread random's lengths
	// evenly from len·(1−r) to len·(1+r).
	InputRangeRatio, OutputRangeRatio float64
	// PrefixLen tokens begin every random prompt, or every prompt of one of the
	// NumPrefixes of prefix_repetition.
	PrefixLen, NumPrefixes int
	// Prime asks for the start that all random prompts share to be sent before them, so
	// that it is in the server's prefix cache.
	Prime bool
	// TokenIDs sends made prompts as token ids, whose number is exact; the completions
	// API only. Else they are words, as many as TokensPerWord says.
	TokenIDs bool
	// TokensPerWord is how many tokens the server counts for such a word, 1 when 0.
	TokensPerWord float64
	// Trace says how the records of a trace are to be read.
	Trace Trace
	// Conversations say how conversations are made: turns of InputLen tokens behind a
	// system prompt of PrefixLen tokens. Of a file they give the thinking time that it
	// leaves out.
	Conversations Conversations
	// Tokenizer counts recorded answers. Without it, and once it failed, a token is
	// taken for each 4 bytes.
	Tokenizer Tokenizer
}

// Tokenizer is how many tokens the model server counts in a text, special ones left out;
// false where it does not say.
type Tokenizer func(ctx context.Context, text string) (int, bool)

// maxPromptTokens bounds one made prompt.
const maxPromptTokens = 1 << 20

// Check reports lengths that make no sense, and what does not fit the kind.
func (c Config) Check() error {
	k, err := find(c.Kind)
	switch {
	case err != nil:
		return err
	case !k.made && c.Path == "":
		return fmt.Errorf("data set %s needs a file: give --dataset-path", c.Kind)
	case k.made && c.Path == "" && min(c.OutputLen, c.InputLen+c.PrefixLen) < 1:
		return fmt.Errorf("data set %s needs an input and an output length of at least 1", c.Kind)
	case k.chat && c.API == openai.Completions:
		return fmt.Errorf("data set %s needs the chat API: give --backend openai-chat", c.Kind)
	case c.TokenIDs && c.API != openai.Completions:
		return errors.New("prompts of token ids need the completions API")
	}
	for _, length := range []struct {
		name   string
		tokens int
	}{
		{"input or suffix length", c.InputLen},
		{"output length", c.OutputLen},
		{"prefix length", c.PrefixLen},
		{"number of prefixes", c.NumPrefixes},
		{"length of a trace's blocks", c.Trace.Block},
		{"shortest prompt", c.MinPromptLength},
		{"longest prompt", c.MaxPromptLength},
	} {
		if length.tokens < 0 || length.tokens > maxPromptTokens {
			return fmt.Errorf("the %s, %d, is not within 0 and %d", length.name, length.tokens, maxPromptTokens)
		}
	}
	return nil
}

// FullLength reports whether answers are to have the length that is asked for, whatever
// the model would say: those of random prompts and traces, as in vLLM, and of made
// conversations.
func (c Config) FullLength() bool {
	return c.Kind == Random || c.Kind == Replay || c.Kind == MultiTurn && c.Path == ""
}
