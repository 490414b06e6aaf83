package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/live"
)

// linger is how long the metrics stay after the run for one more scrape, if there
// was any before: the last requests would be missing in Prometheus.
const linger = 20 * time.Second

// serveMetrics serves a run's own metrics at an address until stop is called, and
// then for one more scrape of whoever scraped before.
func serveMetrics(ctx context.Context, m *live.Metrics, address string, stderr io.Writer) (stop func(), err error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(m); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--web.listen-address: %w", err)
	}
	scrapes := make(chan struct{}, 1)
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 16})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		metrics.ServeHTTP(w, r)
		select {
		case scrapes <- struct{}{}:
		default:
		}
	})
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 15 * time.Second, IdleTimeout: 2 * time.Minute}
	var running sync.WaitGroup
	running.Go(func() {
		if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintf(stderr, "accelbench: serving metrics: %v\n", err)
		}
	})
	return func() {
		select {
		case <-scrapes: // somebody scrapes
			awaitScrape(ctx, scrapes)
		default:
		}
		_ = server.Close()
		running.Wait()
	}, nil
}

// awaitScrape returns after the next scrape, or when linger or ctx is over.
func awaitScrape(ctx context.Context, scrapes <-chan struct{}) {
	timer := time.NewTimer(linger)
	defer timer.Stop()
	select {
	case <-scrapes:
	case <-timer.C:
	case <-ctx.Done():
	}
}
