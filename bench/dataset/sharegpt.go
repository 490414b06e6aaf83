package dataset

import (
	"context"
	"fmt"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/plaintext"
)

// The bounds on a question and its answer, in tokens, are those of vLLM
// (benchmarks/datasets, is_valid_sequence).
const (
	minTurn     = 4    // of either
	maxQuestion = 1024 // of the question
	maxExchange = 2048 // of both
	// maxCounted bounds the text that a server is asked to count, in bytes. Longer
	// text is over every bound anyway.
	maxCounted = 64 << 10
)

// shareGPT reads conversations, and asks for answers as long as the ones in them.
type shareGPT struct {
	tokenizer Tokenizer // nil when lengths are estimated
	why       string    // they are; empty where there never was a tokenizer
	answer    string    // of the record parsed last
}

func readShareGPT(cfg Config) reading {
	s := &shareGPT{tokenizer: cfg.Tokenizer}
	return reading{parse: s.parse, limit: s.limit, why: func() string { return s.why }}
}

// parse takes the first question of a conversation, which must have an answer
// too, as vLLM asks of it.
func (s *shareGPT) parse(record []byte) (Prompt, error) {
	var v struct {
		Conversations *[]turn `json:"conversations"`
	}
	if err := decode(record, &v); err != nil {
		return Prompt{}, err
	}
	if v.Conversations == nil {
		return Prompt{}, bad(`no "conversations"`)
	}
	if len(*v.Conversations) < 2 {
		return Prompt{}, &leftOut{skipped, "a conversation of fewer than two turns"}
	}
	var question *turn
	for _, t := range *v.Conversations {
		switch strings.ToLower(t.From) {
		case "system":
		case "human", "user":
			if question == nil {
				question = &t
			}
		default:
			if question != nil {
				return s.exchange(question.Value, t.Value)
			}
		}
	}
	if question == nil {
		return Prompt{}, &leftOut{skipped, "a conversation without a turn of a human"}
	}
	return Prompt{}, &leftOut{skipped, "a question without an answer"}
}

// turn is what one side of a conversation said.
type turn struct {
	From  string  `json:"from"`
	Value *string `json:"value"`
}

func (s *shareGPT) exchange(question, answer *string) (Prompt, error) {
	p, err := textPrompt("value", question)
	if err != nil {
		return Prompt{}, err
	}
	if answer == nil || strings.TrimSpace(*answer) == "" {
		return Prompt{}, &leftOut{skipped, "a question whose answer is empty"}
	}
	s.answer = *answer
	return p, nil
}

// limit sets the length of the answer to that of the one in the record which gave
// p, and leaves out what vLLM would.
func (s *shareGPT) limit(ctx context.Context, p *Prompt) error {
	question, err := s.tokens(ctx, p.Text)
	if err != nil {
		return err
	}
	if question < minTurn || question > maxQuestion {
		return &leftOut{skipped, fmt.Sprintf("a question of %d tokens, wanted are %d to %d", question, minTurn, maxQuestion)}
	}
	answer, err := s.tokens(ctx, s.answer)
	if err != nil {
		return err
	}
	if most := maxExchange - question; answer < minTurn || answer > most {
		return &leftOut{skipped, fmt.Sprintf("an answer of %d tokens, wanted are %d to %d", answer, minTurn, most)}
	}
	p.MaxTokens, p.Estimated = answer, s.tokenizer == nil
	return nil
}

// tokens is the length of a text. Once the server did not tell one it is not asked
// again: it may need its time limit to fail.
func (s *shareGPT) tokens(ctx context.Context, text string) (int, error) {
	if s.tokenizer != nil && len(text) <= maxCounted {
		ids, err := s.tokenizer.Tokenize(ctx, text)
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case err == nil:
			return len(ids), nil
		}
		s.tokenizer, s.why = nil, plaintext.Brief(err.Error())
	}
	return estimate(text), nil
}

// estimate guesses how many tokens a text is, see [Config.Tokenizer].
func estimate(text string) int {
	ascii, others := 0, 0
	for _, r := range text {
		if r < 0x80 {
			ascii++
		} else {
			others++
		}
	}
	return (3*ascii + 8*others + 11) / 12 // ⌈ascii/4 + others/1.5⌉
}
