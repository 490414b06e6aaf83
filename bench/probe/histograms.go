package probe

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

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

// NewHistograms returns histograms whose names start with prefix, such as
// "accelerator_probe_", with the given labels.
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
				series.(prometheus.ExemplarObserver).ObserveWithExemplar(d.Seconds(), prometheus.Labels{"request_id": t.RequestID})
			} else {
				series.Observe(d.Seconds())
			}
		}
	}
}
