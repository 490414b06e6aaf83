package openai

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// API is one of an endpoint's ways to generate text.
type API string

// The APIs.
const (
	Chat        API = "chat"        // /v1/chat/completions
	Completions API = "completions" // /v1/completions
)

func (a API) path() string {
	if a == Completions {
		return "/v1/completions"
	}
	return "/v1/chat/completions"
}

const (
	requestIDHeader   = "X-Request-Id"
	traceParentHeader = "Traceparent" // of W3C's Trace Context
)

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Request is one streaming request.
type Request struct {
	API   API // Chat when empty
	Model string
	// Prompt is the user's message, or the text to complete. In its place may stand Messages, a
	// conversation, for Chat only, or PromptTokens, token ids, for Completions only.
	Prompt       string
	Messages     []Message
	PromptTokens []int32
	MaxTokens    int // to generate at most, 0 for the server's own limit
	// MaxCompletionTokens asks for MaxTokens to go out as max_completion_tokens too, for Chat,
	// as vLLM's load test sends it: some servers know one of the two names only.
	MaxCompletionTokens bool
	IgnoreEOS           bool // asks for MaxTokens tokens even where the model would end before
	ContinuousUsage     bool // asks for the usage with every chunk, which gives each chunk's tokens
	// Extra holds more fields of the body, such as temperature or cache_salt, that must pass
	// [CheckExtra]. max_tokens among them, and for Chat max_completion_tokens, takes the place
	// of MaxTokens under both names. No sampling parameter is sent that is not among them.
	Extra       map[string]json.RawMessage
	RequestID   string    // sent as X-Request-Id; one is made when it is empty
	SessionID   string    // sent as X-Session-ID, by which a router can keep a conversation together; empty for none
	Traced      bool      // sends traceparent, sampled, with RequestID as the trace id: it must be one of [NewRequestID]
	KeepAnswer  bool      // asks for [Trace.Answer] and [Trace.Reasoning]
	CheckAnswer bool      // asks for [Trace.Broken]
	FirstText   func()    // called when the first text has come; nil for nobody
	Planned     time.Time // when the request was due, now when zero
	// Timeout bounds the whole request, IdleTimeout the time without text after the first text; 0 is none.
	Timeout, IdleTimeout time.Duration
}

// Stream sends r and reads the answer to its end. How the request failed, if it did, is in the
// Trace. A deadline of ctx counts as a timeout, any other end of ctx as canceled.
func (c *Client) Stream(ctx context.Context, r Request) *Trace {
	if r.RequestID == "" {
		r.RequestID = NewRequestID()
	}
	sent := c.takeTurn(ctx)
	body := r.body()
	t := &Trace{RequestID: r.RequestID, Traced: r.Traced, Model: r.Model, Planned: r.Planned}
	s := &stream{trace: t, keepAnswer: r.KeepAnswer || r.CheckAnswer, firstText: r.FirstText}
	x := c.begin(ctx, t, r.Timeout, r.IdleTimeout)
	x.sent = sent
	if t.Planned.IsZero() {
		t.Planned = t.Started
	}
	req := c.jsonRequest(x.ctx, body, r.RequestID, r.API.path())
	req.Header.Set("Accept", "text/event-stream")
	if r.Traced {
		const parent = 16 // of 32 digits: the id of a span that nobody reports
		req.Header.Set(traceParentHeader, fmt.Sprintf("00-%s-%s-01", r.RequestID, r.RequestID[parent:]))
	}
	if r.SessionID != "" {
		req.Header.Set("X-Session-ID", r.SessionID)
	}
	x.finish(x.stream(req, s))
	t.Answer, t.Reasoning = s.answer.String(), s.reasoning.String()
	if r.CheckAnswer && t.Failure == nil {
		t.Broken = Degenerate(cmp.Or(t.Answer, t.Reasoning))
	}
	return t
}

// jsonRequest is a POST of body, or a GET when there is none.
func (c *Client) jsonRequest(ctx context.Context, body []byte, id, path string) *http.Request {
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, bytes.NewReader(body)) // of a good URL: it cannot fail
	req.Header.Set(requestIDHeader, id)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Accept-Encoding", "identity")
	if body != nil {
		req.Method = http.MethodPost
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

// NewRequestID is a random id of 32 hex digits.
func NewRequestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// CheckExtra fails where fields may not be sent as [Request.Extra]: a value is not JSON, or the
// client sets the field itself. The error repeats no value.
func CheckExtra(fields map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		switch name {
		case "model", "messages", "prompt", "stream", "stream_options":
			return fmt.Errorf("extra field %q is set by the client itself", name)
		}
		if !json.Valid(fields[name]) {
			return fmt.Errorf("extra field %q is not JSON", name)
		}
	}
	return nil
}

func (r *Request) body() []byte {
	options := map[string]bool{"include_usage": true}
	if r.ContinuousUsage {
		options["continuous_usage_stats"] = true
	}
	fields := map[string]any{"model": r.Model, "stream": true, "stream_options": options}
	chat := r.API != Completions
	switch {
	case r.Messages != nil:
		fields["messages"] = r.Messages
	case chat:
		fields["messages"] = []Message{{Role: "user", Content: r.Prompt}}
	case r.PromptTokens != nil:
		fields["prompt"] = r.PromptTokens
	default:
		fields["prompt"] = r.Prompt
	}
	_, limited := r.Extra["max_tokens"]
	_, limitedByNewName := r.Extra["max_completion_tokens"]
	if limited = limited || chat && limitedByNewName; r.MaxTokens > 0 && !limited {
		fields["max_tokens"] = r.MaxTokens
		if chat && r.MaxCompletionTokens {
			fields["max_completion_tokens"] = r.MaxTokens
		}
	}
	if r.IgnoreEOS {
		fields["ignore_eos"] = true
	}
	for name, value := range r.Extra {
		fields[name] = value
	}
	body, _ := json.Marshal(fields) // of strings, numbers and JSON: it cannot fail
	return body
}
