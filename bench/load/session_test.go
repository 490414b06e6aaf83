package load

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// endpoint is a stand-in server that answers fast; handler may wrap it.
func endpoint(t *testing.T, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	return serveModel(t, fakevllm.Config{Speed: 200, MeanOutputTokens: 8}, wrap)
}

// watching shows each request and its body to see, one at a time, which may answer it itself.
func watching(see func(w http.ResponseWriter, r *http.Request, body []byte) (isAnswered bool)) func(http.Handler) http.Handler {
	var mu sync.Mutex
	return func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			mu.Lock()
			isAnswered := see(w, r, body)
			mu.Unlock()
			if !isAnswered {
				h.ServeHTTP(w, r)
			}
		})
	}
}

func serveModel(t *testing.T, cfg fakevllm.Config, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	server, err := fakevllm.New(cfg)
	noError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { server.Run(ctx) })
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

func newClient(t *testing.T, url string) *openai.Client {
	t.Helper()
	client, err := openai.NewClient(openai.Config{BaseURL: url, KeepAlive: true})
	noError(t, err)
	t.Cleanup(client.CloseIdleConnections)
	return client
}

// plan is a small run of two levels against url.
func plan(t *testing.T, url string) Config {
	t.Helper()
	step := func(i, users int) runlog.Step {
		return runlog.Step{Index: i, Arrival: runlog.ArrivalClosed, Concurrency: users, Requests: 10, Timeout: 30 * time.Second}
	}
	return Config{
		Endpoint: newClient(t, url),
		Run:      runlog.Run{URL: url, API: openai.Completions, Dataset: "random"},
		Steps:    []runlog.Step{step(0, 2), step(1, 4)},
		Dataset:  dataset.Config{Kind: dataset.Random, TokenIDs: true, InputLen: 40, OutputLen: 5},
		Folder:   filepath.Join(t.TempDir(), "run"),
	}
}

// kinds reads a log back as the kinds of its records, repeats of one counted once,
// and its requests.
func kinds(t *testing.T, folder string) (run runlog.Run, order []string, requests []*runlog.Request) {
	t.Helper()
	_, err := runlog.Read(filepath.Join(folder, runlog.FileName), func(r runlog.Record) error {
		kind := ""
		switch {
		case r.Run != nil:
			run = *r.Run
			return nil
		case r.Step != nil:
			kind = "step"
		case r.Request != nil:
			kind = "request"
			requests = append(requests, r.Request)
		case r.Sample != nil:
			return nil // they come between
		case r.StepEnd != nil:
			kind = "step end"
		case r.RunEnd != nil:
			kind = "run end, " + string(r.RunEnd.Stop)
		}
		if len(order) == 0 || order[len(order)-1] != kind {
			order = append(order, kind)
		}
		return nil
	})
	noError(t, err)
	return run, order, requests
}

// watcher counts what it is told.
type watcher struct {
	model           string
	steps, requests int
	ended           []runlog.StepEnd
	meter           *Meter // of the last step
}

func (w *watcher) RunStarted(r runlog.Run)             { w.model = r.Model }
func (w *watcher) StepStarted(_ runlog.Step, m *Meter) { w.steps, w.meter = w.steps+1, m }
func (w *watcher) RequestDone(*runlog.Request)         { w.requests++ }
func (w *watcher) StepEnded(e runlog.StepEnd)          { w.ended = append(w.ended, e) }

func TestRun(t *testing.T) {
	cfg := plan(t, endpoint(t, nil))
	var w watcher
	result, err := Run(t.Context(), cfg, &w)
	noError(t, err)
	equal(t, "result", Result{Folder: cfg.Folder, Stop: runlog.StopRequests, Attempted: 20, Succeeded: 20}, result)
	run, order, requests := kinds(t, cfg.Folder)
	want := []string{"step", "request", "step end", "step", "request", "step end", "run end, requests"}
	equal(t, "log", want, order)
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

// A list of models that cannot be had is no reason to stop where a model is named.
func TestNoListOfModels(t *testing.T) {
	cfg := plan(t, endpoint(t, watching(func(w http.ResponseWriter, r *http.Request, _ []byte) bool {
		isAsked := r.URL.Path == "/v1/models"
		if isAsked {
			http.NotFound(w, r)
		}
		return isAsked
	})))
	if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "for its models: http_4xx") || !strings.HasSuffix(err.Error(), "; name one with --model") {
		t.Errorf("without a model: %v", err)
	}
	hangs := plan(t, serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond) // in place of the 10 s
	defer cancel()
	if _, err := Run(soon, hangs); err == nil || !strings.HasSuffix(err.Error(), "; name one with --model") {
		t.Errorf("a list that hangs: %v", err)
	}
	cfg.Run.Model = "qwen2.5"
	result, err := Run(t.Context(), cfg)
	if err != nil || result.Succeeded != 20 || len(result.Notes) != 1 || !strings.Contains(result.Notes[0], "could not be had") {
		t.Errorf("with a model: %+v %v", result, err)
	}
}

// Two runs may begin in one second, and somebody who names no model finds in the folder's
// name which one it was.
func TestFolders(t *testing.T) {
	cfg := plan(t, endpoint(t, nil))
	cfg.Steps = cfg.Steps[:1]
	cfg.FolderSuffix = func(model string) string { return "-" + model }
	for _, want := range []string{cfg.Folder + "-qwen2.5", cfg.Folder + "-qwen2.5-2"} {
		if result, err := Run(t.Context(), cfg); err != nil || result.Folder != want {
			t.Errorf("folder %q, want %q (%v)", result.Folder, want, err)
		}
	}
}

// Requests to warm up are sent before the clock of a step starts, with prompts that
// none of the measured ones shares, and are in no figure and no log; that they fail is
// only noted.
func TestWarmUp(t *testing.T) {
	var prompts []string
	fail := false
	cfg := plan(t, endpoint(t, watching(func(w http.ResponseWriter, r *http.Request, body []byte) bool {
		if !strings.HasSuffix(r.URL.Path, "/completions") {
			return false
		}
		var q struct{ Prompt json.RawMessage }
		_ = json.Unmarshal(body, &q)
		prompts = append(prompts, string(q.Prompt))
		refuses := fail && len(prompts) <= 3
		if refuses {
			http.Error(w, "not yet", http.StatusServiceUnavailable)
		}
		return refuses
	})))
	cfg.Steps = cfg.Steps[:1]
	cfg.Steps[0].Warmups = 3
	cfg.Run.ReusePrompts = true
	for _, fail = range []bool{false, true} {
		prompts = nil
		result, err := Run(t.Context(), cfg)
		if err != nil || result.Attempted != 10 || result.Succeeded != 10 {
			t.Fatalf("%+v %v", result, err)
		}
		if _, _, requests := kinds(t, result.Folder); len(requests) != 10 || len(prompts) < 13 {
			t.Fatalf("%d requests in the log, %d reached the server", len(requests), len(prompts))
		}
		for _, p := range prompts[:3] {
			if slices.Contains(prompts[3:], p) {
				t.Error("a prompt of the warm-up is measured too, from the server's cache")
			}
		}
		const note = "3 of 3 warm-up requests of step 2 failed"
		if fail != strings.HasPrefix(strings.Join(result.Notes, ""), note) {
			t.Errorf("notes %q", result.Notes)
		}
	}
}

// wordy is a server that counts words in its own way.
type wordy struct {
	perWord  float64
	template int
	silent   bool // without a usage
}

func (s wordy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/models":
		_, _ = io.WriteString(w, `{"data":[{"id":"m"}]}`)
	case "/v1/chat/completions":
		var ask struct{ Messages []openai.Message }
		if json.NewDecoder(r.Body).Decode(&ask) != nil || len(ask.Messages) != 1 {
			http.Error(w, "no message", http.StatusBadRequest)
			return
		}
		tokens := s.template + int(s.perWord*float64(len(strings.Fields(ask.Messages[0].Content))))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]}`+"\n\n")
		if !s.silent {
			_, _ = fmt.Fprintf(w, `data: {"choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`+"\n\n", tokens)
		}
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	default:
		http.NotFound(w, r)
	}
}

// Random prompts on the chat API get nearly the length that was asked for.
func TestCalibration(t *testing.T) {
	for name, tc := range map[string]struct {
		server  wordy
		length  int
		counted int // by the server, of each prompt
		note    string
	}{
		"a token and a half a word": {wordy{perWord: 1.5, template: 21}, 300, 321, "1.50 tokens a word and adds 21"},
		"a short prompt":            {wordy{perWord: 2, template: 5}, 4, 9, "2.00 tokens a word"},
		"no usage":                  {wordy{silent: true}, 40, 0, "one word a token"},
		"a usage that says nothing": {wordy{template: 7}, 40, 7, "one word a token"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tc.server)
			defer server.Close()
			cfg := plan(t, server.URL)
			cfg.Run.API, cfg.Dataset.TokenIDs = openai.Chat, false
			cfg.Steps, cfg.Dataset.InputLen = cfg.Steps[:1], tc.length
			result, err := Run(t.Context(), cfg)
			if err != nil || result.Succeeded != 10 || result.Attempted != 10 || len(result.Notes) != 1 || !strings.Contains(result.Notes[0], tc.note) {
				t.Fatalf("%+v %v, want a note of %q", result, err, tc.note)
			}
			_, _, requests := kinds(t, cfg.Folder)
			for _, r := range requests {
				counted := 0
				if u := r.Trace.Usage; u != nil {
					counted = u.PromptTokens
				}
				if counted != tc.counted || r.AimedTokens != tc.length || r.ExpectedTokens != 0 {
					t.Errorf("%d tokens counted of a prompt for %d, want %d for %d", counted, r.AimedTokens, tc.counted, tc.length)
				}
			}
		})
	}
}
