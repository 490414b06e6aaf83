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
)

// serveMetrics serves a run's own metrics at an address until stop is called.
func serveMetrics(ctx context.Context, m *runMetrics, address string, stderr io.Writer) (stop func(), err error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(m); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--web.listen-address: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: 16}))
	server := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 15 * time.Second, IdleTimeout: 2 * time.Minute}
	var running sync.WaitGroup
	running.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintf(stderr, "accelbench: serving metrics: %v\n", err)
		}
	})
	return func() {
		_ = server.Close()
		running.Wait()
	}, nil
}
