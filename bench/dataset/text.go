package dataset

import (
	"cmp"
	"errors"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

const questionExample = `{"question": "…"}`

// openQA is a file of questions.
var openQA = kind{
	name: OpenQA, keys: []string{"question"}, open: openFile,
	read: func(c Config) ([]Record, error) {
		return readFile(c.Path, questionExample, func(v struct{ Question string }) (Record, error) {
			return Record{prompt: Prompt{Text: v.Question}}, nil
		})
	},
}

// The bounds on a question of ShareGPT and its answer, in tokens, are those of vLLM
// (benchmarks/datasets, is_valid_sequence).
const (
	minTurn     = 4    // of either
	maxQuestion = 1024 // of the question
	maxExchange = 2048 // of both
)

// shareGPT is a file of conversations: the first turn is the question and the second its
// answer, as with vLLM. A conversation without one gives no prompt.
var shareGPT = kind{
	name: ShareGPT, keys: []string{"conversations"}, open: openFile,
	read: func(c Config) ([]Record, error) {
		return readFile(c.Path, `{"conversations": [{"value": "…"}, {"value": "…"}]}`, func(v struct{ Conversations []struct{ Value string } }) (Record, error) {
			if len(v.Conversations) < 2 || v.Conversations[1].Value == "" {
				return Record{}, nil
			}
			return Record{prompt: Prompt{Text: v.Conversations[0].Value}, answers: []string{v.Conversations[1].Value}}, nil
		})
	},
}

// custom is a file of prompts or conversations, with the lengths of their answers. Messages
// go before a prompt where the API has them.
var custom = kind{
	name: Custom, keys: []string{"prompt", "messages"}, open: openFile,
	read: func(c Config) ([]Record, error) {
		return readFile(c.Path, `{"prompt": "…"}`, func(v struct {
			Prompt       string
			Messages     []openai.Message
			MaxTokens    float64 `json:"max_tokens"`
			OutputTokens float64 `json:"output_tokens"`
		},
		) (Record, error) {
			p := Prompt{Text: v.Prompt, MaxTokens: max(0, int(cmp.Or(v.MaxTokens, v.OutputTokens)))}
			switch {
			case len(v.Messages) == 0:
			case c.API != openai.Completions:
				p.Text, p.Messages = "", v.Messages
			case v.Prompt == "":
				return Record{}, errors.New("messages need the chat API: give --backend openai-chat")
			}
			return Record{prompt: p}, nil
		})
	},
}
