package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// requestFlags say what a request asks beside its prompt.
type requestFlags struct {
	ignoreEOS, ignoreEOSSet bool
	continuousUsage         bool
	members                 map[string]json.RawMessage // of the body, by flags of their own
	extra                   string
}

func (a *requestFlags) register(c *kingpin.CmdClause) {
	a.members = map[string]json.RawMessage{}
	c.Flag("ignore-eos", "Answers of full length. Default: for random, timed_trace and made conversations.").IsSetByUser(&a.ignoreEOSSet).BoolVar(&a.ignoreEOS)
	c.Flag("continuous-usage", "Ask for the usage with every chunk: ITL per token.").BoolVar(&a.continuousUsage)
	c.Flag("temperature", "Sampling temperature. Default: the server's.").PlaceHolder("X").SetValue(a.number("temperature"))
	for _, name := range []string{"top-p", "top-k", "min-p", "repetition-penalty", "frequency-penalty", "presence-penalty", "logprobs"} {
		c.Flag(name, "").Hidden().SetValue(a.number(strings.ReplaceAll(name, "-", "_")))
	}
	c.Flag("chat-template-kwargs", "").Hidden().SetValue(parsedFlag(func(text string) error {
		a.members["chat_template_kwargs"] = json.RawMessage(text)
		return json.Unmarshal([]byte(text), &map[string]any{})
	}))
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

// config is what every request asks beside its prompt.
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
	return load.Ask{IgnoreEOS: ignore, ContinuousUsage: a.continuousUsage, Extra: extra}, nil
}
