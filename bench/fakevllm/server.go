// Package fakevllm is a server that speaks as vLLM does, with a model of
// continuous batching in place of a language model: the time of a decode step
// grows with the requests in the batch, prompts cost prefill time, and above the
// batch's size requests queue. It misbehaves on request: a base URL that ends in
// /fault/NAME does so for the requests sent there.
package fakevllm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Server is one model behind HTTP. Make it with New.
type Server struct {
	cfg     Config
	engine  *engine
	mux     *http.ServeMux
	running atomic.Bool
	streams atomic.Uint64 // on a schedule, until now

	mu        sync.Mutex
	fault     Fault    // of requests that name none
	faultLeft int      // requests it has yet to hit, where their number is limited
	truths    []*Truth // of a schedule, the oldest first
}

// New returns a server; requests queue until Run is called. The error names
// every field of cfg that is out of range.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configuring the stand-in server: %w", err)
	}
	s := &Server{cfg: cfg, engine: newEngine(cfg), mux: http.NewServeMux()}
	s.SetFault(cfg.Fault)
	for _, prefix := range []string{"", "/fault/{fault}"} {
		s.mux.HandleFunc("POST "+prefix+"/v1/chat/completions", s.complete)
		s.mux.HandleFunc("POST "+prefix+"/v1/completions", s.complete)
		s.mux.HandleFunc("GET "+prefix+"/v1/models", s.models)
		s.mux.HandleFunc("GET "+prefix+"/health", s.health)
		if cfg.Schedule.Gap == 0 {
			s.mux.Handle("GET "+prefix+"/metrics", promhttp.HandlerFor(s.engine.met.registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
		}
	}
	if cfg.Schedule.Gap > 0 {
		s.mux.HandleFunc("GET /truth", s.truth)
	}
	return s, nil
}

// Run is the engine, which a server on a fixed schedule does not need. It returns
// nil when ctx ends, after every request in it has been aborted, and an error if
// it was called before.
func (s *Server) Run(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return errors.New("the engine runs once")
	}
	s.engine.run(ctx)
	return nil
}

// SetFault sets the fault of all requests whose path names none, or of the next
// Config.FaultRequests completions; those already being answered keep theirs,
// except that FaultSlow slows the whole batch.
func (s *Server) SetFault(f Fault) {
	s.mu.Lock()
	s.fault, s.faultLeft = f, s.cfg.FaultRequests
	s.mu.Unlock()
	s.engine.slow.Store(f == FaultSlow)
}

// faultOf is the fault of a request for a completion.
func (s *Server) faultOf(r *http.Request) (Fault, error) {
	if name := r.PathValue("fault"); name != "" {
		return ParseFault(name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cfg.FaultRequests > 0 {
		if s.faultLeft == 0 {
			return FaultNone, nil
		}
		s.faultLeft--
	}
	return s.fault, nil
}

// SetPenalty multiplies the time of every step from the next one on, as a model server
// that runs far from its cards takes longer: a factor above 0, 1 for none.
func (s *Server) SetPenalty(factor float64) {
	s.engine.penalty.Store(math.Float64bits(factor))
}

// Load is a snapshot of the engine.
type Load struct {
	// Running and Waiting are requests in the batch and in the queue, those of
	// background users among them.
	Running, Waiting int
	// BackgroundUsers is the number of synthetic users wanted at the moment.
	BackgroundUsers int
	// KVCacheUsage is the share of the cache in use, 0–1.
	KVCacheUsage float64
}

// Load returns the engine's present state.
func (s *Server) Load() Load { return s.engine.load() }

// Handler returns the HTTP side. It may be served before Run is called; once Run
// is over, requests in progress are cut off and later ones get a 503.
func (s *Server) Handler() http.Handler { return s.mux }

// authorized answers a request without the API key, where there is one, and reports
// whether it is to be answered by others.
func (s *Server) authorized(w http.ResponseWriter, r *http.Request) bool {
	if s.cfg.APIKey == "" || r.Header.Get("Authorization") == "Bearer "+s.cfg.APIKey {
		return true
	}
	writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "Unauthorized"})
	return false
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	if !s.authorized(w, r) {
		return
	}
	card := map[string]any{
		"id": s.cfg.Model, "object": "model", "created": time.Now().Unix(), "owned_by": "vllm",
		"root": s.cfg.Model, "parent": nil, "max_model_len": maxModelLen, "permission": []any{},
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{card}})
}

// health is about the engine's loop, not about answers, as vLLM's is.
func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	select {
	case <-s.engine.stopped:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		w.WriteHeader(http.StatusOK)
	}
}

// writeError answers with an error as vLLM words it.
func writeError(w http.ResponseWriter, status int, kind, format string, args ...any) {
	writeJSON(w, status, map[string]any{"error": map[string]any{
		"message": fmt.Sprintf(format, args...), "type": kind, "param": nil, "code": status,
	}})
}

func badRequest(w http.ResponseWriter, format string, args ...any) {
	writeError(w, http.StatusBadRequest, "BadRequestError", format, args...)
}

// writeJSON sends a body of known length; the client may be gone by then.
func writeJSON(w http.ResponseWriter, status int, v any) {
	body := encode(v)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// encode returns a value made of strings, numbers and structs of them as JSON.
func encode(v any) []byte {
	b, _ := json.Marshal(v) // such a value always marshals
	return b
}

// park waits until the client has gone or the engine has stopped, and gives the
// connection up.
func (s *Server) park(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-s.engine.stopped:
	}
	panic(http.ErrAbortHandler)
}
