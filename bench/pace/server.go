package pace

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	maxRequest = 64 << 20 // bytes of a request's body
	maxID      = 256      // bytes of a request's ID
)

// Server answers chat and text completions. Its answers' text is the instant at
// which each chunk was written, so that any client can compare.
type Server struct {
	cfg      Config
	journal  journal
	requests atomic.Uint64
}

// New returns a server for cfg. It fails for a gap, a number of tokens or of
// kept requests that is out of range.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.filled()
	if err != nil {
		return nil, fmt.Errorf("checking settings: %w", err)
	}
	return &Server{cfg: cfg, journal: journal{keep: cfg.Keep, maxInstants: maxInstants, byID: map[string]*Truth{}}}, nil
}

// Handler serves POST /v1/chat/completions and /v1/completions (max_tokens is
// obeyed, the answer is always streamed, and the usage is always told), GET
// /v1/models and /health, and GET /truth: as JSON of one request with
// ?id=X-REQUEST-ID, as JSON Lines of all that are kept without, in the order in
// which they ended.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		s.generate(w, r, format{prefix: "chatcmpl-", object: "chat.completion.chunk", open: `"delta":{"content":"`, end: `"}`})
	})
	mux.HandleFunc("POST /v1/completions", func(w http.ResponseWriter, r *http.Request) {
		s.generate(w, r, format{prefix: "cmpl-", object: "text_completion", open: `"text":"`, end: `"`})
	})
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]string{"id": s.cfg.Model, "object": "model", "owned_by": "fakehost"}}})
	})
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /truth", s.truth)
	return mux
}

func (s *Server) generate(w http.ResponseWriter, r *http.Request, f format) {
	received := time.Now()
	var req struct {
		Model     string `json:"model"`
		MaxTokens *int   `json:"max_tokens"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil {
		writeError(w, http.StatusBadRequest, "reading the request: "+err.Error())
		return
	}
	tokens := s.cfg.Tokens
	if req.MaxTokens != nil {
		tokens = *req.MaxTokens
	}
	number := s.requests.Add(1)
	id := r.Header.Get("X-Request-Id")
	if id == "" {
		id = "pace-" + strconv.FormatUint(number, 10)
	}
	switch {
	case tokens < 1 || tokens > maxTokens:
		writeError(w, http.StatusBadRequest, fmt.Sprintf("max_tokens is outside 1 to %d", maxTokens))
		return
	case len(id) > maxID:
		writeError(w, http.StatusBadRequest, fmt.Sprintf("X-Request-Id is longer than %d bytes", maxID))
		return
	}
	due := received.Add(s.cfg.Gap + phase(number, s.cfg.Gap))
	a := &answer{
		frame: f.frame(id, req.Model, received), due: due, gap: s.cfg.Gap, tokens: tokens,
		truth: &Truth{ID: id, Received: received.UnixNano(), Due: due.UnixNano(), Gap: int64(s.cfg.Gap), Chunks: make([]int64, 0, tokens)},
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	whole := a.write(r.Context(), w)
	// Kept before the end mark goes out, so that a client that saw it can ask.
	s.journal.add(a.truth)
	if whole {
		_, _ = w.Write(a.frame.tail(tokens))
	}
}

// phase spreads streams that start together evenly over a gap, in whatever
// number they come: multiples of the golden ratio leave no large hole.
func phase(number uint64, gap time.Duration) time.Duration {
	_, part := math.Modf(float64(number) * math.Phi)
	return time.Duration(part * float64(gap))
}

// answer is an answer on its way.
type answer struct {
	frame  frame
	truth  *Truth
	due    time.Time // of the first chunk
	gap    time.Duration
	tokens int
}

// write sends the chunks, each when it is due, and says whether it came to the
// last one.
func (a *answer) write(ctx context.Context, w http.ResponseWriter) (whole bool) {
	out := http.NewResponseController(w)
	timer := time.NewTimer(time.Until(a.due))
	defer timer.Stop()
	for i := range a.tokens {
		if i > 0 {
			timer.Reset(time.Until(a.due.Add(time.Duration(i) * a.gap)))
		}
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
		}
		now := time.Now().UnixNano()
		a.truth.Chunks = append(a.truth.Chunks, now)
		if _, err := w.Write(a.frame.stamped(now)); err != nil {
			return false
		}
		if err := out.Flush(); err != nil {
			return false
		}
	}
	return true
}

func (s *Server) truth(w http.ResponseWriter, r *http.Request) {
	if !r.URL.Query().Has("id") {
		w.Header().Set("Content-Type", "application/x-ndjson")
		lines := json.NewEncoder(w)
		for _, t := range s.journal.list() {
			if err := lines.Encode(t); err != nil {
				return
			}
		}
		return
	}
	t, ok := s.journal.find(r.URL.Query().Get("id"))
	if !ok {
		writeError(w, http.StatusNotFound, "no request of this id is over, or it is too long ago")
		return
	}
	writeJSON(w, http.StatusOK, t)
}

func writeError(w http.ResponseWriter, status int, message string) {
	writeJSON(w, status, map[string]any{"error": map[string]any{"message": message, "code": status}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}
