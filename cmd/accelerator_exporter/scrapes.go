package main

import (
	"fmt"
	"net/http"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes is how many scrapes may be in flight; more are answered with 503.
const maxScrapes = 16

// scrapeHandler serves the metrics. What can be gathered is served beside what cannot.
func scrapeHandler(registry *prometheus.Registry, logger log.Logger) http.Handler {
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics:   true,
		Registry:            registry,
		ErrorLog:            scrapeErrors{logger},
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		client := &scraper{ResponseWriter: w}
		metrics.ServeHTTP(client, r)
		if client.gone != nil {
			level.Debug(logger).Log("msg", "client left before it had read all metrics", "address", r.RemoteAddr, "err", client.gone)
		}
	})
}

// scraper is a client that may leave before it has read all. promhttp would log and
// count that as an error of each metric that is left.
type scraper struct {
	http.ResponseWriter
	gone error
}

func (s *scraper) Write(b []byte) (int, error) {
	if s.gone == nil {
		_, s.gone = s.ResponseWriter.Write(b)
	}
	return len(b), nil
}

// scrapeErrors is promhttp's log.
type scrapeErrors struct{ logger log.Logger }

func (e scrapeErrors) Println(v ...any) {
	const longest = 1000 // a line for each of many metrics says no more than the first ones
	level.Error(e.logger).Log("msg", "rendering the metrics", "err", fmt.Sprintf("%.*s", longest, fmt.Sprint(v...)))
}
