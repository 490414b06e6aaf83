package main

import (
	"errors"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
)

// dataFlags say where the prompts come from.
type dataFlags struct {
	kind, path           string
	pathSet, inputLenSet bool
	secondSet, blockSet  bool // of a replay
	ratio                float64
	reuse                bool
	outputLen            map[dataset.Kind]*int // of the kinds that have a flag of their own
	prefixes             struct{ number, length, suffix int }
	config               dataset.Config // what needs no more than its flag
}

func (d *dataFlags) register(c flagSet) {
	kinds := make([]string, 0, 8)
	for _, k := range dataset.Kinds() {
		kinds = append(kinds, string(k))
	}
	o := &d.config
	bind(c.Flag("dataset", "Kind of prompts: "+strings.Join(kinds, ", ")+". Default: as the file looks, random without a file."), known(&d.kind, kinds...))
	bind(c.Flag("dataset-path", "Path of the file with the prompts.").IsSetByUser(&d.pathSet), filename(&d.path))
	c.Flag("min-prompt-length", "Minimum length of a prompt in characters; shorter ones are skipped.").IntVar(&o.MinPromptLength)
	c.Flag("max-prompt-length", "Maximum length of a prompt in characters; longer ones are skipped, 0 for none. Default: none; on a command line of evalscope-perf 256, as there.").IntVar(&o.MaxPromptLength)
	c.Flag("reuse-prompts", "Send prompts verbatim and the same ones in each step, although the server may have them in its cache.").BoolVar(&d.reuse)
	c.Flag("input-len", "Length of a random prompt in tokens: exact as token ids, else within a few per cent.").
		Default("1024").IsSetByUser(&d.inputLenSet).IntVar(&o.InputLen)
	d.outputLen = map[dataset.Kind]*int{}
	length := func(kind dataset.Kind, f *kingpin.FlagClause) {
		d.outputLen[kind] = f.Int()
	}
	length(dataset.Random, c.Flag("random-output-len", "Length of the answer to a random prompt in tokens.").Default("128"))
	c.Flag("output-len", "Length of an answer in tokens, whatever the data set says.").IntVar(&o.OutputLen)
	length(dataset.ShareGPT, c.Flag("sharegpt-output-len", "Length of the answer to a question of ShareGPT in tokens."))
	length(dataset.Custom, c.Flag("custom-output-len", "Length of the answer to a prompt of kind custom in tokens; -1 as its record says. Default: -1; 256 for --dataset-name, as vLLM's tool has it."))
	bind(c.Flag("random-range-ratio", "Spread of random lengths, uniform within this ratio of them: from 0 to below 1.").Default("0"), scalar(&d.ratio, parseRatio))
	c.Flag("random-prefix-len", "Length of the prefix that all random prompts share, in tokens.").Default("0").IntVar(&o.PrefixLen)
	c.Flag("prompt-token-ids", "Send random prompts as token ids, whose number is exact; with --api completions only.").BoolVar(&o.TokenIDs)
	c.Flag("disable-shuffle", "Take the records of ShareGPT and custom in the order of the file.").BoolVar(&o.DisableShuffle)
	c.Flag("prefix-repetition-num-prefixes", "Number of shared prefixes.").Default("10").IntVar(&d.prefixes.number)
	c.Flag("prefix-repetition-prefix-len", "Length of a shared prefix in tokens.").Default("256").IntVar(&d.prefixes.length)
	c.Flag("prefix-repetition-suffix-len", "Length of the prompt after a shared prefix in tokens.").Default("256").IntVar(&d.prefixes.suffix)
	length(dataset.Prefix, c.Flag("prefix-repetition-output-len", "Length of the answer after a shared prefix in tokens.").Default("128"))
	c.Flag("timed-trace-sec-multiplier", "Unit of a trace's timestamps in seconds. Default: 1.").
		IsSetByUser(&d.secondSet).Float64Var(&o.Trace.Second)
	c.Flag("timed-trace-chunk-hash-size", "Length of the block that a hash id of a trace names, in tokens. Default: 16.").
		IsSetByUser(&d.blockSet).IntVar(&o.Trace.Block)
}

// dataset is the data set that the flags name. Its error is of the command line, unless
// the file cannot be read.
func (d *dataFlags) dataset() (dataset.Config, error) {
	c := d.config
	c.Path = d.path
	if d.ratio < 1 { // 1 in old versions of vLLM's tool: the least is the whole of the length
		c.InputRangeRatio, c.OutputRangeRatio = d.ratio, d.ratio
	}
	var err error
	switch {
	case d.path == "" && d.pathSet:
		return c, usage(errors.New("--dataset-path is empty"))
	case d.secondSet && !(c.Trace.Second > 0):
		return c, usage(errors.New("--timed-trace-sec-multiplier must be above 0"))
	case d.blockSet && c.Trace.Block < 1:
		return c, usage(errors.New("--timed-trace-chunk-hash-size must be at least 1"))
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
	if c.Kind == dataset.Prefix {
		c.NumPrefixes, c.PrefixLen, c.SuffixLen = d.prefixes.number, d.prefixes.length, d.prefixes.suffix
	}
	if length := d.outputLen[c.Kind]; c.OutputLen == 0 && length != nil {
		c.OutputLen = max(0, *length) // -1 leaves it to the record
	}
	return c, nil
}
