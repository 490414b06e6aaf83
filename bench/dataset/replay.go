package dataset

import (
	"encoding/json"
	"math"
	"time"
)

const maxReplay = 366 * 24 * time.Hour // from the first record to the last

// replay reads the records of a trace, which tell when each request is due.
type replay struct {
	cfg    Config
	gen    generator
	nonce  uint64  // one for all: what prompts share in the trace they go on sharing
	begun  bool    // a record was good
	first  float64 // its timestamp, in the trace's unit
	last   float64 // the latest one
	nBlock uint64  // records of lengths so far
}

func newReplay(cfg Config) *replay {
	// No Tokenizer: asking the server between two instants would delay the second.
	cfg.Trace = cfg.Trace.withDefaults()
	return &replay{
		cfg:   cfg,
		gen:   newGenerator(cfg, nil),
		nonce: newNonces(cfg.RunID, cfg.Step).at(0),
	}
}

func readReplay(cfg Config) reading {
	t := newReplay(cfg)
	return reading{parse: t.parse, addNonce: t.addNonce}
}

// traceRecord is a record of a trace; the first two may be missing.
type traceRecord struct {
	timestamp, input, output *float64
	ids                      []int64
	prompt                   bool // it has a prompt or messages
}

// read takes out of a record what its keys are called in this trace.
func (t *replay) read(record []byte) (v traceRecord, err error) {
	var fields map[string]json.RawMessage
	if err := decode(record, &fields); err != nil {
		return v, err
	}
	v.prompt = fields["prompt"] != nil || fields["messages"] != nil
	for _, f := range []struct {
		key  string
		into any
	}{
		{t.cfg.Trace.Timestamp, &v.timestamp},
		{t.cfg.Trace.InputLength, &v.input},
		{t.cfg.Trace.OutputLength, &v.output},
		{t.cfg.Trace.HashIDs, &v.ids},
	} {
		if raw := fields[f.key]; raw != nil {
			if err := json.Unmarshal(raw, f.into); err != nil {
				return v, notJSON(err, f.key)
			}
		}
	}
	return v, nil
}

// parse makes a prompt that is due as long after the first one as its record's
// timestamp is after the first record's.
func (t *replay) parse(record []byte) (Prompt, error) {
	v, err := t.read(record)
	if err != nil {
		return Prompt{}, err
	}
	at, err := t.due(v.timestamp)
	if err != nil {
		return Prompt{}, err
	}
	var p Prompt
	if v.input != nil && !v.prompt {
		p, err = t.blocks(*v.input, v.output, v.ids)
	} else {
		p, err = parseCustom(record, t.cfg.API)
	}
	if err != nil {
		return Prompt{}, err
	}
	if !t.begun {
		t.begun, t.first = true, *v.timestamp
	}
	t.last = *v.timestamp
	p.At = at
	return p, nil
}

func (t *replay) due(timestamp *float64) (time.Duration, error) {
	key := brief(t.cfg.Trace.Timestamp)
	switch {
	case timestamp == nil:
		return 0, bad("no %s", key)
	case !t.begun:
		return 0, nil
	case *timestamp < t.last:
		return 0, bad("%s %v goes back behind %v", key, *timestamp, t.last)
	}
	seconds := (*timestamp - t.first) * t.cfg.Trace.Second
	if seconds > maxReplay.Seconds() {
		return 0, bad("%s %v is more than %v after the first, %v, counted in units of %v s", key, *timestamp, maxReplay, t.first, t.cfg.Trace.Second)
	}
	return time.Duration(math.Round(seconds * float64(time.Second))), nil
}

// blocks makes a prompt of a length. Equal ids stand for equal blocks of it; what
// they do not cover is its own.
func (t *replay) blocks(input float64, output *float64, ids []int64) (Prompt, error) {
	n, err := count(t.cfg.Trace.InputLength, input)
	if err != nil {
		return Prompt{}, err
	}
	var most int
	if output != nil {
		if most, err = count(t.cfg.Trace.OutputLength, *output); err != nil {
			return Prompt{}, err
		}
	}
	all, block := t.gen.units(n), t.gen.units(t.cfg.Trace.Block)
	units := make([]int32, 0, all)
	for _, id := range ids {
		units = t.gen.draw(units, min(block, all-len(units)), random(t.cfg.Seed, "block", uint64(id)))
	}
	units = t.gen.draw(units, all-len(units), random(t.cfg.Seed, "trace", t.nBlock))
	t.nBlock++
	p := t.gen.plain(units, n)
	p.MaxTokens = most
	return p, nil
}

func (t *replay) addNonce(p *Prompt) {
	if p.Tokens != nil {
		t.gen.addNonce(p.Tokens, t.nonce)
		return
	}
	addNonce(p, t.nonce)
}
