package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

type loadFlags struct {
	runlog.Step // what all steps have
	users       []int
	rates       []float64 // requests a second
	repeat      int
	selfTimed   bool

	requestsSet, rampUpSet bool // the flag was given
	timesSet               bool // --self-timed or --no-self-timed was
}

func (l *loadFlags) register(c *kingpin.CmdClause) {
	l.Requests = 1000
	c.Flag("num-prompts", "Requests of a step: 1000, unless --duration.").PlaceHolder("N").IsSetByUser(&l.requestsSet).SetValue(parsed(&l.Requests, parseCount))
	c.Flag("duration", "How long each step sends requests.").PlaceHolder("D").DurationVar(&l.Duration)
	c.Flag("max-concurrency", "Most requests in flight; without a rate, so many users. A list is a sweep.").PlaceHolder("N,…").SetValue(parsed(&l.users, listOf(parseCount)))
	c.Flag("request-rate", "Requests per second. Default: inf, all at once. A list is a sweep.").PlaceHolder("R,…").SetValue(parsed(&l.rates, listOf(parseRate)))
	c.Flag("self-timed", "").Hidden().IsSetByUser(&l.timesSet).BoolVar(&l.selfTimed)
	c.Flag("max-failure-ratio", "Share of failures that stops the run; 0: never.").Default("0").FloatVar(&l.MaxFailureRatio)
	c.Flag("repeat", "Times that the whole sweep is run.").Default("1").SetValue(parsed(&l.repeat, parseCount))
}

// registerShape adds the flags of a load beside those of its levels.
func (l *loadFlags) registerShape(c *kingpin.CmdClause, cfg *load.Config) {
	c.Flag("burstiness", "Gaps: 1 is Poisson, less burstier, inf even.").Default("1").SetValue(parsed(&l.Burstiness, parseRate))
	c.Flag("num-warmups", "Requests before each step that are in no figure.").Default("0").IntVar(&l.Warmups)
	c.Flag("ramp-up", "Time over which users start, or the rate rises.").Default("0s").IsSetByUser(&l.rampUpSet).DurationVar(&l.RampUp)
	c.Flag("timeout", "Timeout of a request; 0 for none.").Default("10m").DurationVar(&l.Timeout)
	c.Flag("idle-timeout", "Longest pause between texts; 0 for no limit.").Default("30s").DurationVar(&cfg.Ask.IdleTimeout)
	c.Flag("seed", "Seed of prompts and gaps.").Default("0").Uint64Var(&cfg.Run.Seed)
}

// steps are the sweep that the flags ask for, repeated as often as they say.
func (l *loadFlags) steps(replay bool, idle time.Duration) (steps []runlog.Step, err error) {
	paced := slices.ContainsFunc(l.rates, func(rate float64) bool { return !math.IsInf(rate, 1) })
	switch {
	case l.repeat > 1000:
		err = errors.New("--repeat must be from 1 to 1000")
	case l.Warmups < 0:
		err = errors.New("--num-warmups must not be negative")
	case min(l.Duration, l.RampUp, l.Timeout, idle) < 0:
		err = errors.New("a duration must not be negative")
	case !(l.MaxFailureRatio >= 0 && l.MaxFailureRatio <= 1):
		err = errors.New("--max-failure-ratio must be from 0 to 1")
	case len(l.rates) > 0 && len(l.users) > 1:
		err = errors.New("--max-concurrency is a list, and --request-rate is given: one of them is the sweep")
	case replay && (paced || len(l.users) > 1 || l.RampUp > 0):
		err = errors.New("a timed_trace has its own times: give one --max-concurrency, and neither --request-rate nor --ramp-up")
	case l.timesSet && l.selfTimed != replay:
		err = errors.New("--self-timed is of a timed_trace, which always keeps its times")
	}
	if err != nil {
		return nil, err
	}
	rates, bounds := l.rates, l.users
	if len(rates) == 0 {
		rates = []float64{math.Inf(1)} // as with vLLM's tool
	}
	if len(bounds) == 0 {
		bounds = []int{0}
	}
	for repeat := range l.repeat {
		for _, rate := range rates {
			for _, bound := range bounds {
				s := l.level(replay, rate, bound)
				s.Index, s.Repeat = len(steps), repeat
				steps = append(steps, s)
			}
		}
	}
	return steps, nil
}

// level is the load at a rate and with a bound, 0 for none: the times of a trace, a rate, users, or all at once.
func (l *loadFlags) level(replay bool, rate float64, bound int) runlog.Step {
	s := l.Step
	s.Burstiness, s.MaxConcurrency = 0, bound
	if l.Duration > 0 && !l.requestsSet {
		s.Requests = 0
	}
	switch {
	case replay:
		s.Arrival = runlog.ArrivalReplay
	case math.IsInf(rate, 1) && bound > 0:
		s.Arrival, s.Concurrency, s.MaxConcurrency = runlog.ArrivalClosed, bound, 0
	case math.IsInf(rate, 1):
		s.Arrival, s.Requests, s.RampUp = runlog.ArrivalBurst, l.Requests, 0
	case math.IsInf(l.Burstiness, 1):
		s.Arrival, s.Rate = runlog.ArrivalConstant, rate
	case l.Burstiness == 1:
		s.Arrival, s.Rate, s.Burstiness = runlog.ArrivalPoisson, rate, 1
	default:
		s.Arrival, s.Rate, s.Burstiness = runlog.ArrivalGamma, rate, l.Burstiness
	}
	return s
}

type requestFlags struct {
	ignoreEOS, ignoreEOSSet bool
	members                 map[string]json.RawMessage // of the body, by flags of their own
	extra                   string
}

func (a *requestFlags) register(c *kingpin.CmdClause, ask *load.Ask) {
	a.members = map[string]json.RawMessage{}
	c.Flag("ignore-eos", "Answers of full length. Default: for random, timed_trace and made conversations.").IsSetByUser(&a.ignoreEOSSet).BoolVar(&a.ignoreEOS)
	c.Flag("continuous-usage", "Ask for usage with each chunk: ITL per token.").BoolVar(&ask.ContinuousUsage)
	c.Flag("temperature", "Sampling temperature. Default: the server's.").PlaceHolder("X").SetValue(a.number("temperature"))
	for _, name := range []string{"top-p", "top-k", "min-p", "repetition-penalty", "frequency-penalty", "presence-penalty", "logprobs"} {
		c.Flag(name, "").Hidden().SetValue(a.number(strings.ReplaceAll(name, "-", "_")))
	}
	c.Flag("chat-template-kwargs", "").Hidden().SetValue(parsedFlag(func(text string) error {
		a.members["chat_template_kwargs"] = json.RawMessage(text)
		return json.Unmarshal([]byte(text), &map[string]any{})
	}))
	c.Flag("traceparent", "Send the request id as the trace id, sampled.").Hidden().BoolVar(&ask.TraceParent)
	c.Flag("extra-body", "More members of each request's body.").PlaceHolder("JSON").StringVar(&a.extra)
}

// number is a flag whose value is a member of each request's body.
func (a *requestFlags) number(member string) parsedFlag {
	return func(text string) error {
		x, err := strconv.ParseFloat(text, 64)
		if err == nil {
			a.members[member], err = json.Marshal(x) // NaN is none
		}
		return err
	}
}

// complete sets the fields of ask that depend on several flags or on the data set.
func (a *requestFlags) complete(ask *load.Ask, d dataset.Config) error {
	extra := map[string]json.RawMessage{}
	if a.extra != "" {
		if err := json.Unmarshal([]byte(a.extra), &extra); err != nil || extra == nil { // which null makes it
			return errors.New("--extra-body is no JSON object")
		}
	}
	for name, value := range a.members {
		if name != "logprobs" || d.API == openai.Completions { // vLLM's tool sends that number to no chat
			extra[name] = value
		}
	}
	if err := openai.CheckExtra(extra); err != nil {
		return fmt.Errorf("--extra-body: %w", err)
	}
	isMade := d.Kind == dataset.Random || d.Kind == dataset.Replay || d.Kind == dataset.MultiTurn && d.Path == ""
	ask.IgnoreEOS, ask.Extra = a.ignoreEOS || !a.ignoreEOSSet && isMade, extra
	return nil
}

type dataFlags struct {
	inputLen       int // in place of the random length
	outputLen      int // in place of every other length
	ratio          rangeRatio
	outputLens     map[dataset.Kind]*int // of the kinds that have a flag of their own
	prefix, suffix int                   // lengths of prefix_repetition
	turnLen        int                   // of multi_turn, as startLen
	startLen       int
	turnsSet       bool // a flag of made conversations was given
}

func (d *dataFlags) register(c *kingpin.CmdClause, cfg *load.Config) {
	o := &cfg.Dataset
	c.Flag("dataset-name", "openqa, sharegpt, custom, random, prefix_repetition, timed_trace, multi_turn. Default: as the file looks.").PlaceHolder("NAME").StringVar((*string)(&o.Kind))
	c.Flag("dataset-path", "File with the prompts. Default: random prompts.").PlaceHolder("FILE").StringVar(&o.Path)
	c.Flag("disable-shuffle", "").Hidden().BoolVar(&o.DisableShuffle)
	c.Flag("no-oversample", "").Hidden().BoolVar(&o.NoOversample)
	c.Flag("skip-chat-template", "").Hidden().BoolVar(&o.SkipChatTemplate)
	c.Flag("reuse-prompts", "Send prompts verbatim, the same in each step.").BoolVar(&cfg.Run.ReusePrompts)
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
	c.Flag("multi-turn-num-turns", "Turns of a conversation: 4, or 2-8.").Default("4").IsSetByUser(&d.turnsSet).SetValue(parsed(&o.Turns, dataset.ParseRange))
	c.Flag("multi-turn-input-len", "New tokens of a turn.").Default("256").IsSetByUser(&d.turnsSet).SetValue(parsed(&d.turnLen, parseCount))
	c.Flag("multi-turn-prefix-len", "Tokens of a system prompt that all share.").Default("0").IsSetByUser(&d.turnsSet).IntVar(&d.startLen)
	c.Flag("multi-turn-delay", "Mean thinking time, exponential; or constant:5s.").Default("0s").SetValue(parsed(&o.Delay, dataset.ParseDelay))
	c.Flag("random-cache-hit", "Share of random prompts that the prefix cache can hold, such as 60%; sent once before.").PlaceHolder("SHARE").SetValue(parsed(&o.CacheHit, parseShare(1, 99)))
	c.Flag("block-size", "Tokens of a block of the server's prefix cache. Default: as its metrics say, else 16.").PlaceHolder("N").SetValue(parsed(&cfg.Run.BlockSize, parseCount))
	c.Flag("timed-trace-speed", "How much faster than recorded a trace is sent.").Default("1").SetValue(parsed(&o.Trace.Speed, parseRate))
	c.Flag("timed-trace-from", "Where in the trace's own time to begin.").PlaceHolder("D").DurationVar(&o.Trace.From)
	c.Flag("timed-trace-sec-multiplier", "").Hidden().Default("1").SetValue(parsed(&o.Trace.Second, parseRate))
	c.Flag("timed-trace-chunk-hash-size", "").Hidden().Default("16").SetValue(parsed(&o.Trace.Block, parseCount))
}

// complete adds to the data set what depends on several flags: its kind, by its name, else as the file looks, else random,
// and its lengths. Its error is of the command line, unless the file cannot be read.
func (d *dataFlags) complete(c *dataset.Config, blockSize int) (err error) {
	switch {
	case c.Path != "" && d.turnsSet:
		return usage(errors.New("--multi-turn-num-turns, --multi-turn-input-len and --multi-turn-prefix-len are of made conversations: a --dataset-path has its own"))
	case c.Kind != "":
	case c.Path == "":
		c.Kind = dataset.Random
	default:
		if c.Kind, err = dataset.Detect(c.Path); err != nil {
			return err
		}
	}
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
	if c.CacheHit > 0 && (c.Kind != dataset.Random || c.PrefixLen > 0) {
		return usage(errors.New("--random-cache-hit: give --dataset-name random, without --random-prefix-len"))
	}
	split := *c // for the run splits it by the server's blocks
	if err := split.SplitForCache(cmp.Or(blockSize, 1)); err != nil {
		return usage(err)
	}
	return nil
}
