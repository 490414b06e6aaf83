package dataset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
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

func openFile(cfg Config) Source {
	order := random(cfg.Seed, "order", 0).Perm(len(cfg.Records))
	if cfg.DisableShuffle {
		for i := range order {
			order[i] = i
		}
	}
	return &fileSource{cfg: cfg, tokenizer: cfg.Tokenizer, order: order}
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
	text := p.Text
	for _, m := range p.Messages {
		text += m.Content
	}
	for _, t := range p.Turns {
		text += t.Content
	}
	length := utf8.RuneCountInString(text)
	tooLong := s.cfg.MaxPromptLength > 0 && length > s.cfg.MaxPromptLength
	skipped := strings.TrimSpace(text) == "" || length < s.cfg.MinPromptLength
	p.MaxTokens = cmp.Or(s.cfg.OutputLen, p.MaxTokens)
	if r.answer.text != "" && !tooLong && !skipped {
		skipped = !s.measure(ctx, &p, r)
	}
	if len(p.Turns) > 0 && !tooLong && !skipped {
		s.setLengths(ctx, &p, r.answers)
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
func (s *fileSource) measure(ctx context.Context, p *Prompt, r *Record) bool {
	question := s.tokens(ctx, &r.question)
	if p.MaxTokens == 0 {
		p.MaxTokens = s.tokens(ctx, &r.answer)
		p.Estimated = r.answer.tokens == 0
		if p.MaxTokens < minTurn {
			return false
		}
	}
	return question >= minTurn && question <= maxQuestion && question+p.MaxTokens <= maxExchange
}

// setLengths gives each turn the length of its answer: OutputLen, else max_tokens of the
// record, else the length of the recorded answer.
func (s *fileSource) setLengths(ctx context.Context, p *Prompt, answers []counted) {
	p.Turns = slices.Clone(p.Turns)
	for i := range p.Turns {
		t := &p.Turns[i]
		switch {
		case s.cfg.OutputLen > 0:
			t.MaxTokens = s.cfg.OutputLen
		case t.MaxTokens == 0 && answers[i].text != "":
			t.MaxTokens = s.tokens(ctx, &answers[i])
			p.Estimated = p.Estimated || answers[i].tokens == 0
		}
		if i > 0 && t.Delay == 0 {
			t.Delay = s.cfg.Conversations.Delay.draw(random(s.cfg.Seed, "delay", uint64(s.at)<<16|uint64(i)))
		}
	}
}

// tokens is the length of a text. Once the server did not count one it is not asked
// again: it may need its time limit to fail.
func (s *fileSource) tokens(ctx context.Context, c *counted) int {
	if c.tokens == 0 && s.tokenizer != nil {
		if n, ok := s.tokenizer(ctx, c.text); ok {
			c.tokens = n
		} else {
			s.tokenizer = nil
		}
	}
	return cmp.Or(c.tokens, (len(c.text)+3)/4)
}

// vary puts a word before the i-th record's prompt, another one in each step.
func (s *fileSource) vary(p *Prompt, i int) {
	if s.cfg.Step == 0 {
		return
	}
	all := Words()
	at := (i + s.cfg.Step) % len(all)
	word := all[(at+len(all))%len(all)] + " "
	switch {
	case len(p.Messages) > 0:
		p.Messages = append(p.Messages[:0:0], p.Messages...) // the record keeps its own
		p.Messages[0].Content = word + p.Messages[0].Content
	case len(p.Turns) > 0:
		p.Turns[0].Content = word + p.Turns[0].Content
	default:
		p.Text = word + p.Text
	}
}
