package dataset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// parse makes a prompt of a record. Its errors are leftOut. The record's bytes
// are not kept.
type parse func(record []byte) (Prompt, error)

func parseOpenQA(record []byte) (Prompt, error) {
	var v struct {
		Question *string `json:"question"`
	}
	if err := decode(record, &v); err != nil {
		return Prompt{}, err
	}
	return textPrompt("question", v.Question)
}

func parseCodefuse(record []byte) (Prompt, error) {
	var v struct {
		Input    *string `json:"input"`
		Question *string `json:"question"`
	}
	if err := decode(record, &v); err != nil {
		return Prompt{}, err
	}
	if v.Input == nil && v.Question != nil {
		return textPrompt("question", v.Question)
	}
	return textPrompt("input", v.Input)
}

func parseLine(record []byte) (Prompt, error) {
	if !utf8.Valid(record) {
		return Prompt{}, bad("not UTF-8 text")
	}
	text := string(record)
	return textPrompt("line", &text)
}

// customRecord is what a record of kind Custom may hold.
type customRecord struct {
	Prompt   *string `json:"prompt"`
	Messages []struct {
		Role    string  `json:"role"`
		Content *string `json:"content"`
	} `json:"messages"`
	MaxTokens    *float64 `json:"max_tokens"`
	OutputTokens *float64 `json:"output_tokens"`
}

func readCustom(cfg Config) reading {
	return reading{parse: func(record []byte) (Prompt, error) { return parseCustom(record, cfg.API) }}
}

// parseCustom takes messages before prompt where the API has them.
func parseCustom(record []byte, api openai.API) (p Prompt, err error) {
	var v customRecord
	if err := decode(record, &v); err != nil {
		return Prompt{}, err
	}
	switch {
	case api != openai.Completions && v.Messages != nil:
		p, err = v.conversation()
	case v.Prompt == nil && v.Messages != nil:
		err = bad(`no "prompt": "messages" need the chat API`)
	case v.Prompt == nil:
		err = bad(`neither "prompt" nor "messages"`)
	default:
		p, err = textPrompt("prompt", v.Prompt)
	}
	if err != nil {
		return Prompt{}, err
	}
	if v.MaxTokens != nil {
		p.MaxTokens, err = count("max_tokens", *v.MaxTokens)
	} else if v.OutputTokens != nil {
		p.MaxTokens, err = count("output_tokens", *v.OutputTokens)
	}
	return p, err
}

func (v *customRecord) conversation() (Prompt, error) {
	if len(v.Messages) == 0 {
		return Prompt{}, bad(`"messages" is empty`)
	}
	messages := make([]openai.Message, len(v.Messages))
	for i, m := range v.Messages {
		if m.Role == "" {
			return Prompt{}, bad(`message %d has no "role"`, i+1)
		}
		if m.Content == nil {
			return Prompt{}, bad(`message %d has no "content"`, i+1)
		}
		messages[i] = openai.Message{Role: m.Role, Content: *m.Content}
	}
	return Prompt{Messages: messages}, nil
}

// count reads a number of tokens, which some writers give as 128.0.
func count(key string, n float64) (int, error) {
	if n < 1 || n > maxPromptTokens || n != math.Trunc(n) {
		return 0, bad("%q is %v, must be a whole number from 1 to %d", key, n, maxPromptTokens)
	}
	return int(n), nil
}

func textPrompt(key string, text *string) (Prompt, error) {
	if text == nil {
		return Prompt{}, bad("no %q", key)
	}
	if strings.TrimSpace(*text) == "" {
		return Prompt{}, bad("%q is empty", key)
	}
	return Prompt{Text: *text}, nil
}

// length is a prompt's length in characters.
func (p Prompt) length() int {
	n := utf8.RuneCountInString(p.Text)
	for _, m := range p.Messages {
		n += utf8.RuneCountInString(m.Content)
	}
	return n
}

// decode reads a JSON object. Its errors say what is wrong without repeating the
// record, which may be large or private.
func decode(record []byte, into any) error {
	if !utf8.Valid(record) { // which encoding/json would mend without a word
		return bad("not UTF-8 text")
	}
	if err := json.Unmarshal(record, into); err != nil {
		return notJSON(err, "")
	}
	return nil
}

// notJSON says what is wrong with a record, or with a field of it.
func notJSON(err error, field string) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return bad("not JSON: %v", err)
	}
	what := "the record"
	if field = cmp.Or(field, wrong.Field); field != "" {
		what = brief(field)
	}
	is, _, _ := strings.Cut(wrong.Value, " ")
	return bad("%s is of type %s, must be %s", what, is, jsonName(wrong.Type))
}

func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	default:
		return "a number that fits"
	}
}

// leftOut is why a record gives no prompt. Reading goes on behind it.
type leftOut struct {
	fault  fault
	reason string
}

type fault int

const (
	unusable fault = iota // the record is wrong
	tooLong               // for Config.MaxPromptLength
	skipped               // right, but not wanted: too short, a question without an answer
)

func (l *leftOut) Error() string { return l.reason }

func bad(format string, args ...any) error {
	return &leftOut{unusable, fmt.Sprintf(format, args...)}
}
