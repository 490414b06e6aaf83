package dataset

import (
	"fmt"
	"math"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Kind says what a data set is made of.
type Kind string

// The kinds, by vLLM's names, and evalscope's for the first. Those with a file read
// JSON objects, one a line or in one array.
const (
	OpenQA   Kind = "openqa"            // question
	ShareGPT Kind = "sharegpt"          // conversations: the first question and the length of its answer
	Custom   Kind = "custom"            // prompt or messages, max_tokens or output_tokens
	Random   Kind = "random"            // made: so many tokens
	Prefix   Kind = "prefix_repetition" // made: few prefixes, many endings
	Replay   Kind = "timed_trace"       // timestamp, input_length, output_length and hash_ids
)

// Kinds are all kinds, in the order to show them to a user.
func Kinds() []Kind { return []Kind{OpenQA, ShareGPT, Custom, Random, Prefix, Replay} }

// ParseKind reads the name of a kind, also one from a log of 0.1.0.
func ParseKind(name string) (Kind, error) {
	switch name {
	case "prefix":
		return Prefix, nil
	case "replay":
		return Replay, nil
	}
	if slices.Contains(Kinds(), Kind(name)) {
		return Kind(name), nil
	}
	return "", fmt.Errorf("unknown data set %q: must be one of %v", name, Kinds())
}

// Config says which prompts to make. One Source serves one step of a run.
type Config struct {
	Kind Kind
	Path string     // the file, for the kinds that have one
	API  openai.API // openai.Chat when empty
	Seed uint64
	// Step is 0 for the first step of a run, whose prompts are the file's own. In any
	// other, a warm-up's negative one among them, prompts are other ones, so that the
	// server does not have them in its prefix cache: made ones are drawn anew, one
	// word is put before those of a file. What prompts of a step share they still share.
	Step int
	// ReusePrompts takes the prompts of step 0 in each.
	ReusePrompts bool
	// Records, where not nil, are those that [Read] returned, so that a file is read
	// once for all steps.
	Records []Record
	// DisableShuffle takes the records of ShareGPT and custom in the file's order from one
	// that Seed chooses, as those of openqa always are; 0 is the first. Otherwise they are
	// shuffled by Seed, as vLLM does.
	DisableShuffle bool
	// MinPromptLength and MaxPromptLength bound the prompts taken from a file, in
	// characters (evalscope's --max-prompt-length); 0 is no bound. Others are skipped
	// and counted.
	MinPromptLength, MaxPromptLength int
	// OutputLen is the number of tokens to ask for. 0 leaves it to the records:
	// max_tokens of custom, output_length of a trace, for ShareGPT the length of the
	// recorded answer. Made prompts need one.
	OutputLen int
	// InputLen is the length of random prompts in tokens, PrefixLen not among
	// them.
	InputLen int
	// InputRangeRatio and OutputRangeRatio r, 0 ≤ r < 1, spread random's InputLen and
	// OutputLen evenly from len·(1−r) to len·(1+r) (vLLM's --random-range-ratio).
	InputRangeRatio, OutputRangeRatio float64
	// PrefixLen tokens begin every random prompt, or every prompt of one of the
	// NumPrefixes of prefix_repetition.
	PrefixLen int
	// NumPrefixes is how many prefixes there are, and SuffixLen how many tokens follow
	// one (vLLM's prefix_repetition).
	NumPrefixes, SuffixLen int
	// TokenIDs sends made prompts as token ids, whose number is exact; the completions
	// API only. Else they are words, as many as TokensPerWord says.
	TokenIDs bool
	// TokensPerWord is how many tokens the server counts for such a word, 1 when 0.
	TokensPerWord float64
	// Trace says how the records of a trace are to be read.
	Trace Trace
	// Tokenizer counts the texts of ShareGPT. Without it, and from its first error on,
	// they are estimated: a token for each 4 ASCII characters and each 1.5 others.
	Tokenizer Tokenizer
}

// Trace is the layout of a trace's records. vLLM's timed_trace counts in seconds and has
// blocks of 16 tokens, Mooncake's counts in milliseconds and has blocks of 512.
type Trace struct {
	Second float64 // how many seconds one unit of a timestamp is
	Block  int     // the tokens of a block that one of the hash ids names
}

// maxPromptTokens bounds one made prompt.
const maxPromptTokens = 1 << 20

// PlausibleTokensPerWord reports whether a tokenizer may make so many tokens of a short
// English word: from a quarter, which would join several, to 16.
func PlausibleTokensPerWord(tokens float64) bool { return tokens >= 0.25 && tokens <= 16 }

// tooShort names a length that makes no sense below 1 for the kind, none where all do.
func (c Config) tooShort() string {
	made, prefix := c.Kind == Random || c.Kind == Prefix, c.Kind == Prefix
	switch {
	case c.Kind == Random && c.InputLen+c.PrefixLen < 1:
		return "an input length"
	case made && c.OutputLen < 1:
		return "an output length"
	case prefix && c.PrefixLen < 1:
		return "a prefix length"
	case prefix && c.NumPrefixes < 1:
		return "a number of prefixes"
	case c.Kind == Replay && c.Trace.Block < 1:
		return "a block size"
	}
	return ""
}

// Check reports lengths that make no sense, and what does not fit the kind.
func (c Config) Check() error {
	made := c.Kind == Random || c.Kind == Prefix
	switch {
	case !slices.Contains(Kinds(), c.Kind):
		return fmt.Errorf("unknown data set %q: must be one of %v", c.Kind, Kinds())
	case !made && c.Path == "":
		return fmt.Errorf("data set %s needs a file", c.Kind)
	case c.TokenIDs && c.API != openai.Completions:
		return fmt.Errorf("prompts of token ids need the completions API")
	case c.TokensPerWord != 0 && !PlausibleTokensPerWord(c.TokensPerWord):
		return fmt.Errorf("%v tokens a word are no tokenizer's", c.TokensPerWord)
	case c.Kind == Replay && (!(c.Trace.Second > 0) || math.IsInf(c.Trace.Second, 0)): // NaN too
		return fmt.Errorf("a unit of %g seconds for timestamps is not above 0", c.Trace.Second)
	}
	for _, n := range []int{c.InputLen, c.OutputLen, c.PrefixLen, c.SuffixLen, c.Trace.Block, c.MinPromptLength, c.MaxPromptLength, c.NumPrefixes} {
		if n < 0 || n > maxPromptTokens {
			return fmt.Errorf("a length or number of %d is not within 0 and %d", n, maxPromptTokens)
		}
	}
	if name := c.tooShort(); name != "" {
		return fmt.Errorf("data set %s needs %s of at least 1", c.Kind, name)
	}
	for _, r := range []float64{c.InputRangeRatio, c.OutputRangeRatio} {
		if !(r >= 0 && r < 1) {
			return fmt.Errorf("range ratio %v must be at least 0 and below 1; 0, not the 1 of old vLLM versions, keeps lengths fixed", r)
		}
	}
	return nil
}
