// Package dataset makes the prompts of a load test: from a file, or from a seed.
package dataset

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Config says which prompts to make. One Source serves one step of a run.
type Config struct {
	Kind Kind
	Path string     // the file, for the kinds that have one
	API  openai.API // openai.Chat when empty
	Seed uint64
	// Step is of the run, negative for a warm-up. Each has other prompts, as the server has
	// those before in its prefix cache: made ones are drawn anew, a word is put before those
	// of a file, also in each further pass unless they are to be Verbatim.
	Step           int
	Verbatim       bool
	NoOversample   bool     // the file's last record ends the prompts; else it is begun again
	Requests       int      // prompts at most, 0 for no limit; a trace that goes on is counted as cut
	Records        []Record `json:"-"` // of the file, by [Read], which reads it once for all steps
	DisableShuffle bool     // else records of a file, not of a trace, are shuffled by Seed, as with vLLM
	// MinPromptLength and MaxPromptLength bound the prompts of a file, in characters
	// (evalscope's --max-prompt-length); 0 is no bound. Others are skipped and counted.
	MinPromptLength, MaxPromptLength int
	OutputLen                        int // tokens to ask for, 0 for what the records say; made prompts need some
	InputLen                         int // tokens of made prompts, without PrefixLen
	// InputRangeRatio and OutputRangeRatio r, from 0 to below 1, spread the lengths of made
	// prompts and answers evenly from len·(1−r) to len·(1+r).
	InputRangeRatio, OutputRangeRatio float64
	// PrefixLen tokens begin every random prompt, or every prompt of one of the NumPrefixes of prefix_repetition.
	PrefixLen, NumPrefixes int
	// CacheHit is the share of random prompts, from 0 to below 1, that the server's prefix
	// cache can hold: a start that all share, sent once before them. See SplitForCache.
	CacheHit float64
	// TokenIDs sends made prompts as token ids, whose number is exact; the completions
	// API only. Else they are words, as many as TokensPerWord says.
	TokenIDs bool
	// Words are what prompts are made of, those of [Words] when nil, of TokensPerWord tokens each, 1 when 0.
	Words         []string
	TokensPerWord float64
	Trace         Trace `json:"-"` // how the records of a trace are to be read: its speed may be infinite
	// Conversations have Turns of InputLen tokens behind a system prompt of PrefixLen tokens;
	// of a file they give the thinking time that it leaves out.
	Turns Range
	Delay Delay
	// SkipChatTemplate sends custom prompts to the completions API as they are. Else they
	// go as token ids in the model's chat template, as with vLLM, where ChatTokens is set.
	SkipChatTemplate bool
	// Tokenizer returns how many tokens the model server makes of a text, without special
	// ones; false where it does not say, and 4 bytes count as a token.
	Tokenizer func(ctx context.Context, text string) (int, bool) `json:"-"`
	// ChatTokens are a message's ids in the model's chat template; false where the text goes as it is.
	ChatTokens func(ctx context.Context, text string) ([]int32, bool) `json:"-"`
}

const maxPromptTokens = 1 << 20 // of one made prompt

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
	case k.made && k.read == nil && c.Path != "":
		return fmt.Errorf("data set %s takes no file: leave out --dataset-path, or name the file's kind with --dataset-name", c.Kind)
	case k.chat && c.API == openai.Completions:
		return fmt.Errorf("data set %s needs the chat API: give --backend openai-chat", c.Kind)
	case c.TokenIDs && c.API != openai.Completions:
		return errors.New("prompts of token ids need the completions API")
	case c.Trace.From < 0:
		return errors.New("--timed-trace-from must not be negative")
	case min(c.InputLen, c.OutputLen, c.PrefixLen, c.NumPrefixes, c.MinPromptLength, c.MaxPromptLength) < 0,
		max(c.InputLen, c.OutputLen, c.PrefixLen, c.NumPrefixes, c.Trace.Block) > maxPromptTokens:
		return fmt.Errorf("lengths of prompts and answers must be from 0 to %d", maxPromptTokens)
	}
	return nil
}

// Prompt is what one request asks. One of Text, Messages, Tokens and Turns is set; Messages may stand before Turns.
type Prompt struct {
	Text     string           // the user's message, or the text to complete
	Messages []openai.Message // a conversation, for the chat API
	Tokens   []int32          // token ids, for the completions API

	MaxTokens int           // the length of the answer the dataset asks for, 0 for none
	Estimated bool          // MaxTokens was guessed from a text, see [Config.Tokenizer]
	At        time.Duration // when the request is due in a trace, since its start
	// ExpectedTokens is the exact length of token ids, AimedTokens the one that made words are to have; else 0.
	ExpectedTokens, AimedTokens int
	// Turns make a conversation, behind Messages: the user's, each sent with the answers to those before it.
	Turns []Turn
	// Shared are the starts of the prompt that others may have too, from the shortest on.
	Shared []Shared
	// ID names a request of a trace, or its session, and After the one that it continues; empty for none.
	ID, After string
}

// Shared is a start of a prompt: who has the same ID begins with the same tokens.
type Shared struct {
	ID     uint64
	Tokens int // from the start of the prompt
}

// Source gives out prompts one after the other. It is used by one goroutine at a time.
type Source interface {
	// Next returns io.EOF at the end of a trace, and with [Config.NoOversample] of any file.
	Next(ctx context.Context) (Prompt, error)
	// Count is what was given out and skipped since the last call of Count.
	Count() runlog.DatasetCount
	// Close lets go of the file.
	Close()
}

type counter struct{ count runlog.DatasetCount }

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

// Kind says what a data set is made of.
type Kind string

// The kinds, by vLLM's names, and evalscope's for the first.
const (
	OpenQA    Kind = "openqa"
	ShareGPT  Kind = "sharegpt"
	Custom    Kind = "custom"
	Random    Kind = "random"
	Prefix    Kind = "prefix_repetition"
	Replay    Kind = "timed_trace"
	MultiTurn Kind = "multi_turn" // ours
)

// kinds are all kinds, in the order in which their keys are looked for.
var kinds = []kind{
	openQA, shareGPT, trace, multiTurn, custom,
	{name: Random, made: true, open: openSingle},
	{name: Prefix, made: true, open: openSingle},
}

// kind is how the prompts of one kind are made.
type kind struct {
	name Kind
	keys []string                       // a file whose first record has one of them is of this kind
	made bool                           // needs no file
	chat bool                           // needs the chat API
	read func(Config) ([]Record, error) // the records of a file, nil for what reads none at once
	open func(Config) Source            // of one step
}

func kindNames() string {
	var names []string
	for _, k := range kinds {
		names = append(names, string(k.name))
	}
	return strings.Join(names, ", ")
}

// find returns the kind of that name; the error lists all.
func find(name Kind) (kind, error) {
	at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if at < 0 {
		return kind{}, fmt.Errorf("unknown data set %q: use %s", name, kindNames())
	}
	return kinds[at], nil
}

// Detect returns the kind of a file by the keys of its first record; CSV is a trace.
func Detect(path string) (Kind, error) {
	if strings.EqualFold(filepath.Ext(path), ".csv") {
		return Replay, nil
	}
	var found Kind
	err := readFile(path, questionExample, func(v map[string]any) error {
		at := slices.IndexFunc(kinds, func(k kind) bool {
			return slices.ContainsFunc(k.keys, func(key string) bool { return v[key] != nil })
		})
		if at >= 0 {
			found = kinds[at].name
		}
		return fmt.Errorf("its keys do not tell what the data set is: give --dataset-name with %s", kindNames()) // no more are wanted
	})
	if found == "" {
		return "", fmt.Errorf("reading data set %s: %w", path, err)
	}
	return found, nil
}
