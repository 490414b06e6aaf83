package probe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// phases are the values of the label "phase".
func phases(p openai.Phases) map[string]time.Duration {
	return map[string]time.Duration{"resolve": p.Resolve, "connect": p.Connect, "tls": p.TLS, "send": p.Send, "wait": p.Wait}
}

// metrics are the series of all targets.
type metrics struct {
	latency                                 *Histograms
	requests, failures, skipped, violations *prometheus.CounterVec
	promptTokens, outputTokens              *prometheus.CounterVec
	success, lastSuccess, inFlight, phases  *prometheus.GaugeVec
	all                                     vecs
}

// vecs are labelled metrics, as one Prometheus collector.
type vecs []interface {
	prometheus.Collector
	DeletePartialMatch(prometheus.Labels) int
}

// Describe implements [prometheus.Collector].
func (v vecs) Describe(ch chan<- *prometheus.Desc) {
	for _, one := range v {
		one.Describe(ch)
	}
}

// Collect implements [prometheus.Collector].
func (v vecs) Collect(ch chan<- prometheus.Metric) {
	for _, one := range v {
		one.Collect(ch)
	}
}

// DeletePartialMatch removes the series with these labels and returns how many there were.
func (v vecs) DeletePartialMatch(labels prometheus.Labels) int {
	n := 0
	for _, one := range v {
		n += one.DeletePartialMatch(labels)
	}
	return n
}

func newMetrics() *metrics {
	m := &metrics{latency: NewHistograms("accelerator_probe_", "target", "model")}
	m.all = append(m.all, m.latency)
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "accelerator_probe_" + name, Help: help},
			append([]string{"target", "model"}, more...))
		m.all = append(m.all, v)
		return v
	}
	gauge := func(name, help string, more ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "accelerator_probe_" + name, Help: help},
			append([]string{"target", "model"}, more...))
		m.all = append(m.all, v)
		return v
	}
	m.requests = counter("requests_total", "Probes sent, and attempts to learn the model that failed.")
	m.failures = counter("failures_total", "Failed probes by reason.", "reason")
	m.skipped = counter("skipped_total", "Probes that were due and not sent: the one before was still in flight, the host slept, the API key could not be read, or no OAuth2 token was issued.")
	m.violations = counter("slo_violations_total", "Probes that missed an objective.", "objective")
	m.promptTokens = counter("prompt_tokens_total", "Prompt tokens as counted by the server.")
	m.outputTokens = counter("output_tokens_total", "Output tokens as counted by the server.")
	m.success = gauge("success", "Whether the last probe succeeded.")
	m.lastSuccess = gauge("last_success_timestamp_seconds", "When a probe last succeeded.")
	m.inFlight = gauge("in_flight", "Probes in flight, 0 or 1.")
	m.phases = gauge("phase_seconds", "Parts of the last probe before the first response byte; 0 for one that did not happen.", "phase")
	return m
}

// open makes the series of a target whose model is known, so that every counter
// and reason is there at 0 before the first probe.
func (m *metrics) open(t Target, model string) {
	m.latency.Open(t.Name(), model)
	m.promptTokens.WithLabelValues(t.Name(), model)
	m.outputTokens.WithLabelValues(t.Name(), model)
	for _, o := range t.objectives() {
		m.violations.WithLabelValues(t.Name(), model, string(o.Measure))
	}
	for phase := range phases(openai.Phases{}) {
		m.phases.WithLabelValues(t.Name(), model, phase)
	}
	m.inFlight.WithLabelValues(t.Name(), model)
	m.openFailures(t, model)
}

// openFailures makes the series that count attempts, which also a target without
// a known model has.
func (m *metrics) openFailures(t Target, model string) {
	m.requests.WithLabelValues(t.Name(), model)
	m.skipped.WithLabelValues(t.Name(), model)
	for _, r := range openai.Reasons() {
		m.failures.WithLabelValues(t.Name(), model, string(r))
	}
}

// dropState removes the series of a model that a target no longer serves, or of the time
// when it was not known, but for its counters: the failure after which the server named
// another one is in them.
func (m *metrics) dropState(target, model string) {
	states := vecs{m.latency, m.success, m.lastSuccess, m.inFlight, m.phases}
	states.DeletePartialMatch(prometheus.Labels{"target": target, "model": model})
}

// observe counts one finished request under the label of its model.
func (m *metrics) observe(t Target, model string, tr *openai.Trace) {
	name := t.Name()
	m.requests.WithLabelValues(name, model).Inc()
	m.latency.Observe(tr, name, model)
	if tr.Failure == nil {
		m.success.WithLabelValues(name, model).Set(1)
		m.lastSuccess.WithLabelValues(name, model).SetToCurrentTime()
	} else {
		m.failures.WithLabelValues(name, model, string(tr.Failure.Reason)).Inc()
		if tr.Failure.Reason != openai.ReasonCanceled { // which says nothing of the target
			m.success.WithLabelValues(name, model).Set(0)
		}
	}
	for phase, d := range phases(tr.Phases) {
		m.phases.WithLabelValues(name, model, phase).Set(d.Seconds())
	}
	if tr.Usage != nil {
		m.promptTokens.WithLabelValues(name, model).Add(float64(tr.Usage.PromptTokens))
		m.outputTokens.WithLabelValues(name, model).Add(float64(tr.Usage.CompletionTokens))
	}
	for objective, missed := range t.missed(tr) {
		if missed {
			m.violations.WithLabelValues(name, model, objective).Inc()
		}
	}
}

// observeUntraced counts a failure to learn the model, or a probe that was due and did not
// leave this machine, which is no failure of the server and no success.
func (m *metrics) observeUntraced(t Target, model string, f *openai.Failure) {
	m.openFailures(t, model)
	m.success.WithLabelValues(t.Name(), model).Set(0)
	if unsent(f) {
		m.skipped.WithLabelValues(t.Name(), model).Inc()
		return
	}
	m.requests.WithLabelValues(t.Name(), model).Inc()
	m.failures.WithLabelValues(t.Name(), model, string(f.Reason)).Inc()
}
