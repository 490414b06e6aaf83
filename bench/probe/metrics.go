package probe

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

// phases are by the values of the label "phase".
func phases(p openai.Phases) map[string]time.Duration {
	return map[string]time.Duration{
		"resolve": p.Resolve, "connect": p.Connect, "tls": p.TLS, "send": p.Send, "wait": p.Wait,
	}
}

type metrics struct {
	*Series
	skipped, violations, answerChanges     *prometheus.CounterVec
	success, lastSuccess, inFlight, phases *prometheus.GaugeVec
}

func newMetrics() *metrics {
	m := &metrics{Series: NewSeries("accelerator_probe_", "Probes sent, and attempts to learn the model that failed.", "Failed probes by reason.", nil, "target", "model")}
	m.skipped = m.Counter("skipped_total", "Probes that were due and not sent: the one before was still in flight, the host slept, the API key could not be read, or no OAuth2 token was issued.")
	m.violations = m.Counter("slo_violations_total", "Probes that missed an objective.", "objective")
	m.answerChanges = m.Counter("answer_changes_total", "Answers other than the first.")
	m.success = m.Gauge("success", "Whether the last probe succeeded.")
	m.lastSuccess = m.Gauge("last_success_timestamp_seconds", "When a probe last succeeded.")
	m.inFlight = m.Gauge("in_flight", "Probes in flight, 0 or 1.")
	m.phases = m.Gauge("phase_seconds", "Parts of the last probe before the first response byte; 0 for one that did not happen.", "phase")
	return m
}

// open makes the series of a target at 0, so that every reason is there before it first
// happens. Of one whose model is not known these are the counters of attempts.
func (m *metrics) open(t Target, model string) {
	m.skipped.WithLabelValues(t.Name, model)
	m.OpenCounts(t.Name, model)
	if model == "" {
		return
	}
	m.Open(t.Name, model)
	for _, o := range t.objectives() {
		m.violations.WithLabelValues(t.Name, model, string(o.Measure))
	}
	if t.ExpectSame {
		m.answerChanges.WithLabelValues(t.Name, model)
	}
	for phase := range phases(openai.Phases{}) {
		m.phases.WithLabelValues(t.Name, model, phase)
	}
	m.inFlight.WithLabelValues(t.Name, model)
}

// observe counts one finished request under the label of its model.
func (m *metrics) observe(t Target, model string, tr *openai.Trace) {
	name := t.Name
	m.Count(tr.Failure, name, model)
	m.Observe(tr, name, model)
	if tr.Failure == nil {
		m.success.WithLabelValues(name, model).Set(1)
		m.lastSuccess.WithLabelValues(name, model).SetToCurrentTime()
	} else if tr.Failure.Reason != openai.ReasonCanceled { // which says nothing of the target
		m.success.WithLabelValues(name, model).Set(0)
	}
	for phase, d := range phases(tr.Phases) {
		m.phases.WithLabelValues(name, model, phase).Set(d.Seconds())
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
	m.success.WithLabelValues(t.Name, model).Set(0)
	if unsent(f) {
		m.skipped.WithLabelValues(t.Name, model).Inc()
		return
	}
	m.Count(f, t.Name, model)
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

// Series are the metrics of requests: how many, how many failed and why, their latencies and their tokens. Those of a
// load test have the probe's names but for the prefix. With what Counter and Gauge add they are one Prometheus collector.
type Series struct {
	prometheus.Collector
	factory          promauto.Factory
	prefix           string
	labels           []string
	counters, states vecs

	requests, failures, promptTokens, outputTokens *prometheus.CounterVec
	latencies                                      []histogram
}

type vecs []*prometheus.MetricVec

func (v vecs) drop(labels prometheus.Labels) {
	for _, one := range v {
		one.DeletePartialMatch(labels)
	}
}

type histogram struct {
	*prometheus.HistogramVec
	samples  func(*openai.Trace) []time.Duration
	exemplar bool // a success leaves its request id
}

// NewSeries returns metrics whose names start with prefix, such as "accelerator_probe_", with the given labels. Latencies
// have vLLM's boundaries, finer ones, and these in seconds.
func NewSeries(prefix, requestsHelp, failuresHelp string, boundaries []float64, labels ...string) *Series {
	registry := prometheus.NewRegistry()
	s := &Series{Collector: registry, factory: promauto.With(registry), prefix: prefix, labels: labels}
	s.requests = s.Counter("requests_total", requestsHelp)
	s.failures = s.Counter("failures_total", failuresHelp, "reason")
	s.promptTokens = s.Counter("prompt_tokens_total", "Prompt tokens as counted by the server.")
	s.outputTokens = s.Counter("output_tokens_total", "Output tokens as counted by the server.")
	add := func(name, help string, buckets []float64, exemplar bool, samples func(*openai.Trace) []time.Duration) {
		v := s.factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + name, Help: help, Buckets: buckets,
			NativeHistogramBucketFactor:     1.1,
			NativeHistogramMaxBucketNumber:  160,
			NativeHistogramMinResetDuration: time.Hour,
		}, labels)
		s.states, s.latencies = append(s.states, v.MetricVec), append(s.latencies, histogram{v, samples, exemplar})
	}
	once := func(derive func(*openai.Trace) (time.Duration, bool)) func(*openai.Trace) []time.Duration {
		return func(t *openai.Trace) []time.Duration {
			if d, ok := derive(t); ok {
				return []time.Duration{d}
			}
			return nil
		}
	}
	with := func(buckets []float64) []float64 {
		all := slices.Concat(buckets, boundaries)
		slices.Sort(all)
		return slices.Compact(all)
	}
	add("time_to_first_token_seconds", "Time from sending to the first generated text.", with(ttftBuckets), true, once(openai.TTFT))
	add("time_per_output_token_seconds", "Mean time of the output tokens after the first.", with(itlBuckets), true, once(openai.TPOT))
	add("inter_token_latency_seconds", "Gaps between successive chunks that carry a token.", with(itlBuckets), false, openai.ITLs)
	add("request_duration_seconds", "Time from sending to the last generated text.", with(durationBuckets), true, once(openai.E2E))
	add("client_lag_seconds", "How late this program read what the kernel had received.", prometheus.ExponentialBuckets(10e-6, 2, 16), false,
		once(func(t *openai.Trace) (time.Duration, bool) { return t.Lag.Last, t.Lag.Reads > 0 })) // one sample of the many reads
	add("start_delay_seconds", "Time from the instant a request was due to its sending; added to a latency, that is measured from there.",
		prometheus.ExponentialBuckets(100e-6, 4, 10), false,
		once(func(t *openai.Trace) (time.Duration, bool) { return max(0, t.Started.Sub(t.Planned)), true }))
	return s
}

// Counter adds a metric to the series, with more labels.
func (s *Series) Counter(name, help string, more ...string) *prometheus.CounterVec {
	v := s.factory.NewCounterVec(prometheus.CounterOpts{Name: s.prefix + name, Help: help}, slices.Concat(s.labels, more))
	s.counters = append(s.counters, v.MetricVec)
	return v
}

// Gauge adds a metric to the series, with more labels.
func (s *Series) Gauge(name, help string, more ...string) *prometheus.GaugeVec {
	v := s.factory.NewGaugeVec(prometheus.GaugeOpts{Name: s.prefix + name, Help: help}, slices.Concat(s.labels, more))
	s.states = append(s.states, v.MetricVec)
	return v
}

// OpenCounts makes the counters of requests at 0, so that every reason is there before it first happens.
func (s *Series) OpenCounts(labels ...string) {
	s.requests.WithLabelValues(labels...)
	for _, r := range openai.Reasons() {
		s.failures.WithLabelValues(append(slices.Clone(labels), string(r))...)
	}
}

// Open makes the series of what requests show, empty.
func (s *Series) Open(labels ...string) {
	for _, v := range s.latencies {
		v.WithLabelValues(labels...)
	}
	s.promptTokens.WithLabelValues(labels...)
	s.outputTokens.WithLabelValues(labels...)
}

// Count counts one request that is over.
func (s *Series) Count(f *openai.Failure, labels ...string) {
	s.requests.WithLabelValues(labels...).Inc()
	if f != nil {
		s.failures.WithLabelValues(append(slices.Clone(labels), string(f.Reason))...).Inc()
	}
}

// Observe takes what one request showed. A success leaves its request id as an exemplar.
func (s *Series) Observe(t *openai.Trace, labels ...string) {
	if t.Usage != nil {
		s.promptTokens.WithLabelValues(labels...).Add(float64(t.Usage.PromptTokens))
		s.outputTokens.WithLabelValues(labels...).Add(float64(t.Usage.CompletionTokens))
	}
	for _, v := range s.latencies {
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
