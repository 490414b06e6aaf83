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

// path is where an API is found below the base URL.
func (a API) path() []string {
	if a == Completions {
		return []string{"v1", "completions"}
	}
	return []string{"v1", "chat", "completions"}
}

const requestIDHeader = "X-Request-Id"

// maxRoom bounds the chunks that room is made for before any came: many
// requests ask for far more than they get.
const maxRoom = 256

// Request is one streaming request.
type Request struct {
	API   API // Chat when empty
	Model string
	// Prompt is the user's message, or the text to complete. In its place may
	// stand Messages, a conversation, for Chat only, or PromptTokens, token ids,
	// for Completions only.
	Prompt       string
	Messages     []Message
	PromptTokens []int32
	// MaxTokens is the most tokens to generate, the server's own limit when 0.
	MaxTokens int
	// IgnoreEOS asks for MaxTokens tokens even where the model would end before
	// (vLLM's ignore_eos; many servers do not know it).
	IgnoreEOS bool
	// ContinuousUsage asks for the usage with every chunk, which tells each
	// chunk's tokens (vLLM's stream_options.continuous_usage_stats).
	ContinuousUsage bool
	// Extra holds more fields of the body, such as temperature (else 0), top_p,
	// stop or cache_salt. They must pass [CheckExtra]. max_tokens among them
	// takes the place of MaxTokens.
	Extra map[string]json.RawMessage
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
// a timeout, any other end of ctx as canceled. A request that contradicts
// itself is not sent ([Failure.Unsent]).
func (c *Client) Stream(ctx context.Context, r Request) *Trace {
	if r.RequestID == "" {
		r.RequestID = newRequestID()
	}
	body, err := r.body()
	t := &Trace{RequestID: r.RequestID, Model: r.Model, Planned: r.Planned}
	s := newStream(min(max(r.MaxTokens, 16), maxRoom))
	if r.MaxTokens > 0 && len(r.Extra) == 0 { // an extra field may ask for more
		s.maxChunks = chunksFor(r.MaxTokens)
	}

	x := c.begin(ctx, r.Timeout, r.IdleTimeout)
	if t.Planned.IsZero() {
		t.Planned = x.started
	}
	if err != nil {
		t.Failure = x.unsent("making the request: " + err.Error())
	} else {
		t.Failure = x.stream(c.newRequest(x.ctx, r, body), s)
	}
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
	body, decoded, err := decodedBody(resp)
	if err != nil {
		return x.endOfBody(s, err)
	}
	return x.readStream(body, s, decoded)
}

func (c *Client) newRequest(ctx context.Context, r Request, body []byte) *http.Request {
	req := c.jsonRequest(ctx, body, r.API.path()...)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set(requestIDHeader, r.RequestID)
	return req
}

// jsonRequest is a POST of body, or a GET when there is none.
func (c *Client) jsonRequest(ctx context.Context, body []byte, path ...string) *http.Request {
	req := (&http.Request{Method: http.MethodGet, URL: rooted(c.base).JoinPath(path...), Header: make(http.Header)}).WithContext(ctx)
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Accept-Encoding", "identity")
	if body == nil {
		return req
	}
	req.Method = http.MethodPost
	req.Header.Set("Content-Type", "application/json")
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	return req
}

func newRequestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
