package main

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes is how many scrapes may be rendered or written at once.
const maxScrapes = 16

// scrapePatience is how long a scrape may take before it must give way to another.
const scrapePatience = 2 * time.Second

// scrapes serves the metrics. A scrape is rendered to memory, one at a time, and
// then written: a client that does not read holds its text and nothing else, and
// one that leaves is no error of the rendering. With promhttp's own limit, readers
// of HTTP/2 streams that never open their window kept every place.
type scrapes struct {
	render   http.Handler
	patience time.Duration
	logger   log.Logger

	rendering sync.Mutex
	problems  []string // of the scrape that is being rendered

	mu      sync.Mutex
	serving []*scrape // oldest first
}

// scrape is one that is being rendered or written.
type scrape struct {
	since time.Time
	cut   func() // makes the writing fail
}

func newScrapes(registry *prometheus.Registry, patience time.Duration, logger log.Logger) *scrapes {
	s := &scrapes{patience: patience, logger: logger}
	s.render = promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true,
		Registry:          registry,
		ErrorLog:          s,
		ErrorHandling:     promhttp.ContinueOnError,
	})
	return s
}

// Println implements promhttp.Logger; it is called while a scrape is rendered.
func (s *scrapes) Println(v ...any) { s.problems = append(s.problems, fmt.Sprint(v...)) }

func (s *scrapes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	this, ok := s.enter(w)
	if !ok {
		http.Error(w, fmt.Sprintf("More than %d scrapes at once.", maxScrapes), http.StatusServiceUnavailable)
		return
	}
	defer s.leave(this)
	p := s.page(w, r)
	w.Header().Set("Content-Length", strconv.Itoa(p.body.Len()))
	w.WriteHeader(p.status)
	if _, err := w.Write(p.body.Bytes()); err != nil {
		level.Debug(s.logger).Log("msg", "a scraper left before it had read all", "address", r.RemoteAddr, "err", err)
	}
}

// enter takes a place. When there is none, the oldest scrape loses its own if it
// has had time enough: its client does not read.
func (s *scrapes) enter(w http.ResponseWriter) (*scrape, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.serving) >= maxScrapes {
		if time.Since(s.serving[0].since) < s.patience {
			return nil, false
		}
		s.serving[0].cut()
		s.serving = slices.Delete(s.serving, 0, 1)
	}
	this := &scrape{since: time.Now(), cut: func() {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0)) // else WriteTimeout ends it
	}}
	s.serving = append(s.serving, this)
	return this, true
}

// leave holds the lock that cut is called under, so that it never meets the
// connection's next request.
func (s *scrapes) leave(this *scrape) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving = slices.DeleteFunc(s.serving, func(other *scrape) bool { return other == this })
}

// page renders one scrape, and logs at most one line of what went wrong.
func (s *scrapes) page(w http.ResponseWriter, r *http.Request) *rendered {
	const longest = 1000 // a line for each of many metrics says no more than the first ones
	s.rendering.Lock()
	defer s.rendering.Unlock()
	s.problems = nil
	p := &rendered{ResponseWriter: w, status: http.StatusOK}
	s.render.ServeHTTP(p, r)
	if len(s.problems) > 0 {
		level.Error(s.logger).Log("msg", "rendering the metrics", "errors", len(s.problems), "first", fmt.Sprintf("%.*s", longest, s.problems[0]))
	}
	return p
}

// rendered is a response that is kept; its headers are the real ones.
type rendered struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (p *rendered) WriteHeader(status int) { p.status = status }

func (p *rendered) Write(b []byte) (int, error) { return p.body.Write(b) }
