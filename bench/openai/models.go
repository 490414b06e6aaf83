package openai

import (
	"context"
	"encoding/json"
	"unicode"
	"unicode/utf8"
)

const (
	maxModels  = 4 << 20 // bytes of the list of models
	maxModelID = 256     // bytes of a model's name
)

// Models asks which models the endpoint serves, in the server's order. It
// takes at most 30 s. A name is 1 to 256 bytes of printable UTF-8; others are
// left out, a list with no good name is refused (ReasonProtocol), and an empty
// list is ReasonEmpty.
func (c *Client) Models(ctx context.Context) ([]string, *Failure) {
	var names []string
	failure := c.do(ctx, call{
		what: "the list of models", path: []string{"v1", "models"}, limit: maxModels,
		read: func(text []byte) (f *Failure) {
			names, f = modelNames(text)
			return f
		},
	})
	return names, failure
}

func modelNames(text []byte) ([]string, *Failure) {
	var list struct {
		Data *[]struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &list); err != nil || list.Data == nil {
		return nil, protocolFailure("not a list of models: %s", text)
	}
	if len(*list.Data) == 0 {
		return nil, &Failure{Reason: ReasonEmpty, Detail: "the list of models is empty"}
	}
	names := make([]string, 0, len(*list.Data))
	for _, m := range *list.Data {
		if isModelName(m.ID) {
			names = append(names, m.ID)
		}
	}
	if len(names) == 0 {
		return nil, protocolFailure("no model's name is 1 to 256 bytes of printable text")
	}
	return names, nil
}

// Vocabulary asks how many tokens a model knows, by its card in the list of models
// (llama.cpp's meta.n_vocab). It is 0 where the list does not tell, as vLLM's. It
// takes at most 30 s.
func (c *Client) Vocabulary(ctx context.Context, model string) (int, *Failure) {
	size := 0
	failure := c.do(ctx, call{
		what: "the list of models", path: []string{"v1", "models"}, limit: maxModels,
		read: func(text []byte) (f *Failure) {
			size, f = vocabularyOf(text, model)
			return f
		},
	})
	return size, failure
}

func vocabularyOf(text []byte, model string) (int, *Failure) {
	var list struct {
		Data []struct {
			ID   string `json:"id"`
			Size int32  `json:"vocab_size"`
			Meta struct {
				Size int32 `json:"n_vocab"`
			} `json:"meta"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return 0, protocolFailure("not a list of models: %s", text)
	}
	for _, m := range list.Data {
		if m.ID == model {
			return int(max(0, m.Size, m.Meta.Size)), nil
		}
	}
	return 0, nil
}

// isModelName: a name ends in labels, logs and pages, so it is checked.
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
