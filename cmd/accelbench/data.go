package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
)

// dataFlags say where the prompts come from.
type dataFlags struct {
	kind, path     string
	inputLen       int // in place of the random length
	outputLen      int // in place of every other length
	ratio          rangeRatio
	outputLens     map[dataset.Kind]*int // of the kinds that have a flag of their own
	prefix, suffix int                   // lengths of prefix_repetition
	reuse          bool
	config         dataset.Config // what needs no more than its flag
}

func (d *dataFlags) register(c *kingpin.CmdClause) {
	o := &d.config
	c.Flag("dataset-name", "openqa, sharegpt, custom, random, prefix_repetition, timed_trace. Default: as the file looks.").PlaceHolder("NAME").StringVar(&d.kind)
	c.Flag("dataset-path", "File with the prompts. Default: random prompts.").PlaceHolder("FILE").StringVar(&d.path)
	c.Flag("disable-shuffle", "").Hidden().BoolVar(&o.DisableShuffle)
	c.Flag("reuse-prompts", "Send prompts verbatim, the same in each step.").BoolVar(&d.reuse)
	c.Flag("random-input-len", "Tokens of a random prompt.").Default("1024").IntVar(&o.InputLen)
	c.Flag("random-prefix-len", "").Hidden().Default("0").IntVar(&o.PrefixLen)
	c.Flag("random-range-ratio", "Spread of both lengths: 0.5 is ±50 %.").Default("0").SetValue(parsed(&d.ratio, parseRangeRatio))
	c.Flag("prompt-token-ids", "Send made prompts as token ids: exact lengths.").BoolVar(&o.TokenIDs)
	c.Flag("input-len", "").Hidden().SetValue(parsed(&d.inputLen, parseCount))
	c.Flag("output-len", "Tokens of an answer, whatever the data set says.").PlaceHolder("N").SetValue(parsed(&d.outputLen, parseCount))
	d.outputLens = map[dataset.Kind]*int{
		dataset.Random:   c.Flag("random-output-len", "Tokens of its answer.").Default("128").Int(),
		dataset.Custom:   c.Flag("custom-output-len", "").Hidden().Default("256").Int(), // -1: the record's
		dataset.ShareGPT: c.Flag("sharegpt-output-len", "").Hidden().Int(),
		dataset.Prefix:   c.Flag("prefix-repetition-output-len", "").Hidden().Default("128").Int(),
	}
	c.Flag("prefix-repetition-num-prefixes", "").Hidden().Default("10").IntVar(&o.NumPrefixes)
	c.Flag("prefix-repetition-prefix-len", "").Hidden().Default("256").IntVar(&d.prefix)
	c.Flag("prefix-repetition-suffix-len", "").Hidden().Default("256").IntVar(&d.suffix)
	c.Flag("timed-trace-sec-multiplier", "").Hidden().Default("1").SetValue(parsed(&o.Trace.Second, parseRate))
	c.Flag("timed-trace-chunk-hash-size", "").Hidden().Default("16").SetValue(parsed(&o.Trace.Block, parseCount))
}

// dataset is the data set that the flags name. Its error is of the command line, unless
// the file cannot be read.
func (d *dataFlags) dataset() (dataset.Config, error) {
	c := d.config
	c.Path = d.path
	var err error
	switch {
	case d.kind != "":
		if c.Kind, err = dataset.ParseKind(d.kind); err != nil {
			return c, usage(err)
		}
	case c.Path != "":
		if c.Kind, err = dataset.Detect(c.Path); err != nil {
			return c, err
		}
	default:
		c.Kind = dataset.Random
	}
	c.InputRangeRatio, c.OutputRangeRatio = d.ratio.Input, d.ratio.Output
	if d.inputLen > 0 {
		c.InputLen = d.inputLen
	}
	if c.Kind == dataset.Prefix {
		c.PrefixLen, c.SuffixLen = d.prefix, d.suffix
	}
	c.OutputLen = d.outputLen
	if length := d.outputLens[c.Kind]; c.OutputLen == 0 && length != nil {
		c.OutputLen = max(0, *length)
	}
	return c, nil
}
