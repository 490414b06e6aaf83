package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/grpc/test/bufconn"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// simulation is the exporter with all that is around it under one virtual clock: tools, a kubelet, and a model server that
// is probed.
type simulation struct {
	*standIn
	t        *testing.T
	daemon   *daemon
	handler  http.Handler
	server   *fakevllm.Server
	kubelet  string // its socket
	start    time.Time
	interval time.Duration // of polls and probes; what is not part of a poll is asked every fourth time
	tools    []string      // of the vendors that it has
	down     atomic.Bool   // there is no model server

	mu      sync.Mutex
	expires map[string]map[float64]time.Time // until when a value that was printed may be shown
	metrics map[string]bool                  // of these values
	last    map[string]float64               // counters
}

// simulate runs the exporter for cards of these vendors, or of all, while do lasts, in the bubble of a test. log gets its
// lines.
func simulate(t *testing.T, interval time.Duration, vendors []string, log io.Writer, do func(s *simulation)) {
	m, kubelet := newMachine(t, true), kubelet(t)
	probes := writeFile(t, "probes.yml", fmt.Sprintf(`probes:
- {name: chat, url: 'http://127.0.0.1:8000', model: qwen2.5, interval: %s, max_tokens: 8, slo: {time_to_first_token: 1s}}
- {name: first, url: 'http://127.0.0.1:8000', interval: %s, max_tokens: 8, api: completions}
`, interval, interval), 0o644)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(day0))
		s := &simulation{
			standIn: newStandIn(t, m), t: t, kubelet: kubelet, interval: interval, start: time.Now(),
			expires: map[string]map[float64]time.Time{}, metrics: map[string]bool{}, last: map[string]float64{},
		}
		s.adapt = func(vendor string, c *model.Command) bool {
			defer func() { c.Every = 4 * interval }()
			return soon(vendor, c)
		}
		s.printed = s.print
		flags, err := parseFlags([]string{
			"--collector.interval=" + interval.String(), "--collector.inventory-interval=" + (4 * interval).String(), "--kubernetes.pod-resources=" + kubelet,
			"--path.procfs=" + string(m.procfs), "--path.sysfs=" + m.sysfs, "--kubernetes.pod-logs=" + podLogs(t), "--config.file=" + probes,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		flags.collector.NewRunner = s.runner
		flags.vendors = nil
		for _, v := range s.vendors(vendors...) {
			flags.vendors = append(flags.vendors, vendorFlags{VendorOptions: v, enabled: true, isSet: true, named: true, namedNetwork: true})
			s.tools = append(s.tools, v.Tools[0])
		}
		s.run(flags, log, do)
	})
}

// run starts everything, and waits for its end after do.
func (s *simulation) run(flags *settings, log io.Writer, do func(s *simulation)) {
	c, err := flags.configuration()
	if err != nil {
		s.t.Fatal(err)
	}
	if s.daemon, err = newDaemon(flags, c, newLogger(log, "info", "logfmt")); err != nil {
		s.t.Fatal(err)
	}
	s.handler = s.daemon.handler()
	if s.server, err = fakevllm.New(fakevllm.Config{}); err != nil {
		s.t.Fatal(err)
	}
	listener := bufconn.Listen(1 << 16)
	web := &http.Server{Handler: s.server.Handler()}
	s.daemon.prober.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		if s.down.Load() {
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
		}
		return listener.DialContext(ctx)
	}
	if err := errors.Join(s.daemon.prober.Apply(nil), s.daemon.prober.Apply(c.targets)); err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = web.Serve(listener) })
	all.Go(func() { s.server.Run(ctx) })
	all.Go(func() { s.daemon.hardware.Run(ctx) })
	all.Go(func() { s.daemon.prober.Run(ctx) })
	all.Go(func() { s.daemon.targetCards.run(ctx, s.interval) })
	do(s)
	stop()
	web.Close()
	all.Wait()
}

// print keeps what a tool has printed: it may be shown for three of its intervals and a timeout, and until the next poll
// drops it. Up to five minutes in which other calls hung do not count.
func (s *simulation) print(c model.Command, key string, v float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	metric, _, _ := strings.Cut(key, " ")
	s.metrics[metric] = true
	values := s.expires[key]
	if values == nil {
		values = map[float64]time.Time{}
		s.expires[key] = values
	}
	maps.DeleteFunc(values, func(_ float64, until time.Time) bool { return until.Before(now) })
	limit := 3*max(4*s.interval, 10*time.Minute) + s.interval + 10*time.Second + 5*time.Minute // calls that hang stretch a short interval
	if c.EveryPoll || c.Name == "table" {
		limit = 3*s.interval + 10*time.Second
	}
	if until := now.Add(limit); until.After(values[v]) {
		values[v] = until
	}
}

// check scrapes, and holds what is so at any time: no sample that no tool has printed lately, no counter that falls, an end
// for each probe, and a page that says that the exporter lives. It returns the scrape.
func (s *simulation) check() map[string]float64 {
	page := httptest.NewRecorder()
	if s.handler.ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/-/healthy", nil)); page.Code != http.StatusOK {
		s.t.Errorf("/-/healthy: %d", page.Code)
	}
	families, err := prometheus.Gatherers{s.daemon.hardware, s.daemon.registry}.Gather()
	if err != nil {
		s.t.Errorf("scraping: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all, now := map[string]float64{}, time.Now()
	for _, f := range families {
		metric := strings.TrimPrefix(f.GetName(), "accelerator_")
		for _, m := range f.GetMetric() {
			name, v := f.GetName()+labelText(m), value(m)
			all[name] = v
			if f.GetType() != dto.MetricType_GAUGE && v < s.last[name] {
				s.t.Errorf("%v: %s falls from %v to %v", now, name, s.last[name], v)
			}
			s.last[name] = v
			if !s.metrics[metric] {
				continue
			}
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if until := s.expires[valueKey(metric, labels)][v]; until.Before(now) {
				s.t.Errorf("%v: %s is %v, which was printed before %v", now, name, v, until)
			}
		}
	}
	s.checkProbes(all, now)
	return all
}

// checkProbes holds that every probe that was due is in flight, was skipped, has succeeded or has failed for one reason.
func (s *simulation) checkProbes(all map[string]float64, now time.Time) {
	for _, target := range []string{"chat", "first"} {
		sums := map[string]float64{}
		for name, v := range all {
			if metric, labels, _ := strings.Cut(name, "{"); strings.Contains(labels, fmt.Sprintf("target=%q", target)) {
				sums[strings.TrimPrefix(metric, "accelerator_probe_")] += v
			}
		}
		attempts, ended := sums["requests_total"], sums["request_duration_seconds"]+sums["failures_total"]
		if attempts != ended {
			s.t.Errorf("%v: %v probes of %s, of which %v succeeded or failed", now, attempts, target, ended)
		}
		const latestFirst = 10 * time.Second
		counted, elapsed := attempts+sums["skipped_total"]+sums["in_flight"], now.Sub(s.start)
		least, most := float64((elapsed-latestFirst)/s.interval), float64(elapsed/s.interval)+1 // one may be asking for the model
		if counted < least || counted > most {
			s.t.Errorf("%v: %v probes of %s are counted, %v to %v were due", now, counted, target, least, most)
		}
	}
}
