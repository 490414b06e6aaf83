package openai

import (
	"context"
	"encoding/json"
)

const (
	maxTokenList = 16 << 20 // bytes of an answer with token ids
	maxTokenText = 16 << 20 // bytes of an answer with their text
)

// Tokenize asks for the token ids of a text, by POST /tokenize as vLLM has it,
// beside /v1 and not below. No token is added for the model's sake. It takes at
// most 30 s. A server that does not tokenize fails as it answers, mostly with
// [ReasonHTTP4xx]; an answer without ids is ReasonProtocol, and one of no ids
// for a text is ReasonEmpty.
func (c *Client) Tokenize(ctx context.Context, model, text string) ([]int32, *Failure) {
	// Strings only: it cannot fail.
	body, _ := json.Marshal(struct {
		Model   string `json:"model"`
		Prompt  string `json:"prompt"`
		Special bool   `json:"add_special_tokens"`
	}{model, text, false})
	var ids []int32
	failure := c.do(ctx, call{
		what: "the list of tokens", path: []string{"tokenize"}, body: body, limit: maxTokenList,
		read: func(answer []byte) (f *Failure) {
			ids, f = tokenIDs(answer)
			if f == nil && len(ids) == 0 && text != "" {
				return &Failure{Reason: ReasonEmpty, Detail: "the list of tokens is empty"}
			}
			return f
		},
	})
	if failure != nil {
		return nil, failure
	}
	return ids, nil
}

func tokenIDs(answer []byte) ([]int32, *Failure) {
	var list struct {
		Tokens *[]int32 `json:"tokens"`
	}
	if err := json.Unmarshal(answer, &list); err != nil || list.Tokens == nil {
		return nil, protocolFailure("not a list of tokens: %s", answer)
	}
	for _, id := range *list.Tokens {
		if id < 0 {
			return nil, protocolFailure("token id %d is negative", id)
		}
	}
	return *list.Tokens, nil
}

// Detokenize asks for the text of token ids, by vLLM's POST /detokenize. It
// takes at most 30 s and fails as [Client.Tokenize] does.
func (c *Client) Detokenize(ctx context.Context, model string, ids []int32) (string, *Failure) {
	// A string and numbers only: it cannot fail.
	body, _ := json.Marshal(struct {
		Model  string  `json:"model"`
		Tokens []int32 `json:"tokens"`
	}{model, append([]int32{}, ids...)})
	var text string
	failure := c.do(ctx, call{
		what: "the text of the tokens", path: []string{"detokenize"}, body: body, limit: maxTokenText,
		read: func(answer []byte) *Failure {
			var reply struct {
				Prompt *string `json:"prompt"`
			}
			if err := json.Unmarshal(answer, &reply); err != nil || reply.Prompt == nil {
				return protocolFailure("not the text of tokens: %s", answer)
			}
			text = *reply.Prompt
			if text == "" && len(ids) > 0 {
				return &Failure{Reason: ReasonEmpty, Detail: "the text of the tokens is empty"}
			}
			return nil
		},
	})
	return text, failure
}
