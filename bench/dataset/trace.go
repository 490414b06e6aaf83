package dataset

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"
)

// trace is a file of instants and lengths, whose prompts are made.
var trace = kind{
	name: Replay, keys: []string{"timestamp"},
	read: func(c Config) ([]Record, error) {
		return readFile(c.Path, `{"timestamp": 0, "input_length": 100, "output_length": 10}`, traceRecord)
	},
	open: func(c Config) Source { return &traceSource{cfg: c, maker: newMaker(c)} },
}

// traceRecord is a record of a trace.
func traceRecord(v struct {
	Timestamp    float64 `json:"timestamp"`
	InputLength  float64 `json:"input_length"`
	OutputLength float64 `json:"output_length"`
	HashIDs      []int64 `json:"hash_ids"`
},
) (Record, error) {
	if v.InputLength < 1 || v.InputLength > maxPromptTokens || v.OutputLength < 0 || v.OutputLength > maxPromptTokens {
		return Record{}, fmt.Errorf("lengths of %v and %v tokens", v.InputLength, v.OutputLength)
	}
	return Record{prompt: Prompt{MaxTokens: int(v.OutputLength)}, timestamp: v.Timestamp, input: int(v.InputLength), blocks: v.HashIDs}, nil
}

// traceSource gives out the requests of a trace, once.
type traceSource struct {
	cfg   Config
	maker maker
	at    int
	counter
}

// Next makes a prompt that is due as long after the first one as its record's
// timestamp is after the first record's. Equal hash ids stand for equal blocks of it;
// what they do not cover is its own.
func (s *traceSource) Next(ctx context.Context) (Prompt, error) {
	if err := ctx.Err(); err != nil {
		return Prompt{}, err
	}
	if s.at == len(s.cfg.Records) {
		return Prompt{}, io.EOF
	}
	r := s.cfg.Records[s.at]
	if s.at > 0 && r.timestamp < s.cfg.Records[s.at-1].timestamp {
		return Prompt{}, fmt.Errorf("reading data set %s: record %d: its timestamp %v is before that of the record before", s.cfg.Path, s.at+1, r.timestamp)
	}
	all, block := s.maker.units(r.input), s.maker.units(s.cfg.Trace.Block)
	units := make([]int32, 0, all)
	for _, id := range r.blocks {
		units = s.maker.draw(units, min(block, all-len(units)), s.maker.random("block", uint64(id)))
	}
	units = s.maker.draw(units, all-len(units), s.maker.random("trace", uint64(s.at)))
	p := s.maker.prompt(units, r.input)
	p.MaxTokens = cmp.Or(s.cfg.OutputLen, r.prompt.MaxTokens)
	seconds := (r.timestamp - s.cfg.Records[0].timestamp) * s.cfg.Trace.Second
	p.At = time.Duration(seconds * float64(time.Second)).Round(time.Microsecond)
	s.at++
	s.count.Prompts++
	return p, nil
}
