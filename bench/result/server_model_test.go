package result

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// TestServersModel: a server's metrics have its first served name, so a run that asks
// for an alias has its figures too, and one on a host of several models only its own.
func TestServersModel(t *testing.T) {
	running := func(values map[string]float64) (all []runlog.Series) {
		for name, v := range values {
			s := runlog.Series{Name: "vllm:num_requests_running", Value: v}
			if name != "" {
				s.Labels = map[string]string{"model_name": name, "engine": "0"}
			}
			all = append(all, s)
		}
		return all
	}
	for name, tt := range map[string]struct {
		asked, path string
		told        map[string]float64
		want        *ServerSample
	}{
		"as asked": {"qwen2.5", "", map[string]float64{"qwen2.5": 4}, &ServerSample{Running: Gauge{3, 4, 4}}},
		"an alias": {
			"chat", "",
			map[string]float64{"Qwen/Qwen2.5-72B": 4},
			&ServerSample{Running: Gauge{3, 4, 4}, Model: "Qwen/Qwen2.5-72B"},
		},
		"one of several":         {"b", "", map[string]float64{"a": 1, "b": 2, "c": 4}, &ServerSample{Running: Gauge{3, 2, 2}}},
		"several, by their path": {"x", "/models/b", map[string]float64{"a": 1, "/models/b": 2}, &ServerSample{Running: Gauge{3, 2, 2}}},
		"several others": {
			"x", "",
			map[string]float64{"a": 1, "b": 2},
			&ServerSample{Models: []string{"a", "b"}},
		},
		"without names": {"qwen2.5", "", map[string]float64{"": 3}, &ServerSample{Running: Gauge{3, 3, 3}}},
		"asked for any": {"", "", map[string]float64{"a": 1, "b": 2}, &ServerSample{Running: Gauge{3, 3, 3}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := stepOf(t, Options{}, tenSeconds(t, "a", func(l *memlog) {
				l.run.Model, l.run.ModelPath = tt.asked, tt.path
				for _, at := range []time.Duration{0, 5 * time.Second, 10 * time.Second} {
					l.sample(0, at, runlog.SourceServer, running(tt.told)...)
				}
			}))
			if diff := cmp.Diff(tt.want, s.Server); diff != "" {
				t.Errorf("server (-want +got):\n%s", diff)
			}
		})
	}
}

// TestServersMeans reads vLLM's names of today and the older ones.
func TestServersMeans(t *testing.T) {
	grown := func(names ...string) (first, last map[string]float64) {
		first, last = map[string]float64{}, map[string]float64{}
		for i, name := range names {
			first["vllm:"+name+"_sum"], first["vllm:"+name+"_count"] = 5, 7
			last["vllm:"+name+"_sum"], last["vllm:"+name+"_count"] = 5+0.2*float64(i+1), 27
		}
		return first, last
	}
	for name, tt := range map[string]struct {
		names []string
		want  ServerSample
	}{
		"0.32": {
			[]string{"request_time_per_output_token_seconds", "inter_token_latency_seconds", "request_queue_time_seconds"},
			ServerSample{TPOT: &Mean{20, 0.01}, ITL: &Mean{20, 0.02}, Queue: &Mean{20, 0.03}},
		},
		"before 0.11": {[]string{"time_per_output_token_seconds"}, ServerSample{ITL: &Mean{20, 0.01}}},
		"both, as hidden metrics are shown": {
			[]string{"inter_token_latency_seconds", "time_per_output_token_seconds"}, ServerSample{ITL: &Mean{20, 0.01}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			first, last := grown(tt.names...)
			s := stepOf(t, Options{}, tenSeconds(t, "a", func(l *memlog) {
				l.sample(0, 0, runlog.SourceServer, metrics(first)...)
				l.sample(0, 10*time.Second, runlog.SourceServer, metrics(last)...)
			}))
			if diff := cmp.Diff(&tt.want, s.Server, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("server (-want +got):\n%s", diff)
			}
		})
	}
}
