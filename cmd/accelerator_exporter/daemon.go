package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/common/version"
	"github.com/prometheus/exporter-toolkit/web"
	sloggokit "github.com/tjhop/slog-gokit"

	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
	"github.com/accelerator-exporter/accelerator_exporter/internal/webserver"
)

const (
	maxConnections = 512
	maxPages       = 16              // that are rendered or written at once
	drainTimeout   = 3 * time.Second // leaves time for the rest of a stop within 5 s
)

// daemon is the running program: everything wired together.
type daemon struct {
	settings  *settings
	base      log.Logger // for libraries, without time and caller
	logger    log.Logger
	hardware  *collector.Collector
	prober    *probe.Prober
	placement *placement
	registry  *prometheus.Registry
	reloadMu  sync.Mutex
	reloadOK  prometheus.Gauge
	reloadAt  prometheus.Gauge
	ready     atomic.Bool
}

// newDaemon wires the program. linesDropped is the metric of its log.
func newDaemon(s *settings, c configuration, base log.Logger, linesDropped prometheus.Collector) (*daemon, error) {
	d := &daemon{settings: s, base: base, logger: withTimestamp(base), registry: prometheus.NewRegistry()}
	vendors := s.enabledVendors()
	d.hardware = collector.New(collector.Options{
		Vendors: vendors, NUMA: s.numa, NUMAMaps: s.numaMaps, Processes: s.processes, Sysfs: s.sysfs,
		Containers: s.containers, PodLogs: s.podLogs, Procfs: s.procfs,
		Detail: s.detail, DetailShare: s.detailShare, Serials: s.serials,
		PodResources: s.podResources, TrustDeviceIDs: s.trustIDs,
		Interval: s.interval, InventoryInterval: s.inventory, Timeout: s.timeout, Variables: s.variables, Logger: d.logger,
	})
	d.prober = probe.New(d.logger)
	if err := d.prober.Apply(c.targets); err != nil {
		return nil, err
	}
	d.placement = newPlacement(process.FS(s.procfs), d.hardware, d.prober)
	d.reloadOK = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "accelerator_exporter_config_last_reload_successful", Help: "Whether the last load of the configuration was good.",
	})
	d.reloadAt = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "accelerator_exporter_config_last_reload_success_timestamp_seconds", Help: "When a configuration was last loaded well.",
	})
	d.reloadOK.Set(1)
	d.reloadAt.SetToCurrentTime()
	d.registry.MustRegister(d.hardware, d.prober, d.placement, d.reloadOK, d.reloadAt, linesDropped,
		versioncollector.NewCollector("accelerator_exporter"),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	level.Info(d.logger).Log("msg", "starting accelerator_exporter", "version", version.Info(), "build_context", version.BuildContext())
	for _, v := range vendors {
		level.Info(d.logger).Log("msg", "collecting", "vendor", v.Name, "command", v.Command)
	}
	if len(vendors) == 0 {
		level.Warn(d.logger).Log("msg", "no card metrics: no collector of a vendor is enabled; see --collector.metax.command and --collector.ascend.command")
	}
	for _, t := range c.targets {
		level.Info(d.logger).Log("msg", "probing", "target", t.Name(), "url", t.URL())
	}
	if len(c.targets) == 0 {
		level.Info(d.logger).Log("msg", "no probes configured: --probe.target or --config.file")
	}
	d.warnUnreadable(c)
	return d, nil
}

// warnUnreadable logs which files cannot be read yet: probes are not sent before
// they are.
func (d *daemon) warnUnreadable(c configuration) {
	for _, err := range c.unreadable {
		level.Warn(d.logger).Log("msg", "file of a probe is not readable, it is read again for each probe", "err", err)
	}
}

// run serves until ctx ends or the listener fails, and then ends everything it
// started.
func (d *daemon) run(ctx context.Context, hangup <-chan os.Signal) error {
	background, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { d.hardware.Run(background) })
	wg.Go(func() { d.prober.Run(background) })
	wg.Go(func() { d.placement.run(background, d.settings.interval) })
	wg.Go(func() { d.reloadOnHangup(background, hangup) })

	library := sloggokit.NewGoKitHandler(d.base, nil)
	// The other half of the files is for tools' pipes and probes.
	server := webserver.New(d.handler(), min(maxConnections, process.MaxFiles()/2))
	server.ErrorLog = slog.NewLogLogger(library, slog.LevelDebug)
	failed := make(chan error, 1)
	go func() { failed <- web.ListenAndServe(server, d.settings.web, slog.New(library)) }()
	d.ready.Store(true)
	var err error
	select {
	case <-ctx.Done():
		level.Info(d.logger).Log("msg", "stopping")
		d.ready.Store(false)
		stop()
		err = drain(server)
		if e := <-failed; err == nil {
			err = e
		}
	case err = <-failed:
		stop()
	}
	wg.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	if listen := (*net.OpError)(nil); errors.As(err, &listen) && listen.Op == "listen" {
		return fmt.Errorf("--web.listen-address: %w", err)
	}
	return err
}

// drain ends the web server; scrapes that do not end in time are cut, since a
// slow client must not keep the program from stopping.
func drain(server *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return server.Close()
	}
	return err
}

func (d *daemon) handler() http.Handler {
	pages := webserver.NewPages(maxPages, func(r *http.Request, err error) {
		level.Debug(d.logger).Log("msg", "a client left before it had read all", "path", r.URL.Path, "address", r.RemoteAddr, "err", err)
	})
	mux := http.NewServeMux()
	mux.Handle("GET "+d.settings.telemetryPath, pages.Held(newScrapes(d.registry, d.logger)))
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(w, "accelerator_exporter is healthy.")
	})
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, _ *http.Request) {
		if !d.ready.Load() {
			http.Error(w, "accelerator_exporter is not ready.", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "accelerator_exporter is ready.")
	})
	// A page of another site must not make a browser reload that knows the password.
	mux.Handle("/-/reload", http.NewCrossOriginProtection().Handler(http.HandlerFunc(d.serveReload)))
	mux.Handle("GET /{$}", pages.Held(d.landingHandler()))
	return mux
}

func (d *daemon) serveReload(w http.ResponseWriter, r *http.Request) {
	switch {
	case !d.settings.enableLifecycle:
		http.Error(w, "The lifecycle API is off; start with --web.enable-lifecycle.", http.StatusForbidden)
	case r.Method != http.MethodPost && r.Method != http.MethodPut:
		w.Header().Set("Allow", "POST, PUT")
		http.Error(w, "Only POST or PUT requests are allowed.", http.StatusMethodNotAllowed)
	default:
		if err := d.reload(r.Context()); err != nil {
			http.Error(w, fmt.Sprintf("reloading failed: %v", err), http.StatusInternalServerError)
		}
	}
}

func (d *daemon) reloadOnHangup(ctx context.Context, hangup <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangup:
			_ = d.reload(ctx) // logged there
		}
	}
}

// reload reads the configuration again. A bad one changes nothing.
func (d *daemon) reload(ctx context.Context) error {
	d.reloadMu.Lock()
	defer d.reloadMu.Unlock()
	c, err := d.settings.configuration(ctx)
	if err == nil {
		err = d.prober.Apply(c.targets)
	}
	if err != nil {
		d.reloadOK.Set(0)
		for _, one := range flatten(err) {
			level.Error(d.logger).Log("msg", "invalid configuration, keeping the previous one", "err", one)
		}
		return err
	}
	d.warnUnreadable(c)
	d.placement.changed()
	d.reloadOK.Set(1)
	d.reloadAt.SetToCurrentTime()
	level.Info(d.logger).Log("msg", "configuration loaded", "probes", len(c.targets))
	return nil
}
