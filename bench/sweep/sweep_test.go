package sweep

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/telemetry"
)

// endpoint is a stand-in server that answers fast; handler may wrap it.
func endpoint(t *testing.T, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	server, err := fakevllm.New(fakevllm.Config{Speed: 200, MeanOutputTokens: 8})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = server.Run(ctx) })
	handler := server.Handler()
	if wrap != nil {
		handler = wrap(handler)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(func() {
		cancel()
		web.CloseClientConnections()
		web.Close()
		running.Wait()
	})
	return web.URL
}

// plan is a small run of two levels against url.
func plan(t *testing.T, url string) Config {
	t.Helper()
	step := func(i, users int) runlog.Step {
		return runlog.Step{Index: i, Arrival: runlog.ArrivalClosed, Concurrency: users, Requests: 10, Timeout: 30 * time.Second}
	}
	return Config{
		Client:  openai.Config{BaseURL: url, KeepAlive: true},
		Run:     runlog.Run{URL: url, API: openai.Completions, Dataset: "random"},
		Steps:   []runlog.Step{step(0, 2), step(1, 4)},
		Dataset: dataset.Config{Kind: dataset.Random, InputLen: 40, OutputLen: 5},
		Folder:  filepath.Join(t.TempDir(), "run"),
	}
}

// kinds reads a log back as the kinds of its records, repeats of one counted once,
// and its requests.
func kinds(t *testing.T, folder string) (run runlog.Run, order []string, requests []*runlog.Request) {
	t.Helper()
	in, err := runlog.Open(filepath.Join(folder, runlog.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for r, err := in.Next(); err == nil; r, err = in.Next() {
		kind := ""
		switch {
		case r.Step != nil:
			kind = "step"
		case r.Request != nil:
			kind = "request"
			requests = append(requests, r.Request)
		case r.Sample != nil:
			continue // they come between
		case r.StepEnd != nil:
			kind = "step end"
		case r.RunEnd != nil:
			kind = "run end, " + string(r.RunEnd.Stop)
		}
		if len(order) == 0 || order[len(order)-1] != kind {
			order = append(order, kind)
		}
	}
	return in.Run(), order, requests
}

// watcher counts what it is told.
type watcher struct {
	model           string
	steps, requests int
	ended           []runlog.StepEnd
}

func (w *watcher) RunStarted(r runlog.Run)              { w.model = r.Model }
func (w *watcher) StepStarted(runlog.Step, *load.Meter) { w.steps++ }
func (w *watcher) RequestDone(*runlog.Request)          { w.requests++ }
func (w *watcher) StepEnded(e runlog.StepEnd)           { w.ended = append(w.ended, e) }

func TestRun(t *testing.T) {
	cfg := plan(t, endpoint(t, nil))
	var w watcher
	result, err := Run(t.Context(), cfg, &w)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Result{Folder: cfg.Folder, Stop: runlog.StopRequests, Attempted: 20, Succeeded: 20}, result); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	run, order, requests := kinds(t, cfg.Folder)
	want := []string{"step", "request", "step end", "step", "request", "step end", "run end, requests"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if run.Model != "qwen2.5" || run.Host == "" || run.ID == "" || w.model != "qwen2.5" {
		t.Errorf("run: %+v", run)
	}
	if len(requests) != 20 || w.steps != 2 || w.requests != 20 || len(w.ended) != 2 {
		t.Errorf("%d requests in the log; the watcher saw %+v", len(requests), w)
	}
	for _, r := range requests {
		if u := r.Trace.Usage; u == nil || u.PromptTokens != 40 || r.ExpectedTokens != 40 {
			t.Errorf("request %d of step %d: usage %+v, %d tokens expected", r.Seq, r.Step, u, r.ExpectedTokens)
		}
	}
}

// What can be known to go wrong is told before a folder is made.
func TestRefusedBeforehand(t *testing.T) {
	url := endpoint(t, nil)
	for name, tc := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"no server":         {func(c *Config) { c.Client.BaseURL = "http://127.0.0.1:1" }, "connection refused"},
		"wrong model":       {func(c *Config) { c.Run.Model = "other" }, `does not serve the model "other"; it serves "qwen2.5"`},
		"no data set":       {func(c *Config) { c.Dataset = dataset.Config{Kind: dataset.OpenQA, Path: "missing.jsonl"} }, "missing.jsonl"},
		"no exporter":       {func(c *Config) { c.Metrics.Exporter = "http://127.0.0.1:1/metrics" }, "--exporter: "},
		"no server metrics": {func(c *Config) { c.Metrics.Server = url + "/nothing" }, "--server-metrics: "},
	} {
		cfg := plan(t, url)
		tc.change(&cfg)
		_, err := Run(t.Context(), cfg)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(cfg.Folder); err == nil {
			t.Errorf("%s: a folder was made", name)
		}
	}
}

// A list of models that cannot be had is no reason to stop where a model is named.
func TestNoListOfModels(t *testing.T) {
	url := endpoint(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/models" {
				http.Error(w, "not here", http.StatusNotFound)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	cfg := plan(t, url)
	if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "as none was named: http_4xx") {
		t.Errorf("without a model: %v", err)
	}
	cfg.Run.Model = "qwen2.5"
	result, err := Run(t.Context(), cfg)
	if err != nil || result.Succeeded != 20 || len(result.Notes) != 1 || !strings.Contains(result.Notes[0], "could not be had") {
		t.Errorf("with a model: %+v %v", result, err)
	}
}

// A failure limit ends the whole sweep: more users would fail more.
func TestFailureLimitEndsTheSweep(t *testing.T) {
	cfg := plan(t, endpoint(t, nil)+"/fault/http_500")
	cfg.Run.Model = "qwen2.5"
	for i := range cfg.Steps {
		cfg.Steps[i].MaxFailureRatio = 0.5
	}
	result, err := Run(t.Context(), cfg)
	if err != nil || result.Stop != runlog.StopFailureRatio || result.Succeeded != 0 {
		t.Errorf("%+v %v", result, err)
	}
	_, order, _ := kinds(t, cfg.Folder)
	want := []string{"step", "request", "step end", "run end, failure_ratio"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// The end of ctx withdraws what is in flight, and the log is closed in order.
func TestInterrupt(t *testing.T) {
	cfg := plan(t, endpoint(t, nil)+"/fault/hang")
	cfg.Run.Model = "qwen2.5"
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // once both users wait
		for {
			text, err := os.ReadFile(filepath.Join(cfg.Folder, runlog.FileName))
			if err == nil && strings.Contains(string(text), `"step"`) {
				cancel()
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	result, err := Run(ctx, cfg)
	if err != nil || result.Stop != runlog.StopInterrupted || result.Succeeded != 0 {
		t.Errorf("%+v %v", result, err)
	}
	_, order, _ := kinds(t, cfg.Folder)
	if last := order[len(order)-1]; last != "run end, interrupted" {
		t.Errorf("log: %v", order)
	}
}

// Samples of every source are in the log, and a source that stops to answer is
// told.
func TestSamples(t *testing.T) {
	var mu sync.Mutex
	scrapes := 0
	url := endpoint(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/metrics" {
				mu.Lock()
				defer mu.Unlock()
				if scrapes++; scrapes > 2 {
					http.Error(w, "no more", http.StatusInternalServerError)
					return
				}
			}
			h.ServeHTTP(w, r)
		})
	})
	cfg := plan(t, url)
	result, err := Run(t.Context(), cfg)
	if err != nil || len(result.Notes) != 1 || !strings.Contains(result.Notes[0], "the server's metrics could not be sampled") {
		t.Errorf("%+v %v", result, err)
	}
	in, err := runlog.Open(filepath.Join(cfg.Folder, runlog.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	got := map[runlog.Source]bool{}
	for r, err := in.Next(); err == nil; r, err = in.Next() {
		if r.Sample != nil {
			got[r.Sample.Source] = true
		}
	}
	if diff := cmp.Diff(map[runlog.Source]bool{runlog.SourceClient: true, runlog.SourceServer: true}, got); diff != "" {
		t.Errorf("sources (-want +got):\n%s", diff)
	}
}

// Somebody who names no model finds in the folder's name which one it was.
func TestFolderIsNamedByTheModel(t *testing.T) {
	cfg := plan(t, endpoint(t, nil))
	cfg.Steps = cfg.Steps[:1]
	cfg.FolderSuffix = func(model string) string { return "-" + model }
	var w watcher
	result, err := Run(t.Context(), cfg, &w)
	if want := cfg.Folder + "-" + w.model; err != nil || w.model == "" || result.Folder != want {
		t.Errorf("folder %q, want %q (%v)", result.Folder, want, err)
	}
}

// Two runs may begin in one second, and machines with seeds of their own do not
// send at the same instants.
func TestRunsKeepApart(t *testing.T) {
	cfg := plan(t, endpoint(t, nil))
	cfg.Steps = []runlog.Step{{Arrival: runlog.ArrivalPoisson, Rate: 2000, Burstiness: 1, Requests: 20}}
	gaps := map[uint64][]time.Duration{}
	for _, seed := range []uint64{0, 1, 0} {
		cfg.Run.Seed = seed
		result, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, _, requests := kinds(t, result.Folder)
		var of []time.Duration
		slices.SortFunc(requests, func(a, b *runlog.Request) int { return a.Seq - b.Seq })
		for _, r := range requests[1:] {
			of = append(of, r.Trace.Planned.Sub(requests[0].Trace.Planned))
		}
		if before, ok := gaps[seed]; ok && !slices.Equal(before, of) {
			t.Errorf("the same seed gave other gaps: %v and %v", before, of)
		}
		gaps[seed] = of
	}
	if slices.Equal(gaps[0], gaps[1]) {
		t.Error("two seeds have the same gaps")
	}
	if found, _ := filepath.Glob(cfg.Folder + "*"); len(found) != 3 {
		t.Errorf("folders: %v", found)
	}
}

// The server's counters are compared with the requests: the first sample of a step
// is from before its first request, the last from after its last.
func TestSamplesCoverTheStep(t *testing.T) {
	cfg := plan(t, endpoint(t, nil))
	if _, err := Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	in, err := runlog.Open(filepath.Join(cfg.Folder, runlog.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	counts := map[int][]float64{}
	for r, err := in.Next(); err == nil; r, err = in.Next() {
		if r.Sample == nil || r.Sample.Source != runlog.SourceServer {
			continue
		}
		for _, s := range r.Sample.Series {
			if s.Name == "vllm:time_to_first_token_seconds_count" {
				counts[r.Sample.Step] = append(counts[r.Sample.Step], s.Value)
			}
		}
	}
	for step, seen := range counts {
		if first, last := seen[0], seen[len(seen)-1]; first != float64(10*step) || last != first+10 {
			t.Errorf("step %d of 10 requests: the server's count went from %g to %g", step, first, last)
		}
	}
	if len(counts) != 2 {
		t.Errorf("the server's count is known of %d steps, want 2", len(counts))
	}
}

// A source that hangs costs its own sample, not the load's start.
func TestLookPassesOverASourceThatHangs(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer web.Close()
	hung, err := telemetry.New(telemetry.Config{URL: web.URL, Source: runlog.SourceServer})
	if err != nil {
		t.Fatal(err)
	}
	r := &run{samplers: []*sampler{{Sampler: hung}, {Sampler: telemetry.Self(0)}}}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	first := r.sampleOnce(ctx, 3)
	if len(first) != 1 || first[0].Sample.Source != runlog.SourceClient || first[0].Sample.Step != 3 || r.samplers[0].failed != 1 {
		t.Errorf("%d samples, %d failures of the source that hangs, want 1 and 1: %+v", len(first), r.samplers[0].failed, first)
	}
}

// A thousand long prompts held ready would fill the memory.
func TestReadAhead(t *testing.T) {
	for name, tc := range map[string]struct {
		prompt dataset.Prompt
		want   int
	}{
		"a question":     {dataset.Prompt{Text: "Where do trains sleep?"}, 0},
		"128k token ids": {dataset.Prompt{Tokens: make([]int32, 128<<10)}, 128},
		"a conversation": {dataset.Prompt{Messages: []openai.Message{{Content: strings.Repeat("x", 1<<20)}, {Content: strings.Repeat("x", 1<<20)}}}, 32},
		"a book":         {dataset.Prompt{Text: strings.Repeat("x", 32<<20)}, 16},
	} {
		if got := readAheadOf(&tc.prompt); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}
