package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-kit/log/level"
	"github.com/klauspost/compress/gzhttp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/exporter-toolkit/web"
	sloggokit "github.com/tjhop/slog-gokit"
	"golang.org/x/net/netutil"
)

const (
	maxConnections = 512 // per listen address
	maxScrapes     = 16  // at once; one more is answered with 503
	maxHeaderBytes = 16 << 10
	readTimeout    = 10 * time.Second
	writeTimeout   = 15 * time.Second // longer than Prometheus waits by default
	idleTimeout    = 20 * time.Second // for the usual 15 s between scrapes; idle connections keep others out
	drainTimeout   = 3 * time.Second  // leaves time for the rest of a stop within 5 s
)

// serve serves the pages until ctx ends, or until a listener fails. Requests that do not
// end soon after that are cut: a slow client must not keep the program from stopping.
func (d *daemon) serve(ctx context.Context) error {
	library := sloggokit.NewGoKitHandler(d.base, nil)
	server := newServer(d.handler(), slog.NewLogLogger(library, slog.LevelDebug))
	failed := make(chan error, 1)
	go func() { failed <- listenAndServe(ctx, server, d.settings.web, slog.New(library)) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	level.Info(d.logger).Log("msg", "stopping")
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if server.Shutdown(drain) != nil {
		_ = server.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// newServer returns a server that cuts off slow and idle clients.
func newServer(handler http.Handler, logger *log.Logger) *http.Server {
	return &http.Server{
		Handler:        handler,
		ReadTimeout:    readTimeout,
		WriteTimeout:   writeTimeout,
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       logger,
	}
}

// listenAndServe is web.ListenAndServe with a limit of connections, which only a socket of
// systemd goes without.
func listenAndServe(ctx context.Context, server *http.Server, flags *web.FlagConfig, logger *slog.Logger) error {
	if *flags.WebSystemdSocket {
		return web.ListenAndServe(server, flags, logger)
	}
	var listeners []net.Listener
	for _, address := range *flags.WebListenAddresses {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			return fmt.Errorf("--web.listen-address: %w", err)
		}
		defer l.Close()
		listeners = append(listeners, netutil.LimitListener(l, maxConnections))
	}
	return web.ServeMultiple(listeners, server, flags, logger)
}

func (d *daemon) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET "+d.settings.telemetryPath, d.metricsHandler())
	mux.HandleFunc("GET /{$}", d.serveLanding)
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "accelerator_exporter is healthy.")
	})
	mux.HandleFunc("GET /-/ready", d.serveReady)
	mux.HandleFunc("GET /-/target", d.serveTarget)
	mux.HandleFunc("GET /-/target/{name...}", d.serveTarget)
	// A page of another site must not make a browser reload that knows the password.
	mux.Handle("/-/reload", http.NewCrossOriginProtection().Handler(http.HandlerFunc(d.serveReload)))
	return mux
}

// serveReady waits for the first poll of each collector, well or not: a scrape before that has no cards.
func (d *daemon) serveReady(w http.ResponseWriter, _ *http.Request) {
	for _, s := range d.hardware.Statuses() {
		if !s.Polled {
			http.Error(w, fmt.Sprintf("The collector %s has not polled yet.", s.Collector), http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "accelerator_exporter is ready.")
}

// metricsHandler serves what can be gathered, and logs what cannot. A client that left is
// counted by promhttp and not logged: it would log a line for each family of metrics.
func (d *daemon) metricsHandler() http.Handler {
	// The samples of cards are kept from one scrape to the next, and have been checked.
	all := prometheus.NewMultiTRegistry(prometheus.ToTransactionalGatherer(d.hardware), prometheus.ToTransactionalGatherer(d.registry))
	gather := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, _, err := all.Gather()
		if err != nil {
			level.Error(d.logger).Log("msg", "gathering metrics", "err", err)
		}
		return families, err
	})
	compressed, err := gzhttp.NewWrapper(gzhttp.CompressionLevel(gzip.BestSpeed), gzhttp.EnableZstd(false))
	if err != nil { // of options that are never right
		panic(err)
	}
	return compressed(promhttp.HandlerFor(gather, promhttp.HandlerOpts{
		DisableCompression:  true, // its own takes a third of a scrape
		EnableOpenMetrics:   true,
		ErrorHandling:       promhttp.ContinueOnError,
		MaxRequestsInFlight: maxScrapes,
		Registry:            d.registry,
	}))
}

func (d *daemon) serveReload(w http.ResponseWriter, r *http.Request) {
	switch {
	case !d.settings.enableLifecycle:
		http.Error(w, "The lifecycle API is off; start with --web.enable-lifecycle.", http.StatusForbidden)
	case r.Method != http.MethodPost && r.Method != http.MethodPut:
		w.Header().Set("Allow", "POST, PUT")
		http.Error(w, "Only POST or PUT requests are allowed.", http.StatusMethodNotAllowed)
	default:
		if err := d.reload(); err != nil {
			http.Error(w, fmt.Sprintf("reloading failed: %v", err), http.StatusInternalServerError)
		}
	}
}
