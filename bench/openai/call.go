package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/credential"
)

const (
	callTime     = 30 * time.Second // bounds a call, if its context allows that much
	maxModels    = 4 << 20          // bytes of the list of models
	maxModelID   = 200              // bytes of a model's name
	maxTokenList = 16 << 20         // bytes of an answer with token ids, or with their text
	maxTokenRest = 64 << 10         // of those, for what stands beside them
	maxTokenID   = 64               // for the id of a token and its text again, to a byte of the text
	maxTokenText = 1 << 10          // for the text of a token: the longest are some hundred blanks
)

// Models asks which models the endpoint serves, in the server's order. It
// takes at most 30 s. A name is 1 to 200 bytes of printable UTF-8; others are
// left out, a list with no good name is refused (ReasonProtocol), and an empty
// list is ReasonEmpty. A list with a name that repeats a credential is refused, unless
// that is one of [Config.KnownModels].
func (c *Client) Models(ctx context.Context) ([]string, *Failure) {
	var list struct {
		Data *[]struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	var names []string
	failure := c.ask(ctx, listOfModels(&list), func(x *exchange) *Failure {
		switch {
		case list.Data == nil:
			return protocolFailure("")
		case len(*list.Data) == 0:
			return &Failure{Reason: ReasonEmpty, Detail: "the list of models is empty"}
		}
		secrets := x.secrets()
		for _, m := range *list.Data {
			if !isModelName(m.ID) {
				continue
			}
			if !slices.Contains(c.knownModels, m.ID) && credential.In(m.ID, secrets) {
				names = nil
				return protocolFailure("the name of a model repeats a credential: name the model to ask for")
			}
			names = append(names, m.ID)
		}
		if len(names) == 0 {
			return protocolFailure("no model's name is 1 to %d bytes of printable text", maxModelID)
		}
		return nil
	})
	return names, failure
}

// Vocabulary asks how many tokens a model knows, by its card in the list of models
// (llama.cpp's meta.n_vocab). It is 0 where the list does not tell, as vLLM's. It
// takes at most 30 s.
func (c *Client) Vocabulary(ctx context.Context, model string) (int, *Failure) {
	var list struct {
		Data []struct {
			ID   string `json:"id"`
			Size int32  `json:"vocab_size"`
			Meta struct {
				Size int32 `json:"n_vocab"`
			} `json:"meta"`
		} `json:"data"`
	}
	failure := c.ask(ctx, listOfModels(&list), nil)
	for _, m := range list.Data {
		if m.ID == model && failure == nil {
			return int(max(0, m.Size, m.Meta.Size)), nil
		}
	}
	return 0, failure
}

func listOfModels(into any) call {
	return call{what: "the list of models", unlike: "not a list of models", path: []string{"v1", "models"}, limit: maxModels, into: into}
}

// isModelName reports whether s is fit for labels, logs and pages.
func isModelName(s string) bool {
	if s == "" || len(s) > maxModelID {
		return false
	}
	for _, r := range s {
		// The JSON decoder puts RuneError in place of what is not UTF-8.
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// Tokenize asks for the token ids of a text, by POST /tokenize as vLLM has it,
// beside /v1 and not below. No token is added for the model's sake. It takes at
// most 30 s. A server that does not tokenize fails as it answers, mostly with
// [ReasonHTTP4xx]; an answer without ids, or longer than any of such a text, is
// ReasonProtocol, and one of no ids for a text is ReasonEmpty.
func (c *Client) Tokenize(ctx context.Context, model, text string) ([]int32, *Failure) {
	var list struct {
		Tokens *[]int32 `json:"tokens"`
	}
	question := map[string]any{"model": model, "prompt": text, "add_special_tokens": false}
	q := call{
		what: fmt.Sprintf("the list of tokens of %d bytes of text", len(text)), unlike: "not a list of tokens", path: []string{"tokenize"}, body: question,
		limit: tokenLimit(len(text), maxTokenID), into: &list,
	}
	failure := c.ask(ctx, q, func(*exchange) *Failure {
		if list.Tokens == nil {
			return protocolFailure("")
		}
		for _, id := range *list.Tokens {
			if id < 0 {
				return protocolFailure("token id %d is negative", id)
			}
		}
		if len(*list.Tokens) == 0 && text != "" {
			return &Failure{Reason: ReasonEmpty, Detail: "the list of tokens is empty"}
		}
		return nil
	})
	if failure != nil {
		return nil, failure
	}
	return *list.Tokens, nil
}

// Detokenize asks for the text of token ids, by vLLM's POST /detokenize. It
// takes at most 30 s and fails as [Client.Tokenize] does.
func (c *Client) Detokenize(ctx context.Context, model string, ids []int32) (string, *Failure) {
	var reply struct {
		Prompt *string `json:"prompt"`
	}
	question := map[string]any{"model": model, "tokens": append([]int32{}, ids...)} // a list, if it is empty
	q := call{
		what: fmt.Sprintf("the text of %d tokens", len(ids)), unlike: "not the text of tokens", path: []string{"detokenize"}, body: question,
		limit: tokenLimit(len(ids), maxTokenText), into: &reply,
	}
	failure := c.ask(ctx, q, func(*exchange) *Failure {
		switch {
		case reply.Prompt == nil:
			return protocolFailure("")
		case *reply.Prompt == "" && len(ids) > 0:
			return &Failure{Reason: ReasonEmpty, Detail: "the text of the tokens is empty"}
		}
		return nil
	})
	if failure != nil {
		return "", failure
	}
	return *reply.Prompt, nil
}

// tokenLimit is how long an answer about tokens may be, in bytes: each of n parts of the
// question may take so many.
func tokenLimit(n, each int) int { return min(maxTokenList, maxTokenRest+each*n) }

// call is a short request whose answer is one JSON text.
type call struct {
	what   string         // is asked for
	unlike string         // is said of another answer, before its text
	path   []string       // below the base URL
	body   map[string]any // of strings and numbers; nil for a GET
	limit  int            // bytes of the answer
	into   any            // takes the answer
}

// ask makes a call and returns why it failed, nil if it did not. check, if any, looks
// at the answer; the detail of its failure may hold anything, and is the answer where
// that is empty.
func (c *Client) ask(ctx context.Context, q call, check func(*exchange) *Failure) *Failure {
	x := c.begin(ctx, callTime, 0)
	defer x.finish(nil)
	var question []byte
	if q.body != nil {
		question, _ = json.Marshal(q.body) // strings and numbers: it cannot fail
	}
	resp, failure := x.roundTrip(c.jsonRequest(x.ctx, question, newRequestID(), q.path...))
	if failure != nil {
		return failure
	}
	defer resp.Body.Close()
	body, _, err := decodedBody(resp)
	var answer []byte
	if err == nil {
		answer, err = io.ReadAll(io.LimitReader(body, int64(q.limit)+1))
	}
	switch {
	case err != nil:
		return x.cutAnswer(q.what, err)
	case len(answer) > q.limit:
		return x.failure(ReasonProtocol, fmt.Sprintf("%s is longer than %d KiB", q.what, q.limit>>10))
	case json.Unmarshal(answer, q.into) != nil:
		failure = protocolFailure("")
	case check != nil:
		failure = check(x)
	}
	if failure == nil {
		return nil
	}
	if failure.Detail == "" {
		failure.Detail = q.unlike + ": " + string(answer)
	}
	return x.failure(failure.Reason, failure.Detail)
}

// cutAnswer is the failure of an answer that could not be read to its end.
func (x *exchange) cutAnswer(what string, err error) *Failure {
	switch f := x.expired(); {
	case f != nil:
		return f
	case errors.Is(err, io.EOF): // nothing where gzip was announced
		return x.failure(ReasonEmpty, what+" is empty")
	case isTLSError(err):
		return x.failure(ReasonTLS, err.Error())
	case isCut(err):
		return x.failure(ReasonTruncated, err.Error())
	}
	return x.failure(ReasonProtocol, err.Error())
}
