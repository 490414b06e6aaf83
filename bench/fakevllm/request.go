package fakevllm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
)

// request is the part of an API request that matters here.
type request struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	Prompt        any       `json:"prompt"`  // a string, or token ids
	Content       string    `json:"content"` // llama.cpp's name of a prompt to tokenize
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage         bool `json:"include_usage"`
		ContinuousUsageStats bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
	MaxTokens           int  `json:"max_tokens"`
	MaxCompletionTokens int  `json:"max_completion_tokens"`
	IgnoreEOS           bool `json:"ignore_eos"`

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
	req.MaxTokens = cmp.Or(req.MaxCompletionTokens, req.MaxTokens)
	return req, true
}

// promptTokens are the tokens of the prompt: its words, or its ids; those of messages are
// behind a chat template of so many.
func (q *request) promptTokens(template int) (tokens []string) {
	if q.Messages != nil {
		tokens = slices.Repeat([]string{"<|template|>"}, template)
	}
	for _, m := range q.Messages {
		tokens = append(tokens, strings.Fields(m.Content)...)
	}
	switch prompt := q.Prompt.(type) {
	case nil:
		tokens = append(tokens, strings.Fields(q.Content)...)
	case string:
		tokens = append(tokens, strings.Fields(prompt)...)
	case []any:
		for _, id := range prompt {
			tokens = append(tokens, fmt.Sprint(id))
		}
	}
	return tokens
}

// newSequence makes a sequence of a request, or answers it and returns nil.
func (s *Server) newSequence(w http.ResponseWriter, req *request) *sequence {
	tokens, limit := req.promptTokens(s.cfg.TemplateTokens), req.MaxTokens
	prompt := len(tokens)
	room := maxModelLen - prompt
	switch {
	case req.Model != "" && req.Model != s.cfg.Model:
		writeError(w, http.StatusNotFound, "NotFoundError", "The model `%s` does not exist.", req.Model)
	case !req.Stream:
		badRequest(w, "this stand-in only streams: set stream to true")
	case prompt == 0:
		badRequest(w, "the prompt must have at least one token")
	case limit < 0 || room < max(limit, 1):
		badRequest(w, "This model's maximum context length is %d tokens; the request has %d in the prompt and asks for %d more.",
			maxModelLen, prompt, limit)
	default:
		q := newSequence(prompt, cmp.Or(limit, room), finishLength)
		q.tokens = tokens
		if natural := s.naturalLength(); natural < q.limit && !req.IgnoreEOS {
			q.limit, q.finish = natural, finishStop
		}
		return q
	}
	return nil
}

// tokenize answers with the ids of a text's tokens, or of messages in the chat template.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	req, ok := readRequest(w, r)
	if !ok {
		return
	}
	ids := []uint32{}
	for _, token := range req.promptTokens(s.cfg.TemplateTokens) {
		h := fnv.New32a()
		_, _ = h.Write([]byte(token)) // it cannot fail
		ids = append(ids, h.Sum32()>>1)
	}
	writeJSON(w, http.StatusOK, map[string]any{"tokens": ids, "count": len(ids), "max_model_len": maxModelLen})
}
