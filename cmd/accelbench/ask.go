package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// askFlags say what a request asks beside its prompt.
type askFlags struct {
	maxTokens                  int
	ignoreEOS, continuousUsage bool
	sampling                   map[string]*string // members of the body by their flags
	stop                       []string
	extra                      string
}

func (a *askFlags) register(c flagSet) {
	c.Flag("max-tokens", "Maximum number of tokens of an answer. Default: that of the data set, else the server's own.").IntVar(&a.maxTokens)
	c.Flag("ignore-eos", "Generate up to the maximum number of tokens, past the end of the answer (vLLM).").BoolVar(&a.ignoreEOS)
	c.Flag("continuous-usage", "Ask for the usage with every chunk, for ITL per token (vLLM, SGLang).").BoolVar(&a.continuousUsage)
	a.sampling = map[string]*string{}
	for _, name := range []string{"temperature", "top-p"} {
		a.sampling[name] = c.Flag(name, "Sampling parameter "+name+". Default: the server's.").String()
	}
	c.Flag("stop", "Stop sequence, at which an answer ends; repeatable. Default: none; on a command line of evalscope-perf <|im_end|>, as there.").StringsVar(&a.stop)
	bind(c.Flag("extra-body", "JSON object whose members are added to the body of every request."), secret(known(&a.extra)))
}

// config is what every request asks beside its prompt.
func (a *askFlags) config(idle time.Duration) (load.Ask, error) {
	ask := load.Ask{IdleTimeout: idle, IgnoreEOS: a.ignoreEOS, ContinuousUsage: a.continuousUsage}
	var err error
	ask.Extra, err = a.extraBody()
	return ask, err
}

// extraBody are the members that are added to every request.
func (a *askFlags) extraBody() (map[string]json.RawMessage, error) {
	extra := map[string]json.RawMessage{}
	if a.extra != "" {
		if err := json.Unmarshal([]byte(a.extra), &extra); err != nil || extra == nil { // which null makes it
			return nil, errors.New("--extra-body is no JSON object")
		}
	}
	for name, text := range a.sampling {
		if *text == "" {
			continue
		}
		number, err := jsonNumber(*text)
		if err != nil {
			return nil, fmt.Errorf("--%s %q is no number", name, *text)
		}
		extra[strings.ReplaceAll(name, "-", "_")] = number
	}
	if len(a.stop) > 0 {
		list, err := json.Marshal(a.stop)
		if err != nil {
			return nil, err
		}
		extra["stop"] = list
	}
	if err := openai.CheckExtra(extra); err != nil {
		return nil, fmt.Errorf("--extra-body: %w", err)
	}
	return extra, nil
}

// jsonNumber is a number as JSON has it: as it was given, or where JSON does not
// write it so, as in .5, by its value. NaN and Inf are refused.
func jsonNumber(text string) (json.RawMessage, error) {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return nil, err
	case json.Valid([]byte(text)):
		return json.RawMessage(text), nil
	}
	return json.Marshal(n)
}
