package fakevllm

import (
	"net/http"
	"time"
)

// RequestRecord is what the server itself knows of one request for a completion:
// the truth that a client's figures can be compared with. What did not happen,
// or was never learned, is zero.
type RequestRecord struct {
	RequestID    string    `json:"request_id,omitempty"` // X-Request-Id, 128 bytes of it at most
	API          string    `json:"api"`                  // "chat" or "completions"
	Stream       bool      `json:"stream,omitempty"`
	Fault        Fault     `json:"fault,omitempty"` // empty for FaultNone
	PromptTokens int       `json:"prompt_tokens,omitempty"`
	CachedTokens int       `json:"cached_tokens,omitempty"` // of the prompt, found in the prefix cache
	OutputTokens int       `json:"output_tokens,omitempty"` // sent to the client
	Chunks       int       `json:"chunks,omitempty"`        // events with text that these were sent in
	Arrived      time.Time `json:"arrived"`                 // when the request's header had been read
	Scheduled    time.Time `json:"scheduled,omitzero"`      // when it was first in the batch
	First        time.Time `json:"first,omitzero"`          // when its first token was made
	Last         time.Time `json:"last,omitzero"`           // and its last
	Ended        time.Time `json:"ended"`                   // when it had been answered or given up
	// Finish is "stop", "length", or "abort" when the client or a fault ended the
	// request; empty for one that never was in the engine.
	Finish string `json:"finish,omitempty"`
	Status int    `json:"status,omitempty"` // HTTP status, 0 without a response
}

// record gathers a RequestRecord.
type record struct {
	RequestRecord
	answer *answer // nil until the request is accepted
}

// openRecord begins the record of a request; nil when it is not for a completion,
// or nobody wants to know.
func (s *Server) openRecord(r *http.Request, path string) *record {
	api := completionAPI(r.Method, path)
	if s.cfg.Log == nil || api == "" {
		return nil
	}
	return &record{RequestRecord: RequestRecord{
		RequestID: shortID(r.Header.Get("X-Request-Id")), API: api, Arrived: time.Now(),
	}}
}

// closeRecord hands the record on when the request is over.
func (s *Server) closeRecord(c *record) {
	if a := c.answer; a != nil {
		c.Stream, c.PromptTokens, c.OutputTokens, c.Chunks = a.stream, a.q.prompt, a.sent, a.texts
		s.engine.fill(&c.RequestRecord, a.q)
	}
	c.Ended = time.Now()
	s.cfg.Log(c.RequestRecord)
}

// completionAPI names the API that a request is for, if it is for a completion.
func completionAPI(method, path string) string {
	switch {
	case method != http.MethodPost:
	case path == "/v1/chat/completions":
		return "chat"
	case path == "/v1/completions":
		return "completions"
	}
	return ""
}

// fill writes down what became of a sequence, which may still be in the batch.
func (e *engine) fill(rec *RequestRecord, q *sequence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if q.arrived.IsZero() {
		return // never submitted
	}
	rec.CachedTokens, rec.Scheduled, rec.First, rec.Last = q.cached, q.scheduled, q.first, q.last
	rec.Finish = string(q.ended)
	if q.ended == "" {
		rec.Finish = string(finishAbort) // at the next step
	}
}

// statusWriter notes the status that goes out.
type statusWriter struct {
	http.ResponseWriter
	status *int
}

func (w statusWriter) WriteHeader(status int) {
	*w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w statusWriter) Write(b []byte) (int, error) {
	if *w.status == 0 {
		*w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets an http.ResponseController find the connection.
func (w statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
