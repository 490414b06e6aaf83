package dataset

import (
	"encoding/json"
	"time"
)

const (
	traceBlock = 512                  // tokens of a block that one of hash_ids names
	maxReplay  = 366 * 24 * time.Hour // from the first record to the last
)

// replay reads the records of a trace, which tell when each request is due.
type replay struct {
	cfg    Config
	spell  speller
	nonce  uint64  // one for all: what prompts share in the trace they go on sharing
	begun  bool    // a record was good
	first  float64 // its timestamp, in ms
	last   float64 // the latest one
	nBlock uint64  // records of lengths so far
}

func newReplay(cfg Config) *replay {
	// No Tokenizer: asking the server between two instants would delay the second.
	return &replay{
		cfg:   cfg,
		spell: newSpeller(cfg, nil),
		nonce: newNonces(cfg.RunID, cfg.Step).at(0),
	}
}

// parse makes a prompt that is due as long after the first one as its record's
// timestamp is after the first record's.
func (t *replay) parse(record []byte) (Prompt, error) {
	var v struct {
		Timestamp    *float64         `json:"timestamp"`
		InputLength  *float64         `json:"input_length"`
		OutputLength *float64         `json:"output_length"`
		HashIDs      []int64          `json:"hash_ids"`
		Prompt       *json.RawMessage `json:"prompt"`
		Messages     *json.RawMessage `json:"messages"`
	}
	if err := decode(record, &v); err != nil {
		return Prompt{}, err
	}
	at, err := t.due(v.Timestamp)
	if err != nil {
		return Prompt{}, err
	}
	var p Prompt
	if v.InputLength != nil && v.Prompt == nil && v.Messages == nil {
		p, err = t.blocks(*v.InputLength, v.OutputLength, v.HashIDs)
	} else {
		p, err = parseCustom(record, t.cfg.API)
	}
	if err != nil {
		return Prompt{}, err
	}
	if !t.begun {
		t.begun, t.first = true, *v.Timestamp
	}
	t.last = *v.Timestamp
	p.At = at
	return p, nil
}

func (t *replay) due(timestamp *float64) (time.Duration, error) {
	switch {
	case timestamp == nil:
		return 0, bad(`no "timestamp"`)
	case !t.begun:
		return 0, nil
	case *timestamp < t.last:
		return 0, bad(`"timestamp" %v goes back behind %v`, *timestamp, t.last)
	}
	ms := *timestamp - t.first
	if ms > float64(maxReplay/time.Millisecond) {
		return 0, bad(`"timestamp" %v ms is more than %v after the first, %v`, *timestamp, maxReplay, t.first)
	}
	return time.Duration(ms * float64(time.Millisecond)), nil
}

// blocks makes a prompt of a length. Equal ids stand for equal blocks of it; what
// they do not cover is its own.
func (t *replay) blocks(input float64, output *float64, ids []int64) (Prompt, error) {
	n, err := count("input_length", input)
	if err != nil {
		return Prompt{}, err
	}
	var most int
	if output != nil {
		if most, err = count("output_length", *output); err != nil {
			return Prompt{}, err
		}
	}
	all, block := t.spell.letters(n), t.spell.letters(traceBlock)
	letters := make([]int32, 0, all)
	for _, id := range ids {
		letters = t.spell.draw(letters, min(block, all-len(letters)), random(t.cfg.Seed, "block", uint64(id)))
	}
	letters = t.spell.draw(letters, all-len(letters), random(t.cfg.Seed, "trace", t.nBlock))
	t.nBlock++
	p := t.spell.plain(letters, n)
	p.MaxTokens = most
	return p, nil
}

func (t *replay) sign(p *Prompt, _ uint64) {
	if p.Tokens != nil {
		t.spell.sign(p.Tokens, t.nonce)
		return
	}
	sign(p, t.nonce)
}
