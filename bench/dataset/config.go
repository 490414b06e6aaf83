package dataset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Config says which prompts to make. One Source serves one step of a run: the
// next step opens another, which begins at the data set's first record.
//
// All but the nonce of a prompt follows from Seed, the file and the Tokenizer:
// files are read in their own order, never shuffled (vLLM shuffles them).
type Config struct {
	Kind Kind       // told by [Detect] from Path when empty
	Path string     // the file, for the kinds that have one; .gz is unpacked
	API  openai.API // openai.Chat when empty
	Seed uint64
	// RunID and Step make the nonce that every prompt starts with, so that no
	// server has it in its prefix cache: what prompts of a step share by design
	// (kinds prefix and replay, and random with a PrefixLen) they still share. A
	// text grows by 10 hex digits and a newline, made prompts keep their length.
	RunID string
	Step  int
	// ReusePrompts leaves the nonce out.
	ReusePrompts bool
	// MinPromptLength and MaxPromptLength bound the prompts taken from a file, in
	// characters without the nonce (evalscope's --max-prompt-length). 0 is no
	// bound. Others are skipped and counted.
	MinPromptLength, MaxPromptLength int
	// OutputLen is the number of tokens to ask for. 0 leaves it to the records:
	// max_tokens of custom, output_length of a replay, for ShareGPT the length of the
	// recorded answer, with vLLM's bounds on question and answer (is_valid_sequence);
	// and is 128 for random and prefix.
	OutputLen int
	// MaxBadRecords is how many records of a file may be unusable. 100 when 0,
	// none when negative.
	MaxBadRecords int
	// InputLen is the length of random prompts in tokens, PrefixLen not among
	// them. 1024 when 0.
	InputLen int
	// RangeRatio r, 0 ≤ r < 1, spreads random's InputLen and OutputLen evenly from
	// len·(1−r) to len·(1+r) (vLLM's --random-range-ratio).
	RangeRatio float64
	// PrefixLen tokens begin every random prompt, 0 by default, or every prompt of
	// one of the NumPrefixes of prefix, 256 when 0.
	PrefixLen int
	// NumPrefixes is how many prefixes there are, 10 when 0, and SuffixLen how many
	// tokens follow one, 256 when 0 (vLLM's prefix_repetition).
	NumPrefixes, SuffixLen int
	// VocabularySize bounds the token ids that prompts are made of: from 1000,
	// since special tokens often come first, to VocabularySize−1. 30000 when 0,
	// which every current model exceeds.
	VocabularySize int
	// Trace says how the records of a replay are to be read.
	Trace Trace
	// Tokenizer makes random and prefix exact on the chat API; without it they are
	// words, as many as TokensPerWord says. It also counts the texts of ShareGPT where
	// OutputLen is 0; without it, and from its first error on, they are estimated: a
	// token for each 4 ASCII characters and each 1.5 others, rounded up.
	Tokenizer Tokenizer
	// TokensPerWord is how many tokens the server counts for such a word, 1 when 0.
	TokensPerWord float64
}

// Trace is the layout of a replay's records. Its zero value is that of Mooncake's
// traces; vLLM's timed_trace counts in seconds and has blocks of 16 tokens.
type Trace struct {
	// Second is how many seconds one unit of a timestamp is, 0.001 when 0.
	Second float64
	// Block is the tokens of a block that one of the hash ids names, 512 when 0.
	Block int
	// Timestamp, InputLength, OutputLength and HashIDs are the keys of a record;
	// timestamp, input_length, output_length and hash_ids where empty.
	Timestamp, InputLength, OutputLength, HashIDs string
}

// Tokenizer asks the model server. Neither way adds special tokens or a chat
// template. Its errors are shown and kept, so they must hold no secret.
type Tokenizer interface {
	Tokenize(ctx context.Context, text string) ([]int32, error)
	Detokenize(ctx context.Context, tokens []int32) (string, error)
}

const (
	// FirstToken is the lowest token id of made prompts: those below are left alone.
	FirstToken = 1000
	// DefaultVocabulary is the [Config.VocabularySize] that 0 stands for.
	DefaultVocabulary = 30000
	// LeastVocabulary is the smallest one.
	LeastVocabulary = 2 * FirstToken

	maxPromptTokens = 1 << 20 // of one made prompt
)

// PlausibleTokensPerWord reports whether a tokenizer may make so many tokens of a short
// English word: from a quarter, which would join several, to 16.
func PlausibleTokensPerWord(tokens float64) bool { return tokens >= 0.25 && tokens <= 16 }

// Open opens a data set. It fails on a file that cannot be read or is empty, and
// on lengths that make no sense; what is in the file is told by Next.
func Open(cfg Config) (Source, error) {
	if cfg.Kind == "" && cfg.Path != "" {
		kind, err := Detect(cfg.Path)
		if err != nil {
			return nil, err
		}
		cfg.Kind = kind
	}
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("opening data set: %w", err)
	}
	cfg = cfg.withDefaults()
	if form, _ := cfg.Kind.form(); form.read != nil {
		return openFile(cfg, form)
	}
	return newSynthetic(cfg), nil
}

func (c Config) check() error {
	form, known := c.Kind.form()
	if !known {
		return unknownKind(string(c.Kind))
	}
	if form.read != nil && c.Path == "" {
		return fmt.Errorf("kind %s needs a file", c.Kind)
	}
	if !c.ReusePrompts && c.RunID == "" {
		return errors.New("prompts cannot be made new without the id of the run")
	}
	for _, l := range []struct {
		name string
		n    int
	}{
		{"input length", c.InputLen},
		{"output length", c.OutputLen},
		{"prefix length", c.PrefixLen},
		{"suffix length", c.SuffixLen},
		{"block length", c.Trace.Block},
		{"least prompt length", c.MinPromptLength},
		{"greatest prompt length", c.MaxPromptLength},
		{"number of prefixes", c.NumPrefixes},
	} {
		if l.n < 0 || l.n > maxPromptTokens {
			return fmt.Errorf("%s %d is not within 0 and %d", l.name, l.n, maxPromptTokens)
		}
	}
	if s := c.Trace.Second; !(s >= 0) || math.IsInf(s, 0) {
		return fmt.Errorf("a unit of %g seconds for timestamps is not above 0", s)
	}
	if !(c.RangeRatio >= 0 && c.RangeRatio < 1) { // NaN too
		return fmt.Errorf("range ratio %v must be at least 0 and below 1; 0, not the 1 of old vLLM versions, keeps lengths fixed", c.RangeRatio)
	}
	if !(c.TokensPerWord == 0 || PlausibleTokensPerWord(c.TokensPerWord)) { // NaN too
		return fmt.Errorf("%v tokens a word are no tokenizer's", c.TokensPerWord)
	}
	if c.VocabularySize != 0 && (c.VocabularySize < LeastVocabulary || c.VocabularySize > 1<<30) {
		return fmt.Errorf("vocabulary size %d is not within %d and %d", c.VocabularySize, LeastVocabulary, 1<<30)
	}
	return nil
}

func (c Config) withDefaults() Config {
	c.MaxBadRecords = cmp.Or(c.MaxBadRecords, 100)
	c.VocabularySize = cmp.Or(c.VocabularySize, DefaultVocabulary)
	c.TokensPerWord = cmp.Or(c.TokensPerWord, 1)
	c.InputLen = cmp.Or(c.InputLen, 1024)
	if c.Kind == Prefix {
		c.NumPrefixes = cmp.Or(c.NumPrefixes, 10)
		c.PrefixLen = cmp.Or(c.PrefixLen, 256)
		c.SuffixLen = cmp.Or(c.SuffixLen, 256)
	}
	if c.Kind == Prefix || c.Kind == Random {
		c.OutputLen = cmp.Or(c.OutputLen, 128)
	}
	return c
}

// withDefaults fills in what the zero value stands for.
func (t Trace) withDefaults() Trace {
	return Trace{
		Second:       cmp.Or(t.Second, 0.001),
		Block:        cmp.Or(t.Block, 512),
		Timestamp:    cmp.Or(t.Timestamp, "timestamp"),
		InputLength:  cmp.Or(t.InputLength, "input_length"),
		OutputLength: cmp.Or(t.OutputLength, "output_length"),
		HashIDs:      cmp.Or(t.HashIDs, "hash_ids"),
	}
}
