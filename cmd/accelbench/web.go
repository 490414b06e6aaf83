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

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/exporter-toolkit/web"
	sloggokit "github.com/tjhop/slog-gokit"

	"github.com/accelerator-exporter/accelerator_exporter/bench/live"
)

// serveMetrics serves a run's own metrics at an address until stop is called.
func serveMetrics(m *live.Metrics, address, configFile string, stderr io.Writer) (stop func(), err error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(m); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--web.listen-address: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	quiet := level.NewFilter(log.NewLogfmtLogger(log.NewSyncWriter(stderr)), level.AllowWarn())
	logger := slog.New(sloggokit.NewGoKitHandler(quiet, nil))
	socket := false
	flags := &web.FlagConfig{WebListenAddresses: &[]string{address}, WebSystemdSocket: &socket, WebConfigFile: &configFile}
	var running sync.WaitGroup
	running.Go(func() {
		if err := web.Serve(listener, server, flags, logger); err != nil && !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintf(stderr, "accelbench: serving metrics: %v\n", err)
		}
	})
	return func() {
		_ = server.Close()
		running.Wait()
	}, nil
}
