package main

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// runMetrics are the series of a run as it happens, of which nothing is in a report. They are named as the probe's with
// accelerator_bench_ for a prefix and with the step as a label.
type runMetrics struct {
	latency                                     *probe.Histograms
	requests, failures                          *prometheus.CounterVec
	promptTokens, outputTokens                  *prometheus.CounterVec
	steadySeconds, steadyRequests, steadyTokens *prometheus.CounterVec
	concurrency, rate                           *prometheus.GaugeVec
	inFlight, queued, phase                     *prometheus.GaugeVec // of the present step

	collectors []prometheus.Collector   // all of them
	fromZero   []*prometheus.CounterVec // those that each step begins at 0

	mu            sync.Mutex
	target, model string
	labels        []string    // target, model and step at the moment; nil before the first step
	meter         *load.Meter // of that step
	steady        steadyTime  // of that step
	running       bool        // that step is
}

// newRunMetrics returns metrics without a series: they come with the first step.
func newRunMetrics() *runMetrics {
	const prefix = "accelerator_bench_"
	labels := []string{"target", "model", "step"}
	histograms := probe.NewHistograms(prefix, labels...)
	m := &runMetrics{latency: histograms, collectors: []prometheus.Collector{histograms}}
	counter := func(name, help string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
		m.fromZero, m.collectors = append(m.fromZero, c), append(m.collectors, c)
		return c
	}
	gauge := func(name, help string, more ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, slices.Concat(labels, more))
		m.collectors = append(m.collectors, g)
		return g
	}
	m.failures = prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "failures_total", Help: "Failed requests by reason."}, append(slices.Clone(labels), "reason"))
	m.collectors = append(m.collectors, m.failures)
	m.requests = counter("requests_total", "Requests that are over.")
	m.promptTokens = counter("prompt_tokens_total", "Prompt tokens as counted by the server.")
	m.outputTokens = counter("output_tokens_total", "Output tokens as counted by the server.")
	m.steadySeconds = counter("steady_seconds_total", "Time at the step's load: from all users in flight, or an open loop's first answer, to the last request sent.")
	m.steadyRequests = counter("steady_requests_total", "Successful requests that were over in that time.")
	m.steadyTokens = counter("steady_output_tokens_total", "Output tokens of successful requests that came in that time.")
	m.concurrency = gauge("concurrency", "Requests that are to be in flight, or at most; absent without a bound.")
	m.rate = gauge("request_rate", "Requests a second that are to be sent; absent for a closed loop.")
	m.inFlight = gauge("in_flight", "Requests in flight, of the present step.")
	m.queued = gauge("queued", "Requests that wait in this program for their turn, of the present step.")
	m.phase = gauge("phase", "1 for what the present step does: ramp (the load comes to its level), steady, or drain (nothing is sent any more). Absent between steps.", "phase")
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
	labels := []string{m.target, m.model, s.Name()}
	m.labels, m.meter, m.steady, m.running = labels, meter, steadyTime{step: s, meter: meter}, true
	m.latency.Open(labels...)
	for _, c := range m.fromZero {
		c.WithLabelValues(labels...)
	}
	for _, r := range openai.Reasons() {
		m.failures.WithLabelValues(append(slices.Clone(labels), string(r))...)
	}
	if n := max(s.Concurrency, s.MaxConcurrency); n > 0 {
		m.concurrency.WithLabelValues(labels...).Set(float64(n))
	}
	if s.Rate > 0 {
		m.rate.WithLabelValues(labels...).Set(s.Rate)
	}
}

// RequestDone counts a request that is over. One that was never sent shows
// nothing of the server.
func (m *runMetrics) RequestDone(r *runlog.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	labels := m.labels
	m.requests.WithLabelValues(labels...).Inc()
	if f := r.Trace.Failure; f != nil {
		m.failures.WithLabelValues(append(slices.Clone(labels), string(f.Reason))...).Inc()
	}
	if r.Never {
		return
	}
	m.latency.Observe(&r.Trace, labels...)
	requests, tokens := m.steady.take(&r.Trace)
	m.steadyRequests.WithLabelValues(labels...).Add(requests)
	m.steadyTokens.WithLabelValues(labels...).Add(tokens)
	if u := r.Trace.Usage; u != nil {
		m.promptTokens.WithLabelValues(labels...).Add(float64(u.PromptTokens))
		m.outputTokens.WithLabelValues(labels...).Add(float64(u.CompletionTokens))
	}
}

// StepEnded ends the step's phase and keeps its other series: a scrape may still be
// due.
func (m *runMetrics) StepEnded(runlog.StepEnd) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steadySeconds.WithLabelValues(m.labels...).Add(m.steady.grown().Seconds())
	m.running = false
}

// Describe implements [prometheus.Collector].
func (m *runMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.collectors {
		c.Describe(ch)
	}
}

// Collect implements [prometheus.Collector].
func (m *runMetrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.meter != nil {
		m.setPresent()
	}
	for _, c := range m.collectors {
		c.Collect(ch)
	}
}

// setPresent sets the gauges of the present step, and counts its steady time until now.
// The caller holds mu.
func (m *runMetrics) setPresent() {
	for _, g := range []*prometheus.GaugeVec{m.inFlight, m.queued, m.phase} {
		g.Reset() // lets go of the step before
	}
	m.inFlight.WithLabelValues(m.labels...).Set(float64(m.meter.InFlight.Load()))
	m.queued.WithLabelValues(m.labels...).Set(float64(m.meter.Queued.Load()))
	if !m.running {
		return
	}
	m.steadySeconds.WithLabelValues(m.labels...).Add(m.steady.grown().Seconds())
	for _, p := range []phase{phaseRamp, phaseSteady, phaseDrain} {
		m.phase.WithLabelValues(append(slices.Clone(m.labels), string(p))...)
	}
	m.phase.WithLabelValues(append(slices.Clone(m.labels), string(m.steady.phase()))...).Set(1)
}
