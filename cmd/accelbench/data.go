package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
)

type dataFlags struct {
	kind, path     string
	inputLen       int // in place of the random length
	outputLen      int // in place of every other length
	ratio          rangeRatio
	outputLens     map[dataset.Kind]*int // of the kinds that have a flag of their own
	prefix, suffix int                   // lengths of prefix_repetition
	reuse          bool
	blockSize      int // of the server's prefix cache, 0 for what it says
	turnLen        int // of multi_turn, as startLen
	startLen       int
	turnsSet       bool           // a flag of made conversations was given
	config         dataset.Config // what needs no more than its flag
}

func (d *dataFlags) register(c *kingpin.CmdClause) {
	o := &d.config
	c.Flag("dataset-name", "openqa, sharegpt, custom, random, prefix_repetition, timed_trace, multi_turn. Default: as the file looks.").PlaceHolder("NAME").StringVar(&d.kind)
	c.Flag("dataset-path", "File with the prompts. Default: random prompts.").PlaceHolder("FILE").StringVar(&d.path)
	c.Flag("disable-shuffle", "").Hidden().BoolVar(&o.DisableShuffle)
	c.Flag("no-oversample", "").Hidden().BoolVar(&o.NoOversample)
	c.Flag("skip-chat-template", "").Hidden().BoolVar(&o.SkipChatTemplate)
	c.Flag("reuse-prompts", "Send prompts verbatim, the same in each step.").BoolVar(&d.reuse)
	c.Flag("random-input-len", "Tokens of a random prompt.").Default("1024").IntVar(&o.InputLen)
	c.Flag("random-prefix-len", "").Hidden().Default("0").IntVar(&o.PrefixLen)
	c.Flag("random-range-ratio", "Spread of both lengths: 0.5 is ±50 %.").Default("0").SetValue(parsed(&d.ratio, parseRangeRatio))
	c.Flag("prompt-token-ids", "Send made prompts as token ids: exact lengths.").BoolVar(&o.TokenIDs)
	c.Flag("input-len", "").Hidden().SetValue(parsed(&d.inputLen, parseCount))
	c.Flag("output-len", "Tokens of an answer, whatever the data set says.").PlaceHolder("N").SetValue(parsed(&d.outputLen, parseCount))
	d.outputLens = map[dataset.Kind]*int{
		dataset.Random:   c.Flag("random-output-len", "Tokens of the answer to a random prompt.").Default("128").Int(),
		dataset.Custom:   c.Flag("custom-output-len", "").Hidden().Default("256").Int(), // -1: the record's
		dataset.ShareGPT: c.Flag("sharegpt-output-len", "").Hidden().Int(),
		dataset.Prefix:   c.Flag("prefix-repetition-output-len", "").Hidden().Default("128").Int(),
	}
	c.Flag("prefix-repetition-num-prefixes", "").Hidden().Default("10").IntVar(&o.NumPrefixes)
	c.Flag("prefix-repetition-prefix-len", "").Hidden().Default("256").IntVar(&d.prefix)
	c.Flag("prefix-repetition-suffix-len", "").Hidden().Default("256").IntVar(&d.suffix)
	c.Flag("multi-turn-num-turns", "Turns of a conversation: 4, or 2-8.").Default("4").IsSetByUser(&d.turnsSet).SetValue(parsed(&o.Conversations.Turns, dataset.ParseRange))
	c.Flag("multi-turn-input-len", "New tokens of a turn.").Default("256").IsSetByUser(&d.turnsSet).SetValue(parsed(&d.turnLen, parseCount))
	c.Flag("multi-turn-prefix-len", "Tokens of a system prompt that all share.").Default("0").IsSetByUser(&d.turnsSet).IntVar(&d.startLen)
	c.Flag("multi-turn-delay", "Mean thinking time, exponential; or constant:5s.").Default("0s").SetValue(parsed(&o.Conversations.Delay, dataset.ParseDelay))
	c.Flag("random-cache-hit", "Share of random prompts that the prefix cache can hold, such as 60%; sent once before.").PlaceHolder("SHARE").SetValue(parsed(&o.CacheHit, parseShare(1, 99)))
	c.Flag("block-size", "Tokens of a block of the server's prefix cache. Default: as its metrics say, else 16.").PlaceHolder("N").SetValue(parsed(&d.blockSize, parseCount))
	c.Flag("timed-trace-speed", "How much faster than recorded a trace is sent.").Default("1").SetValue(parsed(&o.Trace.Speed, parseRate))
	c.Flag("timed-trace-from", "Where in the trace's own time to begin.").PlaceHolder("D").DurationVar(&o.Trace.From)
	c.Flag("timed-trace-sec-multiplier", "").Hidden().Default("1").SetValue(parsed(&o.Trace.Second, parseRate))
	c.Flag("timed-trace-chunk-hash-size", "").Hidden().Default("16").SetValue(parsed(&o.Trace.Block, parseCount))
}

// dataset is the data set that the flags name, by its name, else as the file looks, else random. Its error is of the
// command line, unless the file cannot be read.
func (d *dataFlags) dataset() (c dataset.Config, err error) {
	c = d.config
	c.Path, c.Kind = d.path, dataset.Random
	switch {
	case d.path != "" && d.turnsSet:
		return c, usage(errors.New("--multi-turn-num-turns, --multi-turn-input-len and --multi-turn-prefix-len are of made conversations: a --dataset-path has its own"))
	case d.kind != "":
		c.Kind = dataset.Kind(d.kind)
	case d.path != "":
		if c.Kind, err = dataset.Detect(d.path); err != nil {
			return c, err
		}
	}
	d.setLengths(&c)
	switch {
	case c.CacheHit == 0:
	case c.Kind != dataset.Random || c.PrefixLen > 0:
		err = errors.New("give --dataset-name random, without --random-prefix-len")
	default: // the run splits them by the server's blocks
		split := c
		err = split.SplitForCache(cmp.Or(d.blockSize, 1))
	}
	if err != nil {
		return c, usage(fmt.Errorf("--random-cache-hit: %w", err))
	}
	return c, nil
}

// setLengths sets the lengths of prompts and answers that the flags give for the kind.
func (d *dataFlags) setLengths(c *dataset.Config) {
	c.InputRangeRatio, c.OutputRangeRatio = d.ratio.Input, d.ratio.Output
	c.InputLen = cmp.Or(d.inputLen, c.InputLen)
	answers := c.Kind
	switch c.Kind {
	case dataset.Prefix:
		c.PrefixLen, c.InputLen, c.InputRangeRatio, c.OutputRangeRatio = d.prefix, d.suffix, 0, 0
	case dataset.MultiTurn:
		c.InputLen, c.PrefixLen = d.turnLen, d.startLen
		if c.Path == "" {
			answers = dataset.Random
		}
	}
	c.OutputLen = d.outputLen
	if length := d.outputLens[answers]; c.OutputLen == 0 && length != nil {
		c.OutputLen = max(0, *length)
	}
}
