package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// requestFlags say what a request asks beside its prompt.
type requestFlags struct {
	ignoreEOS, ignoreEOSSet bool
	continuousUsage         bool
	temperature, topP       float64
	temperatureSet, topPSet bool
	stop                    []string
	extra                   string
}

func (a *requestFlags) register(c *kingpin.CmdClause) {
	c.Flag("ignore-eos", "Answers of full length. Default: for random and timed_trace.").IsSetByUser(&a.ignoreEOSSet).BoolVar(&a.ignoreEOS)
	c.Flag("continuous-usage", "Ask for the usage with every chunk: ITL a token.").BoolVar(&a.continuousUsage)
	c.Flag("temperature", "Default: the server's.").PlaceHolder("X").IsSetByUser(&a.temperatureSet).FloatVar(&a.temperature)
	c.Flag("top-p", "Default: the server's.").PlaceHolder("X").IsSetByUser(&a.topPSet).FloatVar(&a.topP)
	c.Flag("extra-body", "More members of each request's body.").PlaceHolder("JSON").StringVar(&a.extra)
}

// config is what every request asks beside its prompt.
func (a *requestFlags) config(kind dataset.Kind) (load.Ask, error) {
	extra := map[string]json.RawMessage{}
	if a.extra != "" {
		if err := json.Unmarshal([]byte(a.extra), &extra); err != nil || extra == nil { // which null makes it
			return load.Ask{}, errors.New("--extra-body is no JSON object")
		}
	}
	for _, member := range []struct {
		name  string
		given bool
		value any
	}{{"temperature", a.temperatureSet, a.temperature}, {"top_p", a.topPSet, a.topP}, {"stop", a.stop != nil, a.stop}} {
		if !member.given {
			continue
		}
		text, err := json.Marshal(member.value)
		if err != nil {
			return load.Ask{}, fmt.Errorf("--%s: %w", member.name, err)
		}
		extra[member.name] = text
	}
	if err := openai.CheckExtra(extra); err != nil {
		return load.Ask{}, fmt.Errorf("--extra-body: %w", err)
	}
	ignore := a.ignoreEOS || !a.ignoreEOSSet && (kind == dataset.Random || kind == dataset.Replay)
	return load.Ask{IgnoreEOS: ignore, ContinuousUsage: a.continuousUsage, Extra: extra}, nil
}
