package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

const (
	callTime  = 30 * time.Second // bounds a call, if its context allows that much
	maxModels = 1 << 20          // bytes that are read of a list of models: the exporter has few MiB for many targets
	maxTokens = 16 << 20         // bytes of a list of tokens
	maxName   = 200              // bytes of a name
)

// Model is one that an endpoint lists.
type Model struct {
	ID string
	// MaxLength is how many tokens prompt and answer may have together, as vLLM lists it
	// (max_model_len), 0 where the endpoint does not say.
	MaxLength int
}

// Models asks which models the endpoint serves, in its order, within 30 s. What is no name by
// [IsName] is left out; a list without one is [ReasonEmpty], one of more than 1 MiB [ReasonProtocol].
func (c *Client) Models(ctx context.Context) ([]Model, *Failure) {
	var list json.RawMessage
	if failure := c.ask(ctx, nil, "/v1/models", maxModels, decodeInto(&list)); failure != nil {
		return nil, failure
	}
	var models []Model
	gjson.GetBytes(list, "data").ForEach(func(_, m gjson.Result) bool {
		if id := m.Get("id").Str; IsName(id) {
			length := tokenCount(m.Get("max_model_len"))
			models = append(models, Model{ID: strings.Clone(id), MaxLength: max(0, int(length))}) // without the list behind it
		}
		return true
	})
	if len(models) == 0 {
		return nil, newFailure(ReasonEmpty, "the list of models is empty")
	}
	return models, nil
}

// IsName reports whether s is fit for labels and logs: 1 to 200 bytes of printable UTF-8.
func IsName(s string) bool {
	bad := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	return s != "" && len(s) <= maxName && !strings.ContainsFunc(s, bad)
}

// Tokenize asks for the token ids of a text, without special tokens, within 30 s, by POST /tokenize
// as vLLM, SGLang and llama.cpp have it. An answer without ids is [ReasonEmpty].
func (c *Client) Tokenize(ctx context.Context, model, text string) ([]int32, *Failure) {
	return c.tokenize(ctx, map[string]any{"model": model, "prompt": text, "content": text}) // content is llama.cpp's name
}

// TokenizeChat is [Client.Tokenize] for a conversation in the model's chat template, up to where
// the answer begins, as vLLM has it.
func (c *Client) TokenizeChat(ctx context.Context, model string, messages []Message) ([]int32, *Failure) {
	return c.tokenize(ctx, map[string]any{"model": model, "messages": messages, "add_generation_prompt": true})
}

func (c *Client) tokenize(ctx context.Context, question map[string]any) ([]int32, *Failure) {
	var list struct {
		Tokens []int32 `json:"tokens"`
	}
	question["add_special_tokens"] = false
	if failure := c.ask(ctx, question, "/tokenize", maxTokens, decodeInto(&list)); failure != nil {
		return nil, failure
	}
	if len(list.Tokens) == 0 && question["prompt"] != "" {
		return nil, newFailure(ReasonEmpty, "the list of tokens is empty")
	}
	return list.Tokens, nil
}

// Metrics reads the endpoint's own page of metrics, at /metrics beside /v1, within 30 s, of which readLine gets each line.
func (c *Client) Metrics(ctx context.Context, readLine func(line []byte)) *Failure {
	return c.ask(ctx, nil, "/metrics", maxBody, func(page []byte) error {
		for line := range bytes.Lines(page) {
			readLine(line)
		}
		return nil
	})
}

// ask sends a short request, a GET where question is nil, and has read take at most that many bytes of its answer.
func (c *Client) ask(ctx context.Context, question map[string]any, path string, most int64, read func(text []byte) error) (failure *Failure) {
	x := c.begin(ctx, new(Trace), callTime, 0)
	defer func() { x.finish(failure) }()
	var body []byte
	if question != nil {
		body, _ = json.Marshal(question) // of strings: it cannot fail
	}
	resp, failure := x.roundTrip(c.jsonRequest(x.ctx, body, NewRequestID(), path))
	if failure != nil {
		return failure
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(decodedBody(resp), most))
	if err != nil {
		return cmp.Or(x.expired(), newFailure(errorReason(err, ReasonTruncated), "%v", err))
	}
	if err := read(text); err != nil {
		return newFailure(ReasonProtocol, "not the JSON that was asked for: %s", text[:min(len(text), errorBodySize)])
	}
	return nil
}

func decodeInto(answer any) func(text []byte) error {
	return func(text []byte) error { return json.Unmarshal(text, answer) }
}
