package fakevllm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// request is the part of an API request that matters here.
type request struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	Prompt        any       `json:"prompt"` // a string, or token ids
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	MaxTokens int  `json:"max_tokens"`
	IgnoreEOS bool `json:"ignore_eos"`

	chat bool
}

type message struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content"`
}

// readRequest decodes a request's body, and answers one that it cannot read.
func readRequest(w http.ResponseWriter, r *http.Request) (req request, ok bool) {
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		badRequest(w, "reading the request: %v", err)
		return req, false
	}
	req.chat = strings.HasSuffix(r.URL.Path, "/chat/completions")
	return req, true
}

// promptTokens are the tokens of the prompt: its words, or its ids.
func (q *request) promptTokens() (tokens []string) {
	for _, m := range q.Messages {
		tokens = append(tokens, strings.Fields(m.Content)...)
	}
	switch prompt := q.Prompt.(type) {
	case string:
		tokens = append(tokens, strings.Fields(prompt)...)
	case []any:
		for _, id := range prompt {
			tokens = append(tokens, fmt.Sprint(id))
		}
	}
	return tokens
}

// newSequence turns a request into a sequence for the engine, or answers it and
// returns nil.
func (s *Server) newSequence(w http.ResponseWriter, req *request) *sequence {
	tokens, limit := req.promptTokens(), req.MaxTokens
	prompt := len(tokens)
	room := maxModelLen - prompt
	switch {
	case req.Model != "" && req.Model != s.cfg.Model:
		noSuchModel(w, req.Model)
		return nil
	case !req.Stream:
		badRequest(w, "this stand-in only streams: set stream to true")
		return nil
	case prompt == 0:
		badRequest(w, "the prompt must have at least one token")
		return nil
	case limit < 0 || room < max(limit, 1):
		badRequest(w, "This model's maximum context length is %d tokens; the request has %d in the prompt and asks for %d more.",
			maxModelLen, prompt, limit)
		return nil
	}
	limit = cmp.Or(limit, room)
	q := newSequence(prompt, limit, finishLength)
	q.tokens = tokens
	if natural := s.engine.naturalLength(); natural < limit && !req.IgnoreEOS {
		q.limit, q.finish = natural, finishStop
	}
	return q
}
