package main

import (
	"math"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

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
	url := serve(t, httptest.NewServer, fakevllm.Config{Speed: 20, MeanOutputTokens: 100})
	step := runlog.Step{Timeout: 30 * time.Second, Requests: 40}
	closed, open := step, step
	closed.Arrival, closed.Concurrency = runlog.ArrivalClosed, 8
	open.Index, open.Arrival, open.Rate = 1, runlog.ArrivalConstant, 40
	metrics := newRunMetrics()
	ended, err := load.Run(t.Context(), load.Config{
		Client:  openai.Config{BaseURL: url, KeepAlive: true},
		Run:     runlog.Run{URL: url, API: openai.Completions, Dataset: "random"},
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
	total := func(c *prometheus.CounterVec, step string) float64 {
		return testutil.ToFloat64(c.WithLabelValues(metrics.target, metrics.model, step))
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Steady == nil {
			t.Fatalf("step %s: %s", s.Name, s.NotSteady)
		}
		seconds := total(metrics.steadySeconds, s.Name)
		for counter, want := range map[*prometheus.CounterVec]float64{
			metrics.steadyRequests: s.Steady.RequestThroughput,
			metrics.steadyTokens:   s.Steady.OutputThroughput,
		} {
			if got := total(counter, s.Name) / seconds; math.Abs(got-want) > 0.02*want {
				t.Errorf("step %s: %.2f a second, the report has %.2f", s.Name, got, want)
			}
		}
		if s.Level() > 0 && s.Whole.RequestThroughput >= s.Steady.RequestThroughput {
			t.Errorf("step %s: no drain to leave out: %.2f req/s in all, %.2f steady", s.Name, s.Whole.RequestThroughput, s.Steady.RequestThroughput)
		}
	}
	if left := testutil.CollectAndCount(metrics, "accelerator_bench_phase"); left > 0 {
		t.Errorf("%d phases after the run", left)
	}
}
