package result

import (
	"fmt"
	"testing"
	"time"

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
			latency + "_sum": 6 * scale, latency + "_count": 20 * scale,
			"vllm:gpu_cache_usage_perc":       0.25,
			"vllm:prefix_cache_queries_total": 1000 * scale, "vllm:prefix_cache_hits_total": 200 * scale,
			"vllm:spec_decode_num_drafts_total": 40 * scale, "vllm:spec_decode_num_draft_tokens_total": 120 * scale, "vllm:spec_decode_num_accepted_tokens_total": 90 * scale,
			"vllm:gpu_prefix_cache_queries": 1000 * scale, "vllm:gpu_prefix_cache_hits": 200 * scale,
		})
		for e := range engines {
			engine := map[string]string{"engine": fmt.Sprint(e)}
			all = append(all, runlog.Series{Name: "vllm:num_requests_running", Value: 4, Labels: engine},
				runlog.Series{Name: "vllm:kv_cache_usage_perc", Value: 0.25, Labels: engine})
		}
		return all
	}
	s := stepOf(t, Options{}, tenSeconds("a", func(l *memlog) {
		l.sample(0, 0, runlog.SourceServer, scrape(1, 1)...)
		l.sample(0, 5*time.Second, runlog.SourceServer, scrape(1.5, 2)...)
		l.sample(0, 10*time.Second, runlog.SourceServer, scrape(2, 3)...)
	}))
	want := &ServerSample{
		Running: Gauge{3, 8, 12}, CacheUsage: Gauge{3, 0.25, 0.25},
		TTFT: &Distribution{Count: 20, Mean: 0.3}, TTFTOurs: true,
		// The old names tell the same once more.
		PrefixQueries: 1000, PrefixHits: 200,
		Speculation: &Speculation{Drafts: 40, DraftTokens: 120, AcceptedTokens: 90, Acceptance: 0.75, AcceptedLength: 3.25},
	}
	equal(t, "server", want, s.Server, figuresOnly)
	// The usage told of no cached tokens: the server's own count holds.
	wantCache := &Cache{BlockSize: 16, BlockAssumed: true, Server: &Hits{200, 1000, 0.2}}
	equal(t, "cache", wantCache, s.Cache)
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
			&ServerSample{Running: Gauge{3, 2, 2}, Waiting: Gauge{3, 7.5, 8}, CacheUsage: Gauge{3, 0.5, 0.5}, PrefixQueries: Unknown(), PrefixHits: Unknown()},
		},
		"started again": {
			map[string]float64{"vllm:prefix_cache_queries_total": 100, "vllm:prefix_cache_hits_total": 50, "vllm:" + latency + "_sum": 9, "vllm:" + latency + "_count": 9},
			map[string]float64{"vllm:prefix_cache_queries_total": 10, "vllm:prefix_cache_hits_total": 60, "vllm:" + latency + "_sum": 1, "vllm:" + latency + "_count": 1},
			&ServerSample{PrefixQueries: Unknown(), PrefixHits: 10},
		},
		"no request": {
			map[string]float64{"vllm:" + latency + "_sum": 1, "vllm:" + latency + "_count": 1},
			map[string]float64{"vllm:" + latency + "_sum": 1, "vllm:" + latency + "_count": 1},
			&ServerSample{PrefixQueries: Unknown(), PrefixHits: Unknown()},
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
			equal(t, "server", tt.want, s.Server, figuresOnly)
			if s.Cache != nil {
				t.Error("the cache's hits are said to be known")
			}
		})
	}
	if s := stepOf(t, Options{}, tenSeconds("a", func(*memlog) {})); s.Server != nil || s.Cards != nil || s.Joules.Known() {
		t.Errorf("server %v, cards %v, joules %v of no sample", s.Server, s.Cards, s.Joules)
	}
}

// TestServerServedOthers holds the server's count against the 20 requests that were ours:
// only what is of the same requests can be compared.
func TestServerServedOthers(t *testing.T) {
	for requests, ours := range map[float64]bool{20: true, 21: true, 17: false, 25: false} { // one more is the exporter's probe
		s := stepOf(t, Options{}, tenSeconds("a", func(l *memlog) {
			for i, at := range []time.Duration{-time.Second, 11 * time.Second} {
				l.sample(0, at, runlog.SourceServer, metrics(map[string]float64{
					"vllm:time_to_first_token_seconds_sum": float64(i), "vllm:time_to_first_token_seconds_count": 3 + float64(i)*requests,
					"vllm:prefix_cache_queries_total": 70 + float64(i)*1000, "vllm:prefix_cache_hits_total": 7 + float64(i)*5,
				})...)
			}
		}))
		if s.Server.TTFTOurs != ours || (s.Cache != nil) != ours {
			t.Errorf("%v requests: TTFT is ours %v, cache %v: want it %v", requests, s.Server.TTFTOurs, s.Cache, ours)
		}
	}
}

// TestServersModel: a run on a host of several models has the figures of its own, and one
// that asks for another name has those of all.
func TestServersModel(t *testing.T) {
	for asked, want := range map[string]float64{"b": 2, "chat": 7} {
		s := stepOf(t, Options{}, tenSeconds("a", func(l *memlog) {
			l.run.Model = asked
			for _, at := range []time.Duration{0, 5 * time.Second, 10 * time.Second} {
				var all []runlog.Series
				for model, v := range map[string]float64{"a": 1, "b": 2, "c": 4} {
					all = append(all, runlog.Series{Name: "vllm:num_requests_running", Value: v, Labels: map[string]string{"model_name": model}})
				}
				l.sample(0, at, runlog.SourceServer, all...)
			}
		}))
		if got := s.Server.Running.Max; got != want {
			t.Errorf("asked for %s: %v run, want %v", asked, got, want)
		}
	}
}
