package result

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// metrics are series of a server, by name.
func metrics(values map[string]float64) []runlog.Series {
	var all []runlog.Series
	for name, v := range values {
		all = append(all, runlog.Series{Name: name, Value: v})
	}
	return all
}

func TestServer(t *testing.T) {
	const latency = "vllm:time_to_first_token_seconds"
	scrape := func(scale float64, engines int) []runlog.Series {
		all := metrics(map[string]float64{
			latency + "_sum": 3 * scale, latency + "_count": 10 * scale,
			"vllm:gpu_cache_usage_perc":       0.25,
			"vllm:prefix_cache_queries_total": 1000 * scale, "vllm:prefix_cache_hits_total": 200 * scale,
			"vllm:gpu_prefix_cache_queries": 1000 * scale, "vllm:gpu_prefix_cache_hits": 200 * scale,
			"vllm:num_preemptions_total": scale,
		})
		for e := range engines {
			engine := map[string]string{"engine": fmt.Sprint(e)}
			all = append(all, runlog.Series{Name: "vllm:num_requests_running", Value: 4, Labels: engine},
				runlog.Series{Name: "vllm:kv_cache_usage_perc", Value: 0.25, Labels: engine})
		}
		return all
	}
	s := stepOf(t, Options{Percentiles: []float64{20, 60, 90}}, tenSeconds("a", func(l *memlog) {
		l.sample(0, 0, runlog.SourceServer, scrape(1, 1)...)
		l.sample(0, 5*time.Second, runlog.SourceServer, scrape(1.5, 2)...)
		l.sample(0, 10*time.Second, runlog.SourceServer, scrape(2, 3)...)
	}))
	want := &ServerSample{
		Running: Gauge{3, 8, 12}, CacheUsage: Gauge{3, 0.25, 0.25},
		TTFT: &Distribution{Count: 10, Mean: 0.3},
		// The old names tell the same once more.
		PrefixQueries: new(1000.0), PrefixHits: new(200.0), PrefixOurs: true, Preemptions: new(1.0),
	}
	if diff := cmp.Diff(want, s.Server, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		t.Errorf("server (-want +got):\n%s", diff)
	}
	// The usage told of no cached tokens: the server's own count holds.
	if c := s.Checks; !c.CacheKnown || c.CachedTokens != 200 || c.PromptTokens != 1000 {
		t.Errorf("cached %d of %d tokens (known: %v), want 200 of 1000", c.CachedTokens, c.PromptTokens, c.CacheKnown)
	}
}

func TestServerThatTellsLess(t *testing.T) {
	const latency = "time_to_first_token_seconds"
	for name, tt := range map[string]struct {
		first, last map[string]float64
		want        *ServerSample
	}{
		"MindIE": {
			map[string]float64{"num_requests_running": 2, "num_requests_waiting": 6, "npu_cache_usage_perc": 0.5},
			map[string]float64{"num_requests_running": 2, "num_requests_waiting": 8, "npu_cache_usage_perc": 0.5},
			&ServerSample{Running: Gauge{3, 2, 2}, Waiting: Gauge{3, 7.5, 8}, CacheUsage: Gauge{3, 0.5, 0.5}},
		},
		"started again": {
			map[string]float64{"vllm:prefix_cache_queries_total": 100, "vllm:prefix_cache_hits_total": 50, "vllm:" + latency + "_sum": 9, "vllm:" + latency + "_count": 9},
			map[string]float64{"vllm:prefix_cache_queries_total": 10, "vllm:prefix_cache_hits_total": 60, "vllm:" + latency + "_sum": 1, "vllm:" + latency + "_count": 1},
			&ServerSample{PrefixHits: new(10.0)},
		},
		"vLLM before 0.11": {
			map[string]float64{"vllm:time_per_output_token_seconds_sum": 5, "vllm:time_per_output_token_seconds_count": 7},
			map[string]float64{"vllm:time_per_output_token_seconds_sum": 5.2, "vllm:time_per_output_token_seconds_count": 27},
			&ServerSample{ITL: &Mean{20, 0.01}},
		},
		"no request": {
			map[string]float64{"vllm:" + latency + "_sum": 1, "vllm:" + latency + "_count": 1},
			map[string]float64{"vllm:" + latency + "_sum": 1, "vllm:" + latency + "_count": 1},
			&ServerSample{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := stepOf(t, Options{}, tenSeconds("a", func(l *memlog) {
				l.sample(0, 0, runlog.SourceServer, metrics(tt.first)...)
				if tt.last != nil {
					l.sample(0, 5*time.Second, runlog.SourceServer, metrics(tt.last)...)
					l.sample(0, 10*time.Second, runlog.SourceServer, metrics(tt.last)...)
				}
			}))
			if diff := cmp.Diff(tt.want, s.Server, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("server (-want +got):\n%s", diff)
			}
			if s.Checks.CacheKnown {
				t.Error("the cache's hits are said to be known")
			}
		})
	}
	if s := stepOf(t, Options{}, tenSeconds("a", func(*memlog) {})); s.Server != nil || s.Cards != nil || s.Joules != nil {
		t.Errorf("server %v, cards %v, joules %v of no sample", s.Server, s.Cards, s.Joules)
	}
}

// TestServerServedOthers holds the server's counts against the 20 requests of 50
// prompt tokens that were ours: only what is of the same requests can be compared.
func TestServerServedOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		requests, queries   float64 // -1 for a server without
		ttftOurs, cacheOurs bool
		warning             string
	}{
		"ours alone":    {20, 1000, true, true, ""},
		"one more":      {21, 1010, true, true, ""}, // the exporter's probe
		"some not seen": {17, 800, false, false, ""},
		"others too":    {25, 3000, false, false, "The server answered 5 other requests meanwhile: the load was not only ours, so run when nobody else uses the server."},
		"no TTFT":       {-1, 1010, false, true, ""},
		"no caching":    {20, 0, true, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := stepOf(t, Options{Percentiles: []float64{50}}, tenSeconds("a", func(l *memlog) {
				for i, at := range []time.Duration{-time.Second, 11 * time.Second} {
					values := map[string]float64{
						"vllm:prefix_cache_queries_total": 70 + float64(i)*tt.queries, "vllm:prefix_cache_hits_total": 7 + float64(i)*5,
					}
					if tt.requests >= 0 {
						values["vllm:time_to_first_token_seconds_sum"] = float64(i)
						values["vllm:time_to_first_token_seconds_count"] = 3 + float64(i)*tt.requests
					}
					l.sample(0, at, runlog.SourceServer, metrics(values)...)
				}
			}))
			if v := s.Server; v.TTFTOurs != tt.ttftOurs || v.PrefixOurs != tt.cacheOurs || s.Checks.CacheKnown != tt.cacheOurs {
				t.Errorf("TTFT is ours %v, prefixes are %v, cached share is known %v: want %v, %v, %v",
					v.TTFTOurs, v.PrefixOurs, s.Checks.CacheKnown, tt.ttftOurs, tt.cacheOurs, tt.cacheOurs)
			}
			if got := strings.Join(s.Warnings, "\n"); got != tt.warning {
				t.Errorf("warnings %q, want %q", got, tt.warning)
			}
		})
	}
}

// TestServersModel: a server's metrics have its first served name, so a run that asks
// for an alias has its figures too, and one on a host of several models only its own.
func TestServersModel(t *testing.T) {
	for name, tt := range map[string]struct {
		asked, path string
		served      map[string]float64 // requests that run, by model
		want        *ServerSample
	}{
		"an alias":               {"chat", "", map[string]float64{"Qwen/Qwen2.5-72B": 4}, &ServerSample{Running: Gauge{3, 4, 4}, Model: "Qwen/Qwen2.5-72B"}},
		"one of several":         {"b", "", map[string]float64{"a": 1, "b": 2, "c": 4}, &ServerSample{Running: Gauge{3, 2, 2}}},
		"several, by their path": {"x", "/models/b", map[string]float64{"a": 1, "/models/b": 2}, &ServerSample{Running: Gauge{3, 2, 2}}},
		"several others":         {"x", "", map[string]float64{"a": 1, "b": 2}, &ServerSample{}},
		"without names":          {"qwen2.5", "", map[string]float64{"": 3}, &ServerSample{Running: Gauge{3, 3, 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stepOf(t, Options{}, tenSeconds("a", func(l *memlog) {
				l.run.Model, l.run.ModelPath = tt.asked, tt.path
				for _, at := range []time.Duration{0, 5 * time.Second, 10 * time.Second} {
					var all []runlog.Series
					for model, v := range tt.served {
						all = append(all, runlog.Series{Name: "vllm:num_requests_running", Value: v, Labels: map[string]string{"model_name": model}})
					}
					l.sample(0, at, runlog.SourceServer, all...)
				}
			}))
			if diff := cmp.Diff(tt.want, s.Server); diff != "" {
				t.Errorf("server (-want +got):\n%s", diff)
			}
		})
	}
}
