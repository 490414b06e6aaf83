package main

import (
	"context"
	"math"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// TestSteadyRatesAreTheReports: a dashboard that divides the steady counters shows
// the rates of the report of the same run, where those of the whole step are lower
// by its drain.
func TestSteadyRatesAreTheReports(t *testing.T) {
	server, err := fakevllm.New(fakevllm.Config{Speed: 20, MeanOutputTokens: 100})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { server.Run(ctx) })
	web := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		cancel()
		web.Close()
		serving.Wait()
	})

	step := runlog.Step{Timeout: 30 * time.Second, Requests: 40}
	closed, open := step, step
	closed.Arrival, closed.Concurrency = runlog.ArrivalClosed, 8
	open.Index, open.Arrival, open.Rate = 1, runlog.ArrivalConstant, 40
	metrics := newRunMetrics()
	ended, err := load.Run(t.Context(), load.Config{
		Client:  openai.Config{BaseURL: web.URL, KeepAlive: true},
		Run:     runlog.Run{URL: web.URL, API: openai.Completions, Dataset: "random"},
		Steps:   []runlog.Step{closed, open},
		Dataset: dataset.Config{Kind: dataset.Random, InputLen: 40, OutputLen: 400},
		Folder:  filepath.Join(t.TempDir(), "run"),
	}, metrics)
	if err != nil {
		t.Fatal(err)
	}
	r, err := result.Read(result.Options{}, ended.Folder)
	if err != nil {
		t.Fatal(err)
	}
	values := gathered(t, metrics)
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Steady == nil {
			t.Fatalf("step %s: %s", s.Name, s.NotSteady)
		}
		seconds := values["accelerator_bench_steady_seconds_total"][s.Name]
		for name, want := range map[string]float64{
			"accelerator_bench_steady_requests_total":      s.Steady.RequestThroughput,
			"accelerator_bench_steady_output_tokens_total": s.Steady.OutputThroughput,
		} {
			if got := values[name][s.Name] / seconds; math.Abs(got-want) > 0.02*want {
				t.Errorf("step %s: %s is %.2f a second, the report has %.2f", s.Name, name, got, want)
			}
		}
		if s.Level() > 0 && s.Whole.RequestThroughput >= s.Steady.RequestThroughput {
			t.Errorf("step %s: no drain to leave out: %.2f req/s in all, %.2f steady", s.Name, s.Whole.RequestThroughput, s.Steady.RequestThroughput)
		}
	}
	if left := values["accelerator_bench_phase"]; len(left) > 0 {
		t.Errorf("phases after the run: %v", left)
	}
}

// gathered are the values of counters and gauges by metric and step.
func gathered(t *testing.T, c prometheus.Collector) map[string]map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]map[string]float64{}
	for _, f := range families {
		values[f.GetName()] = map[string]float64{}
		for _, m := range f.GetMetric() {
			step := ""
			for _, l := range m.GetLabel() {
				if l.GetName() == "step" {
					step = l.GetValue()
				}
			}
			values[f.GetName()][step] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return values
}
