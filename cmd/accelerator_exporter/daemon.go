package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	versioncollector "github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/common/version"

	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
)

// daemon is the running program: everything wired together.
type daemon struct {
	settings    *settings
	base        log.Logger // for libraries, without time and caller
	logger      log.Logger
	hardware    *collector.Collector
	prober      *probe.Prober
	targetCards *targetCards
	lastHour    lastHour
	registry    *prometheus.Registry
	reloadMu    sync.Mutex
	reloadOK    prometheus.Gauge
	reloadAt    prometheus.Gauge
}

func newDaemon(s *settings, c configuration, base log.Logger) (*daemon, error) {
	d := &daemon{
		settings: s, base: base, logger: withTimestamp(base), registry: prometheus.NewRegistry(),
		reloadOK: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "accelerator_exporter_config_last_reload_successful", Help: "Whether the last load of the configuration was successful.",
		}),
		reloadAt: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "accelerator_exporter_config_last_reload_success_timestamp_seconds", Help: "When the configuration was last loaded successfully.",
		}),
	}
	d.reloadOK.Set(1)
	d.reloadAt.SetToCurrentTime()
	options := s.collector
	options.Vendors, options.Logger = s.enabledVendors(), d.logger
	d.hardware = collector.New(options)
	d.prober = probe.New(d.logger)
	if err := d.prober.Apply(c.targets); err != nil {
		return nil, err
	}
	d.targetCards = newTargetCards(options, d.hardware, d.prober)
	d.registry.MustRegister(d.prober, d.targetCards, d.reloadOK, d.reloadAt,
		versioncollector.NewCollector("accelerator_exporter"),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	d.logStart(options.Vendors, c)
	return d, nil
}

func (d *daemon) logStart(vendors []collector.VendorOptions, c configuration) {
	level.Info(d.logger).Log("msg", "starting accelerator_exporter", "version", version.Info(), "build_context", version.BuildContext())
	for _, v := range vendors {
		level.Info(d.logger).Log("msg", "collecting", "vendor", v.Name, "command", v.Command)
	}
	if len(vendors) == 0 {
		level.Warn(d.logger).Log("msg", "no card metrics: no vendor's tool was found or enabled; give its path with --collector.VENDOR.command")
	}
	for _, t := range c.targets {
		level.Info(d.logger).Log("msg", "probing", "target", t.Name, "url", t.Base)
	}
	if len(c.targets) == 0 {
		level.Info(d.logger).Log("msg", "nothing is probed; to probe a server, set --probe.target or --config.file")
	}
	d.warnUnreadable(c)
}

// warnUnreadable logs which files cannot be read yet: probes are not sent before
// they are.
func (d *daemon) warnUnreadable(c configuration) {
	for _, err := range c.unreadable {
		level.Warn(d.logger).Log("msg", "cannot read a file of a probe; no probe is sent until it can be read", "err", err)
	}
}

// run serves until ctx ends or the listener fails, and then ends everything it
// started.
func (d *daemon) run(ctx context.Context, hangup <-chan os.Signal) error {
	// A closed log pipe must not end the program. SIGPIPE is caught, not ignored: the
	// vendors' tools would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { d.hardware.Run(ctx) })
	wg.Go(func() { d.prober.Run(ctx) })
	wg.Go(func() { d.targetCards.run(ctx, d.settings.collector.Interval) })
	wg.Go(func() { d.keepLastHour(ctx) })
	wg.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				_ = d.reload() // logged there
			}
		}
	})
	err := d.serve(ctx)
	stop()
	ended := make(chan struct{})
	go func() {
		wg.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(1500 * time.Millisecond): // a file on a dead mount must not keep the program
	}
	return err
}

// reload reads the configuration again. A bad one changes nothing.
func (d *daemon) reload() error {
	d.reloadMu.Lock()
	defer d.reloadMu.Unlock()
	c, err := d.settings.configuration()
	if err == nil {
		err = d.prober.Apply(c.targets)
	}
	if err != nil {
		d.reloadOK.Set(0)
		for _, line := range strings.Split(err.Error(), "\n") {
			level.Error(d.logger).Log("msg", "invalid configuration, keeping the previous one", "err", line)
		}
		return err
	}
	d.warnUnreadable(c)
	d.reloadOK.Set(1)
	d.reloadAt.SetToCurrentTime()
	level.Info(d.logger).Log("msg", "configuration loaded", "probes", len(c.targets))
	return nil
}
