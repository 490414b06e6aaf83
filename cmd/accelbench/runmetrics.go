package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/exporter-toolkit/web"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// runMetrics are the series of a run as it happens, of which nothing is in a report. They are named as the probe's with
// accelerator_bench_ for a prefix and with the step as a label.
type runMetrics struct {
	*probe.Series
	seconds, concurrency, rate *prometheus.GaugeVec
	inFlight, queued, phase    *prometheus.GaugeVec // of the present step

	mu            sync.Mutex
	target, model string
	labels        []string    // target, model and step at the moment; nil before the first step
	step          runlog.Step // that one
	meter         *load.Meter // of that step
	running       bool        // that step is
}

// newRunMetrics returns metrics without a series: they come with the first step.
func newRunMetrics() *runMetrics {
	boundaries := prometheus.ExponentialBuckets(0.001, 1.25, 72) // a percentile that is read off them is that near
	m := &runMetrics{Series: probe.NewSeries("accelerator_bench_", "Requests that are over.", "Failed requests by reason.", boundaries, "target", "model", "step")}
	m.seconds = m.Gauge("step_seconds", "Time from the step's first request to now, or to the step's end.")
	m.concurrency = m.Gauge("concurrency", "Users of a closed loop, else the bound on requests in flight; absent without one.")
	m.rate = m.Gauge("request_rate", "Requests a second that are to be sent; absent for a closed loop.")
	m.inFlight = m.Gauge("in_flight", "Requests in flight, of the present step.")
	m.queued = m.Gauge("queued", "Requests that wait in this program for their turn, of the present step.")
	m.phase = m.Gauge("phase", "1 for what the present step does: ramp (the load comes to its level), steady, or drain (nothing is sent any more). Absent between steps.", "phase")
	return m
}

// RunStarted takes the labels target, the endpoint's host and port, and model.
func (m *runMetrics) RunStarted(r runlog.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.target, m.model = openai.TargetName(r.URL), r.Model
}

// StepStarted opens the series of a step, all reasons at 0.
func (m *runMetrics) StepStarted(s runlog.Step, meter *load.Meter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	labels := []string{m.target, m.model, s.Label(false).Short}
	m.labels, m.step, m.meter, m.running = labels, s, meter, true
	m.OpenCounts(labels...)
	m.Open(labels...)
	if n := max(s.Concurrency, s.MaxConcurrency); n > 0 {
		m.concurrency.WithLabelValues(labels...).Set(float64(n))
	}
	if s.Rate > 0 {
		m.rate.WithLabelValues(labels...).Set(s.Rate)
	}
}

// RequestDone counts a request that ended. One that was never sent shows nothing of the server.
func (m *runMetrics) RequestDone(r *runlog.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Count(r.Trace.Failure, m.labels...)
	if !r.Never {
		m.Observe(&r.Trace, m.labels...)
	}
}

// StepEnded ends the step's phase and keeps its other series: a scrape may still be due.
func (m *runMetrics) StepEnded(runlog.StepEnd) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setSeconds()
	m.running = false
}

// Collect brings the series of the present step up to date first.
func (m *runMetrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.meter != nil {
		for _, g := range []*prometheus.GaugeVec{m.inFlight, m.queued, m.phase} {
			g.Reset() // lets go of the step before
		}
		m.inFlight.WithLabelValues(m.labels...).Set(float64(m.meter.InFlight.Load()))
		m.queued.WithLabelValues(m.labels...).Set(float64(m.meter.Queued.Load()))
	}
	if m.running {
		m.setSeconds()
		for _, phase := range []string{"ramp", "steady", "drain"} {
			m.phase.WithLabelValues(append(slices.Clone(m.labels), phase)...)
		}
		m.phase.WithLabelValues(append(slices.Clone(m.labels), stepPhase(m.step, m.meter))...).Set(1)
	}
	m.Series.Collect(ch)
}

// setSeconds sets how long the present step has sent requests. The caller holds mu.
func (m *runMetrics) setSeconds() {
	seconds := m.seconds.WithLabelValues(m.labels...)
	if first := m.meter.FirstSent.Load(); first > 0 {
		seconds.Set(time.Since(time.Unix(0, first)).Seconds())
	}
}

// stepPhase is what a step does now. An open loop is steady from the first answer on.
func stepPhase(s runlog.Step, m *load.Meter) string {
	switch {
	case m.SendingEnded.Load():
		return "drain"
	case m.Reached.Load() > 0, s.Concurrency == 0 && m.Succeeded.Load() > 0:
		return "steady"
	}
	return "ramp"
}

// serveAt serves at an address, with TLS where webConfig is a file that says so, until stop is called.
func serveAt(ctx context.Context, address, webConfig string, handler http.Handler) (stop func(), err error) {
	if err := web.Validate(webConfig); err != nil {
		return nil, fmt.Errorf("reading the web configuration %s: %w", webConfig, err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler, ReadTimeout: 10 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() {
		_ = web.Serve(listener, server, &web.FlagConfig{WebConfigFile: &webConfig}, slog.New(slog.DiscardHandler))
	})
	return func() {
		ending, cancel := context.WithTimeout(context.Background(), time.Second) // for the last answers
		defer cancel()
		_ = errors.Join(server.Shutdown(ending), server.Close())
		serving.Wait()
	}, nil
}

// progressLine writes every 5 s, and at its end, how a step stands.
type progressLine struct {
	out           io.Writer
	conversations bool
	step          runlog.Step
	meter         *load.Meter
	stop          chan struct{}
	stopped       sync.WaitGroup
}

func (l *progressLine) RunStarted(r runlog.Run) {
	l.conversations = dataset.Kind(r.Dataset) == dataset.MultiTurn
}

func (l *progressLine) StepStarted(s runlog.Step, meter *load.Meter) {
	l.step, l.meter, l.stop = s, meter, make(chan struct{})
	l.stopped.Go(func() {
		ticker := time.NewTicker(5 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fmt.Fprintln(l.out, l.text())
			case <-l.stop:
				return
			}
		}
	})
}

// RequestDone is without effect: the meter counts.
func (l *progressLine) RequestDone(*runlog.Request) {}

func (l *progressLine) StepEnded(runlog.StepEnd) {
	close(l.stop)
	l.stopped.Wait()
	fmt.Fprintln(l.out, l.text())
}

func (l *progressLine) text() string {
	m, name := l.meter, l.step.Label(l.conversations).Long
	first := m.FirstSent.Load()
	if first == 0 {
		return fmt.Sprintf("%s: making prompts", name)
	}
	succeeded, failed := m.Succeeded.Load(), m.Failed.Load()
	elapsed := time.Since(time.Unix(0, first)).Seconds()
	return fmt.Sprintf("%s: %d requests, %.0fs, %.3g/s, %d failed, %d in flight, %d queued", name, succeeded+failed, elapsed,
		float64(succeeded)/max(elapsed, 1e-3), failed, m.InFlight.Load(), m.Queued.Load())
}
