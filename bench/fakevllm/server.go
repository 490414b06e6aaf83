// Package fakevllm is a server that speaks as vLLM does, with a model of continuous batching in place of a
// language model: a decode step takes longer with more requests in the batch, prompts cost prefill time, and above
// the batch's size requests queue. It misbehaves in answer to requests below a base URL that ends in /fault/NAME.
package fakevllm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Config says what the server pretends to be. A field of 0 is its default.
type Config struct {
	Model      string // default "qwen2.5"
	MaxNumSeqs int    // requests that decode at once, ≥ 1; default 102
	// StepBase + StepPerSequence × running requests is the time of one decode step. Defaults 59 ms and 1.84 ms.
	StepBase, StepPerSequence time.Duration
	// PrefillTokensPerSecond is the rate at which prompt tokens of newly admitted
	// requests lengthen a step; default 3000.
	PrefillTokensPerSecond float64
	MeanOutputTokens       int     // of a natural answer, default 283; its standard deviation is 0.4 of that
	Speed                  float64 // divides every step's time, > 0; default 1, the real machine
	TemplateTokens         int     // that the chat template adds to messages
	CacheBlocks, BlockSize int     // of the prefix cache, 0 blocks for none; default 16 tokens each
	APIKey                 string  // the bearer token that /v1 paths ask for; empty for none
	// BackgroundUsers is the crest of a wave of closed-loop users that keep the engine busy
	// without HTTP. BackgroundPeriod is its length in wall time, default 4 minutes.
	BackgroundUsers  int
	BackgroundPeriod time.Duration
}

// DefaultConfig returns the configuration that the zero Config stands for. The
// engine's part of it reproduces one measured machine; docs/design.md says which.
func DefaultConfig() Config { return Config{}.withDefaults() }

func (c Config) withDefaults() Config {
	c.Model = cmp.Or(c.Model, "qwen2.5")
	c.MaxNumSeqs = cmp.Or(c.MaxNumSeqs, 102)
	c.StepBase = cmp.Or(c.StepBase, 59*time.Millisecond)
	c.StepPerSequence = cmp.Or(c.StepPerSequence, 1840*time.Microsecond)
	c.PrefillTokensPerSecond = cmp.Or(c.PrefillTokensPerSecond, 3000)
	c.MeanOutputTokens = cmp.Or(c.MeanOutputTokens, 283)
	c.Speed = cmp.Or(c.Speed, 1)
	c.BlockSize = cmp.Or(c.BlockSize, 16)
	c.BackgroundPeriod = cmp.Or(c.BackgroundPeriod, 4*time.Minute)
	return c
}

// Server is one model behind HTTP.
type Server struct {
	*engine
	mux *http.ServeMux
}

// New returns a server; requests queue until Run is called.
func New(cfg Config) (*Server, error) {
	c := cfg.withDefaults()
	counts, times := min(c.MaxNumSeqs, c.MeanOutputTokens, c.BlockSize), min(c.StepBase, c.StepPerSequence, c.BackgroundPeriod)
	if counts < 1 || c.CacheBlocks < 0 || times <= 0 || !(c.Speed > 0) || !(c.PrefillTokensPerSecond > 0) || c.BackgroundUsers < 0 {
		return nil, fmt.Errorf("configuring the stand-in server: settings must be above 0, cache blocks and background users 0 or more: %+v", c)
	}
	s := &Server{engine: newEngine(c), mux: http.NewServeMux()}
	for _, prefix := range []string{"", "/fault/{fault}"} {
		s.mux.HandleFunc("POST "+prefix+"/v1/chat/completions", s.complete)
		s.mux.HandleFunc("POST "+prefix+"/v1/completions", s.complete)
		s.mux.HandleFunc("POST "+prefix+"/tokenize", s.tokenize)
		s.mux.HandleFunc("GET "+prefix+"/v1/models", func(w http.ResponseWriter, r *http.Request) {
			if s.authorized(w, r) {
				card := map[string]any{"id": s.cfg.Model, "object": "model", "owned_by": "vllm", "max_model_len": maxModelLen}
				writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{card}})
			}
		})
		s.mux.HandleFunc("GET "+prefix+"/health", func(http.ResponseWriter, *http.Request) {})
		s.mux.Handle("GET "+prefix+"/metrics", promhttp.HandlerFor(s.met.registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	}
	s.mux.HandleFunc("GET /fault/"+string(FaultNoMetrics)+"/metrics", http.NotFound)
	return s, nil
}

// SetFault sets the fault of all later requests whose path names none. FaultSlow slows the whole batch.
func (s *Server) SetFault(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// SetPenalty multiplies the time of every step by a factor above 0, as of a model server that runs far from its cards.
func (s *Server) SetPenalty(factor float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.penalty = factor
}

// Load is a snapshot of the engine.
type Load struct {
	Running, Waiting int     // requests in the batch and in the queue, those of background users among them
	KVCacheUsage     float64 // 0–1
}

// Handler returns the HTTP side. It may be served before Run is called.
func (s *Server) Handler() http.Handler { return s.mux }

// authorized reports whether a request has the API key, and answers one that has not.
func (s *Server) authorized(w http.ResponseWriter, r *http.Request) bool {
	if s.cfg.APIKey == "" || r.Header.Get("Authorization") == "Bearer "+s.cfg.APIKey {
		return true
	}
	writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "Unauthorized"})
	return false
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

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(v)) // the client may be gone
}

func encode(v any) []byte {
	b, _ := json.Marshal(v) // such a value always marshals
	return b
}
