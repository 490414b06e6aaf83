package probe

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// phases are by the values of the label "phase".
func phases(p openai.Phases) map[string]time.Duration {
	return map[string]time.Duration{
		"resolve": p.Resolve, "connect": p.Connect, "tls": p.TLS, "send": p.Send, "wait": p.Wait,
	}
}

// metrics are the series of all targets.
type metrics struct {
	latency                                 *Histograms
	requests, failures, skipped, violations *prometheus.CounterVec
	promptTokens, outputTokens              *prometheus.CounterVec
	answerChanges                           *prometheus.CounterVec
	success, lastSuccess, inFlight, phases  *prometheus.GaugeVec
	vecs
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

// drop removes the series with these labels.
func (v vecs) drop(labels prometheus.Labels) {
	for _, one := range v {
		one.DeletePartialMatch(labels)
	}
}

func newMetrics() *metrics {
	m := &metrics{latency: NewHistograms("accelerator_probe_", "target", "model")}
	m.vecs = slices.Clone(m.latency.vecs)
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "accelerator_probe_" + name, Help: help},
			append([]string{"target", "model"}, more...))
		m.vecs = append(m.vecs, v)
		return v
	}
	gauge := func(name, help string, more ...string) *prometheus.GaugeVec {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "accelerator_probe_" + name, Help: help},
			append([]string{"target", "model"}, more...))
		m.vecs = append(m.vecs, v)
		return v
	}
	m.requests = counter("requests_total", "Probes sent, and attempts to learn the model that failed.")
	m.failures = counter("failures_total", "Failed probes by reason.", "reason")
	m.skipped = counter("skipped_total", "Probes that were due and not sent: the one before was still in flight, the host slept, the API key could not be read, or no OAuth2 token was issued.")
	m.violations = counter("slo_violations_total", "Probes that missed an objective.", "objective")
	m.promptTokens = counter("prompt_tokens_total", "Prompt tokens as counted by the server.")
	m.outputTokens = counter("output_tokens_total", "Output tokens as counted by the server.")
	m.answerChanges = counter("answer_changes_total", "Answers other than the first.")
	m.success = gauge("success", "Whether the last probe succeeded.")
	m.lastSuccess = gauge("last_success_timestamp_seconds", "When a probe last succeeded.")
	m.inFlight = gauge("in_flight", "Probes in flight, 0 or 1.")
	m.phases = gauge("phase_seconds", "Parts of the last probe before the first response byte; 0 for one that did not happen.", "phase")
	return m
}

// open makes the series of a target at 0, so that every reason is there before it first
// happens. Of one whose model is not known these are the counters of attempts.
func (m *metrics) open(t Target, model string) {
	m.requests.WithLabelValues(t.Name(), model)
	m.skipped.WithLabelValues(t.Name(), model)
	for _, r := range openai.Reasons() {
		m.failures.WithLabelValues(t.Name(), model, string(r))
	}
	if model == "" {
		return
	}
	m.latency.Open(t.Name(), model)
	m.promptTokens.WithLabelValues(t.Name(), model)
	m.outputTokens.WithLabelValues(t.Name(), model)
	for _, o := range t.objectives() {
		m.violations.WithLabelValues(t.Name(), model, string(o.Measure))
	}
	if t.spec.ExpectSame {
		m.answerChanges.WithLabelValues(t.Name(), model)
	}
	for phase := range phases(openai.Phases{}) {
		m.phases.WithLabelValues(t.Name(), model, phase)
	}
	m.inFlight.WithLabelValues(t.Name(), model)
}

// dropState removes the series of a model that a target no longer serves, or of the time when
// it was not known, but for its counters: they have the failure after which it was asked for.
func (m *metrics) dropState(target, model string) {
	states := append(slices.Clone(m.latency.vecs), m.success, m.lastSuccess, m.inFlight, m.phases)
	states.drop(prometheus.Labels{"target": target, "model": model})
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
	m.open(t, model)
	m.success.WithLabelValues(t.Name(), model).Set(0)
	if unsent(f) {
		m.skipped.WithLabelValues(t.Name(), model).Inc()
		return
	}
	m.requests.WithLabelValues(t.Name(), model).Inc()
	m.failures.WithLabelValues(t.Name(), model, string(f.Reason)).Inc()
}

// Buckets hold vLLM's own boundaries (vllm/v1/metrics/buckets.py), so that its histograms and
// ours can be overlaid, and finer ones: of its time to first token, its inter-token latency,
// which starts at 10 ms, and its request latency, which starts at 300 ms.
var (
	ttftBuckets = []float64{
		0.001, 0.002, 0.003, 0.005, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75,
		1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10, 15, 20, 30, 40, 80, 160, 640, 2560,
	}
	itlBuckets = []float64{
		0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.0075, 0.01, 0.0125, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.05, 0.06,
		0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
	}
	durationBuckets = []float64{
		0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
	}
)

// Histograms hold the latencies of traces, those of a load test under the same names as
// the probe's but for the prefix. They are one Prometheus collector.
type Histograms struct {
	vecs
	all []histogram
}

type histogram struct {
	*prometheus.HistogramVec
	samples  func(*openai.Trace) []time.Duration
	exemplar bool // a success leaves its request id
}

// NewHistograms returns histograms whose names start with prefix, such as "accelerator_probe_", with the given labels.
func NewHistograms(prefix string, labels ...string) *Histograms {
	h := new(Histograms)
	add := func(name, help string, buckets []float64, exemplar bool, samples func(*openai.Trace) []time.Duration) {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + name, Help: help, Buckets: buckets,
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  160,
			NativeHistogramMinResetDuration: time.Hour,
		}, labels)
		h.vecs, h.all = append(h.vecs, v), append(h.all, histogram{v, samples, exemplar})
	}
	once := func(derive func(*openai.Trace) (time.Duration, bool)) func(*openai.Trace) []time.Duration {
		return func(t *openai.Trace) []time.Duration {
			if d, ok := derive(t); ok {
				return []time.Duration{d}
			}
			return nil
		}
	}
	add("time_to_first_token_seconds", "Time from sending to the first generated text.", ttftBuckets, true, once(openai.TTFT))
	add("time_per_output_token_seconds", "Mean time of the output tokens after the first.", itlBuckets, true, once(openai.TPOT))
	add("inter_token_latency_seconds", "Gaps between successive chunks with generated text.", itlBuckets, false, openai.ITLs)
	add("request_duration_seconds", "Time from sending to the last generated text.", durationBuckets, true, once(openai.E2E))
	add("client_lag_seconds", "How late this program read what the kernel had received.", prometheus.ExponentialBuckets(10e-6, 2, 16), false,
		once(func(t *openai.Trace) (time.Duration, bool) { return t.Lag.Last, t.Lag.Reads > 0 })) // one sample of the many reads
	add("start_delay_seconds", "Time from the instant a request was due to its sending; added to a latency, that is measured from there.",
		prometheus.ExponentialBuckets(100e-6, 4, 10), false,
		once(func(t *openai.Trace) (time.Duration, bool) { return max(0, t.Started.Sub(t.Planned)), true }))
	return h
}

// Open makes the series of the label values, empty.
func (h *Histograms) Open(labels ...string) {
	for _, v := range h.all {
		v.WithLabelValues(labels...)
	}
}

// Observe counts one request that has ended. A success leaves its request id as an exemplar.
func (h *Histograms) Observe(t *openai.Trace, labels ...string) {
	for _, v := range h.all {
		series := v.WithLabelValues(labels...)
		for _, d := range v.samples(t) {
			if v.exemplar && t.Failure == nil {
				ids := prometheus.Labels{"request_id": t.RequestID}
				if t.Traced {
					ids["trace_id"] = t.RequestID
				}
				series.(prometheus.ExemplarObserver).ObserveWithExemplar(d.Seconds(), ids)
			} else {
				series.Observe(d.Seconds())
			}
		}
	}
}
