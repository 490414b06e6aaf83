package main

import (
	"compress/gzip"
	"fmt"
	"net/http"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// scrapes renders the metrics, for one request at a time.
type scrapes struct {
	render   http.Handler
	logger   log.Logger
	problems []string // of the scrape that is being rendered
	gzip     *gzip.Writer
}

func newScrapes(registry *prometheus.Registry, logger log.Logger) *scrapes {
	s := &scrapes{logger: logger, gzip: fastGzip()}
	s.render = promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics:  true,
		Registry:           registry,
		ErrorLog:           s,
		ErrorHandling:      promhttp.ContinueOnError,
		DisableCompression: true, // the library's takes three times as long
	})
	return s
}

// Println implements promhttp.Logger; it is called while a scrape is rendered.
func (s *scrapes) Println(v ...any) { s.problems = append(s.problems, fmt.Sprint(v...)) }

// ServeHTTP logs at most one line of what went wrong.
func (s *scrapes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const longest = 1000 // a line for each of many metrics says no more than the first ones
	s.problems = nil
	if takesGzip(r) {
		packed := &compressed{ResponseWriter: w, gzip: s.gzip}
		s.render.ServeHTTP(packed, r)
		packed.close()
	} else {
		s.render.ServeHTTP(w, r)
	}
	if len(s.problems) > 0 {
		level.Error(s.logger).Log("msg", "rendering the metrics", "errors", len(s.problems), "first", fmt.Sprintf("%.*s", longest, s.problems[0]))
	}
}
