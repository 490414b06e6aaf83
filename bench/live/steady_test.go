package live_test

import (
	"context"
	"math"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/bench/live"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// TestSteadyRatesAreTheReports: a dashboard that divides the steady counters shows
// the rates of the report of the same run, where those of the whole step are lower
// by its drain.
func TestSteadyRatesAreTheReports(t *testing.T) {
	server, err := fakevllm.New(fakevllm.Config{Speed: 20, MeanOutputTokens: 100, OutputSpread: 0.6})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Run(ctx) })
	web := httptest.NewServer(server.Handler())
	t.Cleanup(func() {
		cancel()
		web.Close()
		serving.Wait()
	})

	step := runlog.Step{Timeout: 30 * time.Second, Requests: 40, MaxTokens: 400}
	closed, open := step, step
	closed.Arrival, closed.Concurrency = runlog.ArrivalClosed, 8
	open.Index, open.Arrival, open.Rate = 1, runlog.ArrivalConstant, 40
	metrics := live.NewMetrics()
	phases := &phaseWatch{metrics: metrics, seen: map[string]map[string]bool{}}
	ended, err := load.Run(t.Context(), load.Config{
		Client:  openai.Config{BaseURL: web.URL, KeepAlive: true},
		Run:     runlog.Run{URL: web.URL, API: openai.Completions, Dataset: "random"},
		Steps:   []runlog.Step{closed, open},
		Dataset: dataset.Config{Kind: dataset.Random, InputLen: 40, OutputLen: 400},
		Folder:  filepath.Join(t.TempDir(), "run"),
	}, metrics, phases)
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
		for _, phase := range []string{"ramp", "steady", "drain"} {
			if !phases.seen[s.Name][phase] {
				t.Errorf("step %s was never seen in %s", s.Name, phase)
			}
		}
	}
	if left := values["accelerator_bench_phase"]; len(left) > 0 {
		t.Errorf("phases after the run: %v", left)
	}
}

// phaseWatch notes the phases that a scrape at the end of each request would show.
type phaseWatch struct {
	metrics *live.Metrics
	seen    map[string]map[string]bool // by step
}

func (w *phaseWatch) look() {
	ch := make(chan prometheus.Metric, 1<<12)
	w.metrics.Collect(ch)
	close(ch)
	for m := range ch {
		var out dto.Metric
		if m.Write(&out) != nil || out.GetGauge().GetValue() != 1 {
			continue
		}
		labels := labelsOf(&out)
		if labels["phase"] == "" {
			continue
		}
		if w.seen[labels["step"]] == nil {
			w.seen[labels["step"]] = map[string]bool{}
		}
		w.seen[labels["step"]][labels["phase"]] = true
	}
}

func (w *phaseWatch) RunStarted(runlog.Run)                {}
func (w *phaseWatch) StepStarted(runlog.Step, *load.Meter) { w.look() }
func (w *phaseWatch) RequestDone(*runlog.Request)          { w.look() }
func (w *phaseWatch) StepEnded(runlog.StepEnd)             {}

func labelsOf(m *dto.Metric) map[string]string {
	labels := map[string]string{}
	for _, l := range m.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
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
			values[f.GetName()][labelsOf(m)["step"]] += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return values
}
