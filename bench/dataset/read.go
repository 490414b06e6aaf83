package dataset

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// Record is what a record of a file gives.
type Record struct {
	prompt Prompt
	answer string // to a question of ShareGPT
	skip   bool   // it is right and gives no prompt
	// of a trace
	timestamp float64 // in the trace's unit
	input     int     // tokens
	blocks    []int64 // hash ids
}

// Read returns the records of the file of cfg, nil for a data set that has none. A
// record that cannot be read ends it.
func Read(cfg Config) (all []Record, err error) {
	switch cfg.Kind {
	case OpenQA:
		all, err = readFile(cfg.Path, question, questionRecord)
	case ShareGPT:
		all, err = readFile(cfg.Path, `{"conversations": [{"value": "…"}, {"value": "…"}]}`, conversationRecord)
	case Custom:
		all, err = readFile(cfg.Path, `{"prompt": "…"}`, func(v customRecord) (Record, error) { return v.record(cfg.API) })
	case Replay:
		all, err = readFile(cfg.Path, `{"timestamp": 0, "input_length": 100, "output_length": 10}`, traceRecord)
	}
	if err != nil {
		return nil, fmt.Errorf("reading data set %s as %s: %w", cfg.Path, cfg.Kind, err)
	}
	return all, nil
}

const question = `{"question": "…"}`

// Detect returns the kind of a file by the keys of its first record.
func Detect(path string) (Kind, error) {
	var kind Kind
	errFirst := errors.New("only the first record is wanted")
	_, err := readFile(path, question, func(v map[string]json.RawMessage) (Record, error) {
		for _, try := range []struct {
			key  string
			kind Kind
		}{{"timestamp", Replay}, {"conversations", ShareGPT}, {"prompt", Custom}, {"messages", Custom}, {"question", OpenQA}} {
			if v[try.key] != nil && kind == "" {
				kind = try.kind
			}
		}
		return Record{}, errFirst
	})
	switch {
	case kind != "":
		return kind, nil
	case errors.Is(err, errFirst):
		return "", fmt.Errorf("cannot tell what data set %s is by its first record: say which of %v", path, Kinds())
	}
	return "", fmt.Errorf("reading data set %s: %w", path, err)
}

// readFile reads JSON objects of type T, one after the other or in one array. Its errors
// show an example of one.
func readFile[T any](path, example string, record func(T) (Record, error)) ([]Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	array, err := beginsArray(in)
	if errors.Is(err, io.EOF) {
		return nil, errors.New("it is empty")
	} else if err != nil {
		return nil, err
	}
	d := json.NewDecoder(in)
	if array {
		_, _ = d.Token() // the bracket
	}
	var all []Record
	for d.More() {
		var v T
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("record %d is no JSON object such as %s: %w", len(all)+1, example, err)
		}
		r, err := record(v)
		if err != nil {
			return nil, fmt.Errorf("record %d: %w", len(all)+1, err)
		}
		all = append(all, r)
	}
	if _, err := d.Token(); array && err != nil || !array && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("after record %d: %w", len(all), err)
	}
	return all, nil
}

// beginsArray looks at the first character behind blanks.
func beginsArray(in *bufio.Reader) (bool, error) {
	for {
		c, err := in.ReadByte()
		if err != nil {
			return false, err
		}
		if !bytes.ContainsRune([]byte(" \t\r\n"), rune(c)) {
			return c == '[', in.UnreadByte()
		}
	}
}

func questionRecord(v struct {
	Question *string `json:"question"`
},
) (Record, error) {
	return textRecord("question", v.Question)
}

func textRecord(key string, text *string) (Record, error) {
	if text == nil {
		return Record{}, fmt.Errorf("no %q in it", key)
	}
	return Record{prompt: Prompt{Text: *text}, skip: strings.TrimSpace(*text) == ""}, nil
}

// conversationRecord takes the first turn for the question and the second for its
// answer, as vLLM does, and skips a conversation of fewer.
func conversationRecord(v struct {
	Conversations []struct {
		Value string `json:"value"`
	} `json:"conversations"`
},
) (Record, error) {
	if len(v.Conversations) < 2 {
		return Record{skip: true}, nil
	}
	question, answer := v.Conversations[0].Value, v.Conversations[1].Value
	if strings.TrimSpace(question) == "" || len(question) > maxText || len(answer) > maxText {
		return Record{skip: true}, nil
	}
	return Record{prompt: Prompt{Text: question}, answer: answer}, nil
}

// customRecord is what a record of kind Custom may hold.
type customRecord struct {
	Prompt       *string          `json:"prompt"`
	Messages     []openai.Message `json:"messages"`
	MaxTokens    float64          `json:"max_tokens"`
	OutputTokens float64          `json:"output_tokens"`
}

// record takes messages before prompt where the API has them.
func (v customRecord) record(api openai.API) (r Record, err error) {
	switch {
	case len(v.Messages) > 0 && api != openai.Completions:
		r.prompt.Messages = v.Messages
	case len(v.Messages) > 0 && v.Prompt == nil:
		return r, errors.New(`no "prompt" in it, and "messages" need the chat API`)
	default:
		if r, err = textRecord("prompt", v.Prompt); err != nil {
			return r, err
		}
	}
	r.prompt.MaxTokens = max(0, int(cmp.Or(v.MaxTokens, v.OutputTokens)))
	return r, nil
}

// traceRecord is a record of a trace.
func traceRecord(v struct {
	Timestamp    *float64 `json:"timestamp"`
	InputLength  float64  `json:"input_length"`
	OutputLength float64  `json:"output_length"`
	HashIDs      []int64  `json:"hash_ids"`
},
) (Record, error) {
	if v.Timestamp == nil {
		return Record{}, errors.New(`no "timestamp" in it`)
	}
	if v.InputLength < 1 || v.InputLength > maxPromptTokens || v.OutputLength < 0 || v.OutputLength > maxPromptTokens {
		return Record{}, fmt.Errorf("lengths of %v and %v tokens", v.InputLength, v.OutputLength)
	}
	return Record{prompt: Prompt{MaxTokens: int(v.OutputLength)}, timestamp: *v.Timestamp, input: int(v.InputLength), blocks: v.HashIDs}, nil
}
