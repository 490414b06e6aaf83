package fakevllm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// maxBody bounds a request's body, in bytes.
const maxBody = 16 << 20

// request is the part of an API request that matters here.
type request struct {
	Model               string         `json:"model"`
	Messages            []message      `json:"messages"`
	Prompt              promptField    `json:"prompt"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options"`
	MaxTokens           *int           `json:"max_tokens"`
	MaxCompletionTokens *int           `json:"max_completion_tokens"`
	MinTokens           int            `json:"min_tokens"`
	IgnoreEOS           bool           `json:"ignore_eos"`
	CacheSalt           string         `json:"cache_salt"`
}

type streamOptions struct {
	IncludeUsage         *bool `json:"include_usage"`
	ContinuousUsageStats bool  `json:"continuous_usage_stats"`
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is a message's text: a string, null, or a list of parts.
type content string

func (c *content) UnmarshalJSON(data []byte) error {
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '[' {
		return json.Unmarshal(data, (*string)(c))
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	*c = content(strings.Join(texts, "\n"))
	return nil
}

// promptField is a completion's prompt: a string or token ids, either of them
// also as the only element of a list.
type promptField struct {
	text string
	ids  []int32
	set  bool
}

var errManyPrompts = errors.New("prompt must be one string or one list of token ids")

func (p *promptField) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if string(data) == "null" || p.one(data) {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(data, &items) != nil || len(items) != 1 || !p.one(items[0]) {
		return errManyPrompts
	}
	return nil
}

// one reads a single prompt and reports whether data is one.
func (p *promptField) one(data []byte) bool {
	var text string
	var ids []int32
	if json.Unmarshal(data, &text) != nil && json.Unmarshal(data, &ids) != nil {
		return false
	}
	*p = promptField{text: text, ids: ids, set: true}
	return true
}

// apiError is an error the way the API words it.
type apiError struct {
	status        int
	kind, message string
}

func (e *apiError) Error() string { return e.message }

func badRequest(format string, args ...any) *apiError {
	return &apiError{http.StatusBadRequest, "BadRequestError", fmt.Sprintf(format, args...)}
}

func noSuchModel(name string) *apiError {
	return &apiError{http.StatusNotFound, "NotFoundError", fmt.Sprintf("The model `%s` does not exist.", name)}
}

func internalError(message string) *apiError {
	return &apiError{http.StatusInternalServerError, "InternalServerError", message}
}

// writeError answers with an error, in the dialect's form.
func writeError(w http.ResponseWriter, e *apiError, m style) {
	writeJSON(w, e.status, e.body(m.traits))
}

// body returns the dialect's form of the error.
func (e *apiError) body(t traits) any {
	type flat struct {
		Object  string  `json:"object,omitempty"`
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    int     `json:"code"`
	}
	if t.flatErrors {
		return flat{"error", e.message, e.kind, nil, e.status}
	}
	return map[string]any{"error": flat{"", e.message, e.kind, nil, e.status}}
}

// readBody decodes a bounded JSON body.
func readBody(w http.ResponseWriter, r *http.Request, into any) *apiError {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &apiError{http.StatusRequestEntityTooLarge, "BadRequestError", fmt.Sprintf("the request body is larger than %d bytes", maxBody)}
	}
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		return badRequest("reading the request as JSON: %v", err)
	}
	return nil
}

// job is an accepted request: a sequence for the engine and how to write it down.
type job struct {
	style
	q                *sequence
	chat             bool
	model, id        string
	created          int64
	seed             uint64 // of the text
	reasoning        int    // leading tokens sent as reasoning
	stream           bool
	usage, eachUsage bool // usage at the end, in every chunk
}

// defaultCompletionTokens is max_tokens of a completion that gives none.
const defaultCompletionTokens = 16

// accept checks a request and turns it into a job.
func (s *Server) accept(r *http.Request, req *request, chat bool) (*job, *apiError) {
	m := styleOf(r)
	j := &job{style: m, chat: chat, model: s.cfg.Model, stream: req.Stream}
	if m.fault == FaultModelsEvilName && req.Model == evilName() {
		j.model = req.Model
	}
	if req.Model != "" && req.Model != j.model && !slices.Contains(s.cfg.Aliases, req.Model) {
		return nil, noSuchModel(req.Model)
	}
	if req.StreamOptions != nil && !req.Stream {
		return nil, badRequest("stream_options needs stream to be true")
	}
	d, failed := promptDigest(s.lexicon, req, chat)
	if failed != nil {
		return nil, failed
	}
	limit, failed := s.limit(req, d.n, chat)
	if failed != nil {
		return nil, failed
	}
	natural, number := s.engine.natural()
	length, reason := outputLength(max(natural, req.MinTokens), limit, req.IgnoreEOS)
	j.q = newSequence(d.n, d.blocks, length, reason)
	if m.slow {
		j.q.stride = slowFactor
	}
	if chat && s.cfg.Reasoning {
		j.reasoning = length / 3
	}
	j.name(r.Header.Get("X-Request-Id"), mix(s.cfg.Seed)+mix(number))
	j.wantUsage(req.StreamOptions)
	return j, nil
}

// isToken reports whether the vocabulary has a token id.
func (s *Server) isToken(id int32) bool {
	return s.cfg.VocabularySize == 0 || int(id) < s.cfg.VocabularySize
}

// promptDigest counts and hashes the prompt.
func promptDigest(lex *lexicon, req *request, chat bool) (*digest, *apiError) {
	d := newDigest(req.CacheSalt)
	switch {
	case chat:
		if len(req.Messages) == 0 {
			return nil, badRequest("messages must not be empty")
		}
		for _, m := range req.Messages {
			d.mark(m.Role)
			d.text(string(m.Content))
		}
		d.n = max(d.n, 1) // a chat template is never empty
	case !req.Prompt.set:
		return nil, badRequest("prompt is missing")
	case req.Prompt.ids != nil:
		for _, id := range req.Prompt.ids {
			d.token(lex.token(id))
		}
	default:
		d.text(req.Prompt.text)
	}
	if d.n == 0 {
		return nil, badRequest("prompt must have at least one token")
	}
	return d, nil
}

// limit returns the most tokens the answer may have.
func (s *Server) limit(req *request, prompt int, chat bool) (int, *apiError) {
	room := s.cfg.MaxModelLen - prompt
	limit := room
	switch {
	case chat && req.MaxCompletionTokens != nil:
		limit = *req.MaxCompletionTokens
	case req.MaxTokens != nil:
		limit = *req.MaxTokens
	case !chat:
		limit = min(defaultCompletionTokens, max(room, 1))
	}
	switch {
	case room < 1 || limit > room:
		return 0, badRequest("This model's maximum context length is %d tokens; the request has %d in the prompt and asks for %d more. Please shorten one of them.",
			s.cfg.MaxModelLen, prompt, max(limit, 1))
	case limit < 1:
		return 0, badRequest("max_tokens must be at least 1, got %d.", limit)
	case req.MinTokens < 0 || req.MinTokens > limit:
		return 0, badRequest("min_tokens must be between 0 and max_tokens (%d), got %d.", limit, req.MinTokens)
	}
	return limit, nil
}

// outputLength bounds an answer's natural length.
func outputLength(natural, limit int, ignoreEOS bool) (int, finishReason) {
	if ignoreEOS || natural >= limit {
		return limit, finishLength
	}
	return natural, finishStop
}

// name gives the job its id, from the client's if there is one, and its text.
func (j *job) name(requestID string, seed uint64) {
	prefix := "cmpl-"
	if j.chat {
		prefix = "chatcmpl-"
	}
	if requestID == "" {
		requestID = fmt.Sprintf("%016x%016x", mix(seed), mix(seed+1))
	}
	j.id = prefix + shortID(requestID)
	j.seed = mix(seed + 2)
}

// shortID is as much of a client's id as is repeated.
func shortID(id string) string { return id[:min(len(id), 128)] }

// wantUsage decides where usage goes, by what was asked and what the dialect heeds.
func (j *job) wantUsage(o *streamOptions) {
	if o != nil {
		j.usage = j.traits.usageByDefault
		if o.IncludeUsage != nil {
			j.usage = *o.IncludeUsage
		}
		j.eachUsage = j.usage && o.ContinuousUsageStats && j.traits.continuousUsage
	}
	j.usage = j.usage || j.traits.usageInFinish || !j.stream
	if j.fault == FaultNoUsage {
		j.usage, j.eachUsage = false, false
	}
}
