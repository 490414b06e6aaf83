// Package fakevllm is a server that speaks as vLLM does, with a model of
// continuous batching in place of a language model: the time of a decode step
// grows with the requests in the batch, prompts cost prefill time, and above the
// batch's size requests queue. It imitates several servers' dialects and
// misbehaves on request.
//
// The base URL may carry segments that hold for one request:
// /fault/<name>/… misbehaves, /dialect/<name>/… speaks another dialect.
package fakevllm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Server is one model behind HTTP. Make it with New.
type Server struct {
	cfg         Config
	engine      *engine
	lexicon     *lexicon
	serverFault atomic.Pointer[serverFault]
	running     atomic.Bool
	mux         *http.ServeMux
	truths      *journal      // of a fixed schedule
	streams     atomic.Uint64 // on it, until now
}

// New returns a server; requests queue until Run is called. The error names
// every field of cfg that is out of range.
func New(cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("configuring the stand-in server: %w", err)
	}
	s := &Server{cfg: cfg, lexicon: newLexicon(), mux: http.NewServeMux()}
	s.SetFault(cfg.Fault)
	s.engine = newEngine(cfg, func() bool { return s.serverFault.Load().slowsAll() })
	s.mux.HandleFunc("POST /v1/chat/completions", s.complete(true))
	s.mux.HandleFunc("POST /v1/completions", s.complete(false))
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("GET /health", s.health)
	s.mux.HandleFunc("GET /ping", s.health)
	s.mux.HandleFunc("GET /version", s.version)
	s.mux.HandleFunc("POST /tokenize", s.tokenize)
	s.mux.HandleFunc("POST /detokenize", s.detokenize)
	if cfg.Schedule.Gap > 0 { // without an engine there is nothing to measure
		s.truths = newJournal(cfg.Schedule.Keep, maxInstants)
		s.mux.HandleFunc("GET /truth", s.truth)
	} else {
		s.mux.Handle("GET /metrics", promhttp.HandlerFor(s.engine.met.registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	}
	return s, nil
}

// Run is the engine, which a server on a fixed schedule does not need. It returns nil when ctx ends, after every request in it has
// been aborted, and an error if it was called before.
func (s *Server) Run(ctx context.Context) error {
	if !s.running.CompareAndSwap(false, true) {
		return errors.New("the engine runs once")
	}
	s.engine.run(ctx)
	return nil
}

// SetFault sets the fault of all requests whose path names none, or of the next
// Config.FaultRequests of them; those already being answered keep theirs, except
// that FaultSlow for all slows the whole batch. A fault that ParseFault does not
// know is none.
func (s *Server) SetFault(f Fault) {
	if _, err := ParseFault(string(f)); err != nil {
		f = FaultNone
	}
	st := &serverFault{fault: f, limited: s.cfg.FaultRequests > 0}
	st.left.Store(int64(s.cfg.FaultRequests))
	s.serverFault.Store(st)
}

// SetPenalty multiplies the time of every step from the next one on, as a model server
// that runs far from its cards takes longer: 1 for none. A factor that is no positive
// number is none.
func (s *Server) SetPenalty(factor float64) {
	if !(factor > 0) || math.IsInf(factor, 0) {
		factor = 1
	}
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
// is over, requests in progress are cut off and later ones get a 503; only a
// client that does not read holds its handler until http.Server.Close.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// style is how one request is to be answered.
type style struct {
	behavior // of its fault; zero until that is known
	dialect  Dialect
	traits   traits  // of the dialect
	slow     bool    // FaultSlow for this request alone; set for all, it slows the engine
	record   *record // nil when nobody keeps one
}

type styleKey struct{}

func styleOf(r *http.Request) style {
	m, _ := r.Context().Value(styleKey{}).(style)
	return m
}

// serve takes the fault and dialect out of the path and passes on the rest.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	m, path, err := s.style(r.URL.Path)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if m.record = s.openRecord(r, path); m.record != nil {
		w = statusWriter{w, &m.record.Status}
		defer s.closeRecord(m.record) // also when the handler gives the connection up by a panic
	}
	if id := r.Header.Get("X-Request-Id"); id != "" {
		w.Header().Set("X-Request-Id", id)
	}
	if strings.HasPrefix(path, "/v1/") && !s.authorized(r) {
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "Unauthorized"})
		return
	}
	if m.fault == "" {
		var fault Fault
		fault, m.slow = s.serverFault.Load().next(r.Method, path)
		m.behavior = fault.behavior()
	}
	if m.record != nil && m.fault != FaultNone {
		m.record.Fault = m.fault
	}
	r = r.WithContext(context.WithValue(r.Context(), styleKey{}, m))
	u := *r.URL
	u.Path, u.RawPath = path, ""
	r.URL = &u
	s.mux.ServeHTTP(w, r)
}

// style reads what a path says of it.
func (s *Server) style(path string) (style, string, error) {
	var m style
	var err error
	m.dialect = s.cfg.Dialect
	for err == nil {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		name, rest, _ := strings.Cut(rest, "/")
		switch kind {
		case "fault":
			_, err = ParseFault(name)
			m.behavior, m.slow = Fault(name).behavior(), Fault(name) == FaultSlow
		case "dialect":
			m.dialect, err = ParseDialect(name)
		default:
			m.traits = m.dialect.traits()
			return m, path, nil
		}
		path = "/" + strings.TrimLeft(rest, "/")
	}
	return m, path, err
}

// pause waits, and reports whether client and engine are still there.
func (s *Server) pause(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
	case <-s.engine.stopped:
	}
	return false
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
