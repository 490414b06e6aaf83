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
	requests    int
	requestsSet bool
	users       []int
	rates       []float64 // requests a second
	burstiness  float64
	warmups     int
	seed        uint64
	selfTimed   bool
	timesSet    bool // --self-timed or --no-self-timed was given

	duration, rampUp time.Duration
	rampUpSet        bool
	timeout, idle    time.Duration
	maxFailures      float64 // a share of the requests
	repeat           int
}

func (l *loadFlags) register(c *kingpin.CmdClause) {
	l.requests = 1000
	c.Flag("num-prompts", "Requests of a step: 1000, unless --duration.").PlaceHolder("N").IsSetByUser(&l.requestsSet).SetValue(parsed(&l.requests, parseCount))
	c.Flag("duration", "How long each step sends requests.").PlaceHolder("D").DurationVar(&l.duration)
	c.Flag("max-concurrency", "Most requests in flight; without a rate, so many users. A list is a sweep.").PlaceHolder("N,…").SetValue(parsed(&l.users, listOf(parseCount)))
	c.Flag("request-rate", "Requests per second. Default: inf, all at once. A list is a sweep.").PlaceHolder("R,…").SetValue(parsed(&l.rates, listOf(parseRate)))
	c.Flag("self-timed", "").Hidden().IsSetByUser(&l.timesSet).BoolVar(&l.selfTimed)
	c.Flag("max-failure-ratio", "Share of failures that stops the run; 0: never.").Default("0").FloatVar(&l.maxFailures)
	c.Flag("repeat", "Times that the whole sweep is run.").Default("1").SetValue(parsed(&l.repeat, parseCount))
}

// registerShape adds the flags of a load beside those of its levels.
func (l *loadFlags) registerShape(c *kingpin.CmdClause) {
	c.Flag("burstiness", "At a rate: 1 is Poisson, less burstier, inf even.").Default("1").SetValue(parsed(&l.burstiness, parseRate))
	c.Flag("num-warmups", "Requests before each step that are in no figure.").Default("0").IntVar(&l.warmups)
	c.Flag("ramp-up", "Time over which users start, or the rate rises.").Default("0s").IsSetByUser(&l.rampUpSet).DurationVar(&l.rampUp)
	c.Flag("timeout", "Timeout of a request; 0 for none.").Default("10m").DurationVar(&l.timeout)
	c.Flag("idle-timeout", "Longest pause between texts; 0 for no limit.").Default("30s").DurationVar(&l.idle)
	c.Flag("seed", "Seed of prompts and gaps; one for each machine.").Default("0").Uint64Var(&l.seed)
}

func (l *loadFlags) check(replay bool) error {
	paced := slices.ContainsFunc(l.rates, func(rate float64) bool { return !math.IsInf(rate, 1) })
	switch {
	case l.repeat > 1000:
		return errors.New("--repeat must be from 1 to 1000")
	case l.warmups < 0:
		return errors.New("--num-warmups must not be negative")
	case min(l.duration, l.rampUp, l.timeout, l.idle) < 0:
		return errors.New("a duration must not be negative")
	case !(l.maxFailures >= 0 && l.maxFailures <= 1):
		return errors.New("--max-failure-ratio must be from 0 to 1")
	case len(l.rates) > 0 && len(l.users) > 1:
		return errors.New("--max-concurrency is a list, and --request-rate is given: one of them is the sweep")
	case replay && (paced || len(l.users) > 1 || l.rampUp > 0):
		return errors.New("a timed_trace has its own times: give one --max-concurrency, and neither --request-rate nor --ramp-up")
	case l.timesSet && l.selfTimed != replay:
		return errors.New("--self-timed is of a timed_trace, which always keeps its times")
	}
	return nil
}

// steps are the sweep that the flags ask for, repeated as often as they say.
func (l *loadFlags) steps(replay bool) ([]runlog.Step, error) {
	if err := l.check(replay); err != nil {
		return nil, err
	}
	var steps []runlog.Step
	for repeat := range l.repeat {
		for _, s := range l.levels(replay) {
			isBurst := s.Arrival == runlog.ArrivalBurst
			s.Index, s.Repeat = len(steps), repeat
			s.Requests, s.Duration = l.requests, l.duration
			if l.duration > 0 && !l.requestsSet && !isBurst {
				s.Requests = 0
			}
			if !isBurst && !replay {
				s.RampUp = l.rampUp
			}
			s.Timeout, s.MaxFailureRatio, s.Warmups = l.timeout, l.maxFailures, l.warmups
			steps = append(steps, s)
		}
	}
	return steps, nil
}

// levels are the loads of a sweep: the times of a trace, rates or users. As with vLLM's tool, no rate is an infinite
// one: users where their number is bounded, else all at once.
func (l *loadFlags) levels(replay bool) []runlog.Step {
	bound := 0
	if len(l.users) == 1 {
		bound = l.users[0]
	}
	if replay {
		return []runlog.Step{{Arrival: runlog.ArrivalReplay, MaxConcurrency: bound}}
	}
	burst := runlog.Step{Arrival: runlog.ArrivalBurst}
	var steps []runlog.Step
	for _, rate := range l.rates {
		s := runlog.Step{Arrival: runlog.ArrivalGamma, Rate: rate, MaxConcurrency: bound, Burstiness: l.burstiness}
		switch {
		case math.IsInf(rate, 1) && bound > 0:
			s = runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: bound}
		case math.IsInf(rate, 1):
			s = burst
		case math.IsInf(l.burstiness, 1):
			s.Arrival, s.Burstiness = runlog.ArrivalConstant, 0
		case l.burstiness == 1:
			s.Arrival = runlog.ArrivalPoisson
		}
		steps = append(steps, s)
	}
	if len(l.rates) == 0 {
		for _, n := range l.users {
			steps = append(steps, runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: n})
		}
	}
	if len(steps) == 0 {
		return []runlog.Step{burst}
	}
	return steps
}

// requestFlags say what a request asks beside its prompt.
type requestFlags struct {
	ignoreEOS, ignoreEOSSet bool
	continuousUsage         bool
	traceParent             bool
	members                 map[string]json.RawMessage // of the body, by flags of their own
	extra                   string
}

func (a *requestFlags) register(c *kingpin.CmdClause) {
	a.members = map[string]json.RawMessage{}
	c.Flag("ignore-eos", "Answers of full length. Default: for random, timed_trace and made conversations.").IsSetByUser(&a.ignoreEOSSet).BoolVar(&a.ignoreEOS)
	c.Flag("continuous-usage", "Ask for usage with each chunk: ITL per token.").BoolVar(&a.continuousUsage)
	c.Flag("temperature", "Sampling temperature. Default: the server's.").PlaceHolder("X").SetValue(a.number("temperature"))
	for _, name := range []string{"top-p", "top-k", "min-p", "repetition-penalty", "frequency-penalty", "presence-penalty", "logprobs"} {
		c.Flag(name, "").Hidden().SetValue(a.number(strings.ReplaceAll(name, "-", "_")))
	}
	c.Flag("chat-template-kwargs", "").Hidden().SetValue(parsedFlag(func(text string) error {
		a.members["chat_template_kwargs"] = json.RawMessage(text)
		return json.Unmarshal([]byte(text), &map[string]any{})
	}))
	c.Flag("traceparent", "Send the request id as the trace id, sampled.").Hidden().BoolVar(&a.traceParent)
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

func (a *requestFlags) config(d dataset.Config) (load.Ask, error) {
	extra := map[string]json.RawMessage{}
	if a.extra != "" {
		if err := json.Unmarshal([]byte(a.extra), &extra); err != nil || extra == nil { // which null makes it
			return load.Ask{}, errors.New("--extra-body is no JSON object")
		}
	}
	for name, value := range a.members {
		if name != "logprobs" || d.API == openai.Completions { // vLLM's tool sends that number to no chat
			extra[name] = value
		}
	}
	if err := openai.CheckExtra(extra); err != nil {
		return load.Ask{}, fmt.Errorf("--extra-body: %w", err)
	}
	ignore := a.ignoreEOS || !a.ignoreEOSSet && d.FullLength()
	return load.Ask{IgnoreEOS: ignore, ContinuousUsage: a.continuousUsage, TraceParent: a.traceParent, Extra: extra}, nil
}

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
