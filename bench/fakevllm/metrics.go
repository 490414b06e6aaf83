package fakevllm

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// metrics are those of vLLM that the dashboards and accelbench read.
type metrics struct {
	registry *prometheus.Registry

	promptTokens, generatedTokens, cacheQueries, cacheHits prometheus.Counter
	finished                                               map[string]prometheus.Counter // by reason

	firstToken, interToken, requestPerToken, e2e, queued prometheus.Histogram
}

func newMetrics(cfg Config, load func() Load) *metrics {
	m := &metrics{registry: prometheus.NewRegistry(), finished: map[string]prometheus.Counter{}}
	reg := promauto.With(prometheus.WrapRegistererWith(prometheus.Labels{"model_name": cfg.Model, "engine": "0"}, m.registry))
	counter := func(name, help string, constant prometheus.Labels) prometheus.Counter {
		return reg.NewCounter(prometheus.CounterOpts{Name: "vllm:" + name, Help: help, ConstLabels: constant})
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return reg.NewHistogram(prometheus.HistogramOpts{Name: "vllm:" + name, Help: help, Buckets: buckets})
	}
	gauge := func(name, help string, value func(Load) float64) {
		reg.NewGaugeFunc(prometheus.GaugeOpts{Name: "vllm:" + name, Help: help}, func() float64 { return value(load()) })
	}

	gauge("num_requests_running", "Requests in the batch.", func(l Load) float64 { return float64(l.Running) })
	gauge("num_requests_waiting", "Requests waiting for a place in the batch.", func(l Load) float64 { return float64(l.Waiting) })
	gauge("kv_cache_usage_perc", "Share of the cache in use, 0 to 1.", func(l Load) float64 { return l.KVCacheUsage })

	m.promptTokens = counter("prompt_tokens_total", "Prompt tokens taken in.", nil)
	m.generatedTokens = counter("generation_tokens_total", "Tokens generated.", nil)
	m.cacheQueries = counter("prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache.", nil)
	m.cacheHits = counter("prefix_cache_hits_total", "Prompt tokens found in the prefix cache.", nil)
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "vllm:cache_config_info", Help: "The cache's configuration.",
		ConstLabels: prometheus.Labels{"engine": "0", "block_size": strconv.Itoa(cfg.BlockSize)},
	}, func() float64 { return 1 }))
	counter("num_preemptions_total", "Requests sent back to the queue for want of cache, which is not imitated.", nil)
	for _, reason := range []string{finishStop, finishLength, finishAbort} {
		m.finished[reason] = counter("request_success_total", "Requests that ended, by reason.", prometheus.Labels{"finished_reason": reason})
	}

	// vLLM's own boundaries.
	firstToken := []float64{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	interToken := []float64{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	request := []float64{0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	m.firstToken = histogram("time_to_first_token_seconds", "Time from arrival to the first token.", firstToken)
	m.interToken = histogram("inter_token_latency_seconds", "Time between tokens of a request.", interToken)
	m.requestPerToken = histogram("request_time_per_output_token_seconds", "Mean time of a token after a request's first.", interToken)
	m.e2e = histogram("e2e_request_latency_seconds", "Time from arrival to the last token.", request)
	m.queued = histogram("request_queue_time_seconds", "Time from arrival to admission.", request)
	return m
}
