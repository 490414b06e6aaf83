package dataset

import (
	"context"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"time"
	"unicode/utf8"
)

// The bounds on a question of ShareGPT and its answer, in tokens, are those of vLLM
// (benchmarks/datasets, is_valid_sequence).
const (
	minTurn     = 4    // of either
	maxQuestion = 1024 // of the question
	maxExchange = 2048 // of both
	maxText     = 64 << 10
)

// fileSource gives out the prompts of a file, again and again.
type fileSource struct {
	cfg       Config
	order     []int // of the records
	at        int   // in order
	pass      int   // from 0
	usable    bool  // a record was
	tokenizer Tokenizer
	counter
}

// order is in which records are taken. What is not shuffled begins at a record that the
// seed chooses, seed 0 at the first, so that machines do not send the same prompts at once.
func order(cfg Config) []int {
	n := len(cfg.Records)
	if shuffled := cfg.Kind == ShareGPT || cfg.Kind == Custom; shuffled && !cfg.DisableShuffle {
		return random(cfg.Seed, "order", 0).Perm(n)
	}
	const golden = 0x9e3779b97f4a7c15 // spreads what begins at seeds in a row over the file
	first, _ := bits.Mul64(cfg.Seed*golden, uint64(n))
	all := make([]int, n)
	for i := range all {
		all[i] = (int(first) + i) % n
	}
	return all
}

func (s *fileSource) Next(ctx context.Context) (Prompt, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Prompt{}, err
		}
		if s.at == len(s.order) && !s.usable {
			return Prompt{}, fmt.Errorf("no record of data set %s gives a prompt: of %d, %d are longer than asked for and %d shorter, empty or without an answer",
				s.cfg.Path, len(s.order), s.count.TooLong, s.count.Skipped)
		}
		if s.at == len(s.order) {
			s.at = 0
			s.pass++
			s.count.Passes++
		}
		i := s.order[s.at]
		s.at++
		if p, ok := s.prompt(ctx, &s.cfg.Records[i]); ok {
			s.usable = true
			s.count.Prompts++
			if p.Estimated {
				s.count.Estimated++
			}
			s.vary(&p, i)
			return p, nil
		}
	}
}

// prompt makes a prompt of a record, or counts why there is none.
func (s *fileSource) prompt(ctx context.Context, r *Record) (Prompt, bool) {
	p := r.prompt
	length := utf8.RuneCountInString(p.Text)
	for _, m := range p.Messages {
		length += utf8.RuneCountInString(m.Content)
	}
	tooLong := s.cfg.MaxPromptLength > 0 && length > s.cfg.MaxPromptLength
	skipped := r.skip || length < s.cfg.MinPromptLength
	if s.cfg.OutputLen > 0 {
		p.MaxTokens = s.cfg.OutputLen
	}
	if s.cfg.Kind == ShareGPT && !tooLong && !skipped {
		skipped = !s.measure(ctx, &p, r.answer)
	}
	switch {
	case s.pass > 0: // which brings nothing new
	case tooLong:
		s.count.TooLong++
	case skipped:
		s.count.Skipped++
	}
	return p, !tooLong && !skipped
}

// measure sets the length of the answer to that of the recorded one, unless one is
// asked for, and reports whether vLLM would take the record.
func (s *fileSource) measure(ctx context.Context, p *Prompt, answer string) bool {
	question := s.tokens(ctx, p.Text)
	if p.MaxTokens == 0 {
		p.MaxTokens = s.tokens(ctx, answer)
		p.Estimated = s.tokenizer == nil
		if p.MaxTokens < minTurn {
			return false
		}
	}
	return question >= minTurn && question <= maxQuestion && question+p.MaxTokens <= maxExchange
}

// tokens is the length of a text. Once the server did not count one it is not asked
// again: it may need its time limit to fail.
func (s *fileSource) tokens(ctx context.Context, text string) int {
	if s.tokenizer != nil {
		if ids, err := s.tokenizer.Tokenize(ctx, text); err == nil {
			return len(ids)
		}
		s.tokenizer = nil
	}
	ascii, others := 0, 0
	for _, r := range text {
		if r < utf8.RuneSelf {
			ascii++
		} else {
			others++
		}
	}
	return (3*ascii + 8*others + 11) / 12 // ⌈ascii/4 + others/1.5⌉
}

// vary puts a word before the i-th record's prompt, another one in each step.
func (s *fileSource) vary(p *Prompt, i int) {
	if s.cfg.Step == 0 {
		return
	}
	all := Words()
	at := (i + s.cfg.Step) % len(all)
	word := all[(at+len(all))%len(all)] + " "
	if len(p.Messages) == 0 {
		p.Text = word + p.Text
		return
	}
	p.Messages = append(p.Messages[:0:0], p.Messages...) // the record keeps its own
	p.Messages[0].Content = word + p.Messages[0].Content
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
	p.MaxTokens = r.prompt.MaxTokens
	if s.cfg.OutputLen > 0 {
		p.MaxTokens = s.cfg.OutputLen
	}
	seconds := (r.timestamp - s.cfg.Records[0].timestamp) * s.cfg.Trace.Second
	p.At = time.Duration(seconds * float64(time.Second)).Round(time.Microsecond)
	s.at++
	s.count.Prompts++
	return p, nil
}

// Words are one token each, with the blank before them, in the usual
// vocabularies.
func Words() []string {
	return strings.Fields("the of and to in is you that it he was for on are as with his they at be this have " +
		"from or one had by word but not what all were we when your can said there use an each which she do how " +
		"their if will up other about out many then them these so some her would make")
}
