package dataset

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Record is what a record of a file gives.
type Record struct {
	prompt  Prompt
	answers []string // that were recorded, to each turn of a conversation; empty for none
}

// openData opens a file behind the mark of its encoding, which files of Windows have.
func openData(path string) (*os.File, *bufio.Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	in := bufio.NewReaderSize(f, 1<<16)
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(3) // which are there
	}
	return f, in, nil
}

// readFile reads a file of JSON objects of type T as [readObjects] does.
func readFile[T any](path, example string, record func(T) error) error {
	f, in, err := openData(path)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := readObjects(in, example, record)
	if err == nil && n == 0 {
		err = errors.New("it is empty")
	}
	return err
}

// readObjects reads JSON objects of type T, one after the other or in one array, until record
// fails, and returns their number. Its errors show an example of one.
func readObjects[T any](in *bufio.Reader, example string, record func(T) error) (n int, err error) {
	first, _ := in.Peek(1)
	array := string(first) == "["
	d := json.NewDecoder(in)
	if array {
		_, _ = d.Token() // the bracket
	}
	for ; d.More(); n++ {
		var v T
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // an array was cut behind a comma; io.EOF is a proper end
		}
		if err != nil {
			return n, fmt.Errorf("record %d is no JSON object such as %s: %w", n+1, example, err)
		}
		if err := record(v); err != nil {
			return n, fmt.Errorf("record %d: %w", n+1, err)
		}
	}
	if _, err := d.Token(); array && err != nil {
		return n, fmt.Errorf("after record %d: %w", n, io.ErrUnexpectedEOF)
	}
	return n, nil
}

const questionExample = `{"question": "…"}`

// textKind is files with a prompt in each record, of type T.
func textKind[T any](name Kind, keys []string, example string, record func(Config, T) (Record, error)) kind {
	read := func(c Config) (all []Record, err error) {
		err = readFile(c.Path, example, func(v T) error {
			r, err := record(c, v)
			all = append(all, r)
			return err
		})
		return all, err
	}
	return kind{name: name, keys: keys, read: read, open: openFile}
}

var openQA = textKind(OpenQA, []string{"question"}, questionExample,
	func(_ Config, v struct{ Question string }) (Record, error) {
		return Record{prompt: Prompt{Text: v.Question}}, nil
	})

// The bounds on a question and its answer in tokens, vLLM's (benchmarks/datasets, is_valid_sequence).
const (
	minTurn     = 4    // of either
	maxQuestion = 1024 // of the question
	maxExchange = 2048 // of both
)

// shareGPT takes of a conversation the first question and its answer, as vLLM does.
var shareGPT = textKind(ShareGPT, []string{"conversations"}, `{"conversations": [{"value": "…"}, {"value": "…"}]}`,
	func(_ Config, v struct{ Conversations []struct{ Value string } }) (Record, error) {
		if len(v.Conversations) < 2 || v.Conversations[1].Value == "" {
			return Record{}, nil
		}
		return Record{prompt: Prompt{Text: v.Conversations[0].Value}, answers: []string{v.Conversations[1].Value}}, nil
	})

type customRecord struct {
	Prompt       string
	Messages     []openai.Message
	MaxTokens    float64 `json:"max_tokens"`
	OutputTokens float64 `json:"output_tokens"`
}

// custom is prompts or conversations; messages go before a prompt where the API has them.
var custom = textKind(Custom, []string{"prompt", "messages"}, `{"prompt": "…"}`,
	func(c Config, v customRecord) (Record, error) {
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
