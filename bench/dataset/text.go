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
		return readFile(c.Path, questionExample, func(v struct {
			Question string `json:"question"`
		},
		) (Record, error) {
			return Record{prompt: Prompt{Text: v.Question}}, nil
		})
	},
}

// custom is a file of prompts or conversations, with the lengths of their answers.
var custom = kind{
	name: Custom, keys: []string{"prompt", "messages"}, open: openFile,
	read: func(c Config) ([]Record, error) {
		return readFile(c.Path, `{"prompt": "…"}`, func(v customRecord) (Record, error) { return v.record(c.API) })
	},
}

// customRecord is what a record of kind Custom may hold.
type customRecord struct {
	Prompt       string           `json:"prompt"`
	Messages     []openai.Message `json:"messages"`
	MaxTokens    float64          `json:"max_tokens"`
	OutputTokens float64          `json:"output_tokens"`
}

// record takes messages before prompt where the API has them.
func (v customRecord) record(api openai.API) (Record, error) {
	if len(v.Messages) > 0 && v.Prompt == "" && api == openai.Completions {
		return Record{}, errors.New("messages need the chat API: give --backend openai-chat")
	}
	p := Prompt{Text: v.Prompt, MaxTokens: max(0, int(cmp.Or(v.MaxTokens, v.OutputTokens)))}
	if len(v.Messages) > 0 && api != openai.Completions {
		p.Text, p.Messages = "", v.Messages
	}
	return Record{prompt: p}, nil
}
