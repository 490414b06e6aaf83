package openai

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// API is one of an endpoint's ways to generate text.
type API string

// The APIs.
const (
	Chat        API = "chat"        // /v1/chat/completions
	Completions API = "completions" // /v1/completions
)

const requestIDHeader = "X-Request-Id"

// maxRoom bounds the chunks that room is made for before any came.
const maxRoom = 4096

// Request is one streaming request.
type Request struct {
	API    API // Chat when empty
	Model  string
	Prompt string // the user's message, or the text to complete
	// MaxTokens is the most tokens to generate, the server's own limit when 0.
	MaxTokens int
	// RequestID is sent as X-Request-Id, so it must be fit for a header. One is
	// made when it is empty.
	RequestID string
	// Planned is when the request was due, now when zero.
	Planned time.Time
	// Timeout bounds the whole request from the moment it is handed to the
	// transport, IdleTimeout the time without text after the first text. None
	// of either when 0.
	Timeout, IdleTimeout time.Duration
}

// Stream sends r and reads the answer to its end. It always returns a Trace;
// how the request failed, if it did, is in there. A deadline of ctx counts as
// a timeout, any other end of ctx as canceled.
func (c *Client) Stream(ctx context.Context, r Request) *Trace {
	if r.RequestID == "" {
		r.RequestID = newRequestID()
	}
	body := r.body()
	t := &Trace{RequestID: r.RequestID, Model: r.Model, Planned: r.Planned}
	s := newStream(min(max(r.MaxTokens, 16), maxRoom))
	if r.MaxTokens > 0 {
		s.maxChunks = max(maxRoom, 64*r.MaxTokens)
	}

	x := c.begin(ctx, r.Timeout, r.IdleTimeout)
	if t.Planned.IsZero() {
		t.Planned = x.started
	}
	t.Failure = x.stream(c.newRequest(x.ctx, r, body), s)
	x.finish(t)
	s.fill(t)
	return t
}

// stream sends req and reads the response into s.
func (x *exchange) stream(req *http.Request, s *stream) *Failure {
	resp, failure := x.roundTrip(req)
	if failure != nil {
		return failure
	}
	defer resp.Body.Close()
	if failure := x.badStatus(resp); failure != nil {
		return failure
	}
	body, decoded, err := decodedBody(resp)
	if err != nil {
		return x.endOfBody(s, err)
	}
	return x.readStream(body, s, decoded)
}

func (c *Client) newRequest(ctx context.Context, r Request, body []byte) *http.Request {
	u := rooted(c.base).JoinPath("v1", "chat", "completions")
	if r.API == Completions {
		u = rooted(c.base).JoinPath("v1", "completions")
	}
	req := (&http.Request{
		Method:        http.MethodPost,
		URL:           u,
		Header:        make(http.Header),
		Body:          io.NopCloser(bytes.NewReader(body)),
		GetBody:       func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil },
		ContentLength: int64(len(body)),
	}).WithContext(ctx)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set(requestIDHeader, r.RequestID)
	return req
}

type requestBody struct {
	Model         string        `json:"model"`
	Messages      []Message     `json:"messages,omitempty"`
	Prompt        *string       `json:"prompt,omitempty"`
	MaxTokens     int           `json:"max_tokens,omitempty"`
	Temperature   float64       `json:"temperature"`
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options"`
}

// Message is one turn of a conversation.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

func (r *Request) body() []byte {
	b := requestBody{
		Model:         r.Model,
		MaxTokens:     max(0, r.MaxTokens),
		Stream:        true,
		StreamOptions: streamOptions{IncludeUsage: true},
	}
	if r.API == Completions {
		b.Prompt = &r.Prompt
	} else {
		b.Messages = []Message{{Role: "user", Content: r.Prompt}}
	}
	text, _ := json.Marshal(b) // strings and numbers only: it cannot fail
	return text
}

func newRequestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
