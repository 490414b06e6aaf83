package dataset

import "context"

// The bounds on a question of ShareGPT and its answer, in tokens, are those of vLLM
// (benchmarks/datasets, is_valid_sequence).
const (
	minTurn     = 4    // of either
	maxQuestion = 1024 // of the question
	maxExchange = 2048 // of both
)

// shareGPT is a file of conversations: the first question and the length of its answer.
var shareGPT = kind{
	name: ShareGPT, keys: []string{"conversations"}, open: openFile,
	read: func(c Config) ([]Record, error) {
		return readFile(c.Path, `{"conversations": [{"value": "…"}, {"value": "…"}]}`, conversationRecord)
	},
}

// conversationRecord takes the first turn for the question and the second for its
// answer, as vLLM does. A conversation without one gives no prompt.
func conversationRecord(v struct {
	Conversations []struct {
		Value string `json:"value"`
	} `json:"conversations"`
},
) (Record, error) {
	if len(v.Conversations) < 2 || v.Conversations[1].Value == "" {
		return Record{}, nil
	}
	return Record{prompt: Prompt{Text: v.Conversations[0].Value}, answer: v.Conversations[1].Value}, nil
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
		if n, ok := s.tokenizer(ctx, text); ok {
			return n
		}
		s.tokenizer = nil
	}
	return (len(text) + 3) / 4
}
