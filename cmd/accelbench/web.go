package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/exporter-toolkit/web"
	"golang.org/x/net/netutil"

	"github.com/accelerator-exporter/accelerator_exporter/bench/live"
)

// linger is how long the metrics stay after the run for one more scrape, if there
// was any before: the last requests would be missing in Prometheus.
const linger = 20 * time.Second

const (
	maxConnections = 64 // so that strangers do not take the files of the load's own connections
	maxScrapes     = 16 // at once; one more is answered with 503
	readTimeout    = 10 * time.Second
	writeTimeout   = 15 * time.Second
	idleTimeout    = 2 * time.Minute
)

// serveMetrics serves a run's own metrics at an address until stop is called, and
// then for one more scrape of whoever scraped before.
func serveMetrics(ctx context.Context, m *live.Metrics, address, configFile string, stderr io.Writer) (stop func(), err error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(m); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	if err := web.Validate(configFile); err != nil {
		return nil, fmt.Errorf("--web.config.file: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--web.listen-address: %w", err)
	}
	mux := http.NewServeMux()
	scrapes := make(chan struct{}, 1)
	metrics := promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: maxScrapes})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		metrics.ServeHTTP(w, r)
		select {
		case scrapes <- struct{}{}:
		default:
		}
	})
	logger := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	server := &http.Server{
		Handler: mux, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug), // strangers must not write on the terminal
	}
	socket := false
	flags := &web.FlagConfig{WebListenAddresses: &[]string{address}, WebSystemdSocket: &socket, WebConfigFile: &configFile}
	var running sync.WaitGroup
	running.Go(func() {
		if err := web.Serve(netutil.LimitListener(listener, maxConnections), server, flags, logger); err != nil && !errors.Is(err, http.ErrServerClosed) {
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
