package result

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// tenSeconds is a step of two users from noon to 10 s after it, with 20 answers
// of 1,000 prompt tokens in all, whose log also holds what sample adds.
func tenSeconds(t *testing.T, host string, sample func(*memlog)) *memlog {
	t.Helper()
	step := closed(2, 20)
	requests := slices.Concat(everySecond(10, time.Second), everySecond(10, time.Second))
	for i := range requests {
		requests[i].Trace.Usage.PromptTokens = 50
	}
	log := newMemlog(host)
	log.begin(step, requests)
	sample(log)
	log.end(step, requests, runlog.StopRequests)
	return log.over()
}

// of is a series of a card.
func of(device, name string, value float64, labels ...string) runlog.Series {
	s := runlog.Series{Name: "accelerator_" + name, Value: value, Labels: map[string]string{"vendor": "metax", "device": device}}
	for i := 0; i < len(labels); i += 2 {
		s.Labels[labels[i]] = labels[i+1]
	}
	return s
}

func TestCards(t *testing.T) {
	log := tenSeconds(t, "a", func(l *memlog) {
		for _, s := range []struct {
			at, watts float64
		}{{-2, 100}, {2, 100}, {6, 300}, {8, 300}} {
			l.sample(0, time.Duration(s.at*1e9), runlog.SourceExporter,
				of("10", "info", 1, "name", "MXC500"), of("10", "power_watts", s.watts), of("10", "numa_node", 1),
				of("10", "utilization_ratio", 0.5), of("10", "temperature_celsius", 40, "sensor", "chip"),
				of("10", "temperature_celsius", 90, "sensor", "hotspot"),
				of("10", "memory_used_bytes", 10, "type", "hbm"), of("10", "memory_used_bytes", 5, "type", "ddr"),
				of("10", "memory_total_bytes", 40, "type", "hbm"),
				of("2", "power_watts", 50), of("10", "probe_target_device_info", 1, "target", "chat"),
				runlog.Series{Name: "accelerator_devices", Value: 2, Labels: map[string]string{"vendor": "metax"}})
		}
	})
	// From noon to 2 s 100 W, to 6 s 200 W on the mean, to 10 s 300 W: 2,200 J.
	want := []Card{
		{Vendor: "metax", Device: "2", Watts: Gauge{4, 50, 50}},
		{
			Vendor: "metax", Device: "10", Name: "MXC500", Serves: true, NUMANode: new(1),
			Utilization: Gauge{4, 0.5, 0.5}, Watts: Gauge{4, 220, 300}, Celsius: Gauge{4, 40, 40},
			MemoryUsed: Gauge{4, 15, 15}, MemoryTotal: Gauge{4, 40, 40},
		},
	}
	// Another machine looked at the same cards: they are not twice as many.
	other := tenSeconds(t, "b", func(l *memlog) {
		l.sample(0, 3*time.Second, runlog.SourceExporter, of("2", "power_watts", 70))
	})
	for _, logs := range [][]*memlog{{log}, {log, other}} {
		s := stepOf(t, Options{}, logs...)
		if diff := cmp.Diff(want, s.Cards, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("cards (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(new(2200.0), s.Joules, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("joules (-want +got):\n%s", diff)
		}
	}
}

// TestJoules are those of all cards where none is known to serve the endpoint, and
// none where they are not known of every card or only of a small part of the step.
func TestJoules(t *testing.T) {
	at := func(seconds int, series ...runlog.Series) func(*memlog) {
		return func(l *memlog) { l.sample(0, time.Duration(seconds)*time.Second, runlog.SourceExporter, series...) }
	}
	a, b := of("0", "power_watts", 100), of("1", "power_watts", 200)
	for name, tt := range map[string]struct {
		samples []func(*memlog)
		want    *float64
	}{
		"all cards":           {[]func(*memlog){at(1, a, b), at(9, a, b)}, new(3000.0)},
		"no sample":           {nil, nil},
		"one sample":          {[]func(*memlog){at(5, a, b)}, nil},
		"one card has two":    {[]func(*memlog){at(1, a, b), at(9, a)}, nil},
		"no watts":            {[]func(*memlog){at(1, of("0", "info", 1)), at(9, of("0", "info", 1))}, nil},
		"one came late":       {[]func(*memlog){at(1, a, b), at(9, a, b), at(5, a, b)}, new(3000.0)},
		"died in the middle":  {[]func(*memlog){at(1, a), at(4, a)}, nil},
		"no number":           {[]func(*memlog){at(1, of("0", "power_watts", math.NaN())), at(9, a)}, nil},
		"serves, not sampled": {[]func(*memlog){at(1, a, b), at(9, a, b, of("7", "probe_target_device_info", 1))}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := stepOf(t, Options{}, tenSeconds(t, "a", func(l *memlog) {
				for _, sample := range tt.samples {
					sample(l)
				}
			}))
			if diff := cmp.Diff(tt.want, s.Joules, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
				t.Errorf("joules (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClientCPU(t *testing.T) {
	cpu := func(from, to float64) func(*memlog) {
		return func(l *memlog) {
			l.sample(0, 0, runlog.SourceClient, runlog.Series{Name: "process_cpu_seconds_total", Value: from})
			l.sample(0, 10*time.Second, runlog.SourceClient, runlog.Series{Name: "process_cpu_seconds_total", Value: to})
		}
	}
	s := stepOf(t, Options{}, tenSeconds(t, "calm", cpu(100, 105)), tenSeconds(t, "busy", cpu(0, 35)))
	if s.Checks.ClientCPU != 4 {
		t.Errorf("%v cores, want 0.5 and 3.5", s.Checks.ClientCPU)
	}
	all := strings.Join(s.Warnings, "\n")
	if !strings.Contains(all, "The load generator was the limit: it used 3.50 of the 4 cores of busy") || strings.Contains(all, "calm") {
		t.Errorf("warnings %q", s.Warnings)
	}
}

func TestChecks(t *testing.T) {
	requests := everySecond(20, time.Second)
	for i := range requests {
		r := &requests[i].Trace
		r.Lags = []time.Duration{time.Duration(i) * time.Microsecond}
		switch {
		case i < 2:
			r.Reused, r.Phases = false, openai.Phases{Resolve: 1e6, Connect: 2e6, TLS: 3e6, Send: 4e6}
		case i < 4:
			r.Usage, r.TokenSource, r.Clock = nil, openai.TokensChunks, openai.ClockUser
		case i < 9:
			r.Usage = &openai.Usage{PromptTokens: 100, CompletionTokens: 2, CachedTokens: new(64)}
		}
	}
	requests[3].ExpectedTokens = 77
	requests = append(requests, failed(0, time.Second, openai.ReasonHTTP5xx))
	s := stepOf(t, Options{Percentiles: []float64{50}}, newMemlog("a").step(closed(1, 20), requests, false).over())
	want := Checks{
		Configured: 1, Achieved: 20.0 / 19, AchievedWhole: 21.0 / 20, AchievedRate: 20.0 / 19, KernelClock: 0.9, NewConnections: 2,
		ClientLag: Distribution{
			Count: 20, Mean: 9.5e-6, Std: math.Sqrt(33.25) * 1e-6, Max: 19e-6, Percentiles: []Percentile{{50, 9.507e-6}},
		},
		TokensBy:     map[openai.TokenSource]int{openai.TokensUsage: 18, openai.TokensChunks: 2},
		Prompts:      Prompts{Exact: 1},
		Tokens:       Tokens{Counted: 36, Chunks: 36, Answers: 18},
		PromptTokens: 513, CachedTokens: 320, CacheKnown: true, CacheTold: 5, Answered: 18,
	}
	if diff := cmp.Diff(want, s.Checks, cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	if d := s.Whole.Of(Setup); d.Count != 2 || d.Mean != 0.006 {
		t.Errorf("setup %+v, want 2 of 6 ms", d)
	}
	if d := s.Whole.Of(PromptLength); d.Count != 19 || d.Min != 1 || d.Max != 100 {
		t.Errorf("prompt lengths %+v, want 19: one was told by nobody", d)
	}
}

// TestRateBehindARamp has requests at 5 a second for 10 s, then at 20 a second for
// 10 s: the rate to hold against 20 is the latter.
func TestRateBehindARamp(t *testing.T) {
	var requests []runlog.Request
	for i := range 50 {
		requests = append(requests, answered(time.Duration(i)*200*time.Millisecond, 10, 3, 50*time.Millisecond, 100*time.Millisecond))
	}
	for i := range 200 {
		requests = append(requests, answered(10*time.Second+time.Duration(i)*50*time.Millisecond, 10, 3, 50*time.Millisecond, 100*time.Millisecond))
	}
	step := runlog.Step{Started: noon, Arrival: runlog.ArrivalConstant, Rate: 20, RampUp: 10 * time.Second}
	s := stepOf(t, Options{}, newMemlog("a").step(step, requests, false).over())
	if c := s.Checks; c.AchievedRate != 20 || len(s.Warnings) > 0 {
		t.Errorf("%v requests a second were achieved, want 20; warnings %q", c.AchievedRate, s.Warnings)
	}
	// What is late once the ramp is over is not hidden by the ramp's lower rate.
	for i := range 200 {
		r := &requests[50+i].Trace
		r.Started = r.Planned.Add(time.Duration(i) * 10 * time.Millisecond)
	}
	s = stepOf(t, Options{}, newMemlog("a").step(step, requests, false).over())
	if all := strings.Join(s.Warnings, "\n"); !strings.Contains(all, "16.67 requests a second were sent of 20.00") {
		t.Errorf("warnings %q", s.Warnings)
	}
}
