// Package live shows a run as it happens: as a line on a terminal and as
// Prometheus metrics. Nothing in a report comes from here.
package live

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/accelerator-exporter/accelerator_exporter/bench/latency"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Metrics are the run's own series, named as the probe's with
// accelerator_bench_ for a prefix and with the step as a label.
type Metrics struct {
	latency                    *latency.Histograms
	requests, failures         *prometheus.CounterVec
	promptTokens, outputTokens *prometheus.CounterVec
	concurrency, rate          *prometheus.GaugeVec
	inFlight, queued, phase    *prometheus.Desc
	steadySeconds              *prometheus.CounterVec
	steadyRequests             *prometheus.CounterVec
	steadyTokens               *prometheus.CounterVec

	mu            sync.Mutex
	target, model string
	labels        []string    // target, model and step at the moment; nil before the first step
	meter         *load.Meter // of that step
	steady        steady      // of that step
	running       bool        // that step is
}

// NewMetrics returns metrics without a series: they come with the first step.
func NewMetrics() *Metrics {
	const prefix = "accelerator_bench_"
	labels := []string{"target", "model", "step"}
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, append(slices.Clone(labels), more...))
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels)
	}
	return &Metrics{
		latency:      latency.NewHistograms(prefix, labels...),
		requests:     counter("requests_total", "Requests that are over."),
		failures:     counter("failures_total", "Failed requests by reason.", "reason"),
		promptTokens: counter("prompt_tokens_total", "Prompt tokens as counted by the server."),
		outputTokens: counter("output_tokens_total", "Output tokens as counted by the server."),
		concurrency:  gauge("concurrency", "Requests that are to be in flight, or at most; absent without a bound."),
		rate:         gauge("request_rate", "Requests a second that are to be sent; absent for a closed loop."),
		inFlight:     prometheus.NewDesc(prefix+"in_flight", "Requests in flight, of the present step.", labels, nil),
		phase: prometheus.NewDesc(prefix+"phase", "1 for what the present step does: ramp (the load comes to its level), steady, or drain (nothing is sent any more). Absent between steps.",
			append(slices.Clone(labels), "phase"), nil),
		steadySeconds:  counter("steady_seconds_total", "Time at the step's load: from all users in flight, or an open loop's first answer, to the last request sent until now."),
		steadyRequests: counter("steady_requests_total", "Successful requests that were over in that time."),
		steadyTokens:   counter("steady_output_tokens_total", "Output tokens of successful requests that came in that time."),
		queued:         prometheus.NewDesc(prefix+"queued", "Requests that wait in this program for their turn, of the present step.", labels, nil),
	}
}

// RunStarted takes the labels target, the endpoint's host and port, and model.
func (m *Metrics) RunStarted(r runlog.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.target, m.model = openai.TargetName(r.URL), r.Model
}

// StepStarted opens the series of a step, all reasons at 0.
func (m *Metrics) StepStarted(s runlog.Step, meter *load.Meter) {
	m.mu.Lock()
	labels := []string{m.target, m.model, s.Name()}
	m.labels, m.meter, m.steady, m.running = labels, meter, newSteady(s, meter), true
	m.mu.Unlock()
	m.latency.Open(labels...)
	for _, c := range []*prometheus.CounterVec{m.requests, m.promptTokens, m.outputTokens, m.steadySeconds, m.steadyRequests, m.steadyTokens} {
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
func (m *Metrics) RequestDone(r *runlog.Request) {
	m.mu.Lock()
	labels := m.labels
	m.mu.Unlock()
	m.requests.WithLabelValues(labels...).Inc()
	if f := r.Trace.Failure; f != nil {
		m.failures.WithLabelValues(append(slices.Clone(labels), string(f.Reason))...).Inc()
	}
	if r.Never {
		return
	}
	m.latency.Observe(&r.Trace, labels...)
	m.mu.Lock()
	m.steady.take(&r.Trace)
	m.mu.Unlock()
	if u := r.Trace.Usage; u != nil {
		m.promptTokens.WithLabelValues(labels...).Add(float64(u.PromptTokens))
		m.outputTokens.WithLabelValues(labels...).Add(float64(u.CompletionTokens))
	}
}

// StepEnded ends the step's phase and keeps its other series: a scrape may still be
// due.
func (m *Metrics) StepEnded(runlog.StepEnd) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settle()
	m.running = false
}

// settle counts the steady time until now. The caller holds mu.
func (m *Metrics) settle() {
	grown := m.steady.settle()
	m.steadySeconds.WithLabelValues(m.labels...).Add(grown.time.Seconds())
	m.steadyRequests.WithLabelValues(m.labels...).Add(float64(grown.requests))
	m.steadyTokens.WithLabelValues(m.labels...).Add(grown.tokens)
}

func (m *Metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.latency, m.requests, m.failures, m.promptTokens, m.outputTokens, m.concurrency, m.rate, m.steadySeconds, m.steadyRequests, m.steadyTokens}
}

// Describe implements [prometheus.Collector].
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(ch)
	}
	ch <- m.inFlight
	ch <- m.queued
	ch <- m.phase
}

// Collect implements [prometheus.Collector].
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.meter != nil {
		m.settle()
	}
	for _, c := range m.all() {
		c.Collect(ch)
	}
	if m.meter == nil {
		return
	}
	if m.running {
		now := m.steady.phase()
		for _, p := range phases() {
			value := 0.0
			if p == now {
				value = 1
			}
			ch <- prometheus.MustNewConstMetric(m.phase, prometheus.GaugeValue, value, append(slices.Clone(m.labels), string(p))...)
		}
	}
	ch <- prometheus.MustNewConstMetric(m.inFlight, prometheus.GaugeValue, float64(m.meter.InFlight.Load()), m.labels...)
	ch <- prometheus.MustNewConstMetric(m.queued, prometheus.GaugeValue, float64(m.meter.Queued.Load()), m.labels...)
}
