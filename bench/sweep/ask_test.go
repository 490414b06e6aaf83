package sweep

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// asked keeps what completions were asked for, as the server saw them.
type asked struct {
	mu       sync.Mutex
	models   []string
	prompts  []string
	ids      []string
	handling http.Handler
}

func (a *asked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/completions") {
		body, _ := io.ReadAll(r.Body)
		var q struct {
			Model  string          `json:"model"`
			Prompt json.RawMessage `json:"prompt"`
		}
		_ = json.Unmarshal(body, &q)
		a.mu.Lock()
		a.models, a.prompts = append(a.models, q.Model), append(a.prompts, string(q.Prompt))
		a.ids = append(a.ids, r.Header.Get("X-Request-Id"))
		a.mu.Unlock()
		// The stand-in serves one model.
		r.Body = io.NopCloser(strings.NewReader(strings.Replace(string(body), `"model":"adapter`, `"model":"qwen2.5","was":"adapter`, 1)))
		r.ContentLength = -1
	}
	a.handling.ServeHTTP(w, r)
}

// Requests to warm up are sent before the clock of a step starts, with prompts that
// none of the measured ones shares, and are in no figure and no log.
func TestWarmUp(t *testing.T) {
	var seen asked
	cfg := plan(t, endpoint(t, func(h http.Handler) http.Handler { seen.handling = h; return &seen }))
	for i := range cfg.Steps {
		cfg.Steps[i].Warmups = 3
	}
	cfg.Run.ReusePrompts = true
	result, err := Run(t.Context(), cfg)
	if err != nil || result.Attempted != 20 || result.Succeeded != 20 || len(result.Notes) > 0 {
		t.Fatalf("%+v %v", result, err)
	}
	if _, _, requests := kinds(t, cfg.Folder); len(requests) != 20 {
		t.Errorf("%d requests in the log", len(requests))
	}
	if len(seen.prompts) != 26 {
		t.Fatalf("%d requests reached the server, want 26", len(seen.prompts))
	}
	measured := seen.prompts[3:13]
	for _, p := range seen.prompts[:3] {
		for _, m := range measured {
			if p == m {
				t.Error("a prompt of the warm-up is measured too, from the server's cache")
			}
		}
	}
}

// A server that fails the warm-up is measured all the same, and the user is told.
func TestWarmUpFails(t *testing.T) {
	var n atomic.Int32
	cfg := plan(t, endpoint(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/completions") && n.Add(1) <= 2 {
				http.Error(w, "not yet", http.StatusServiceUnavailable)
				return
			}
			h.ServeHTTP(w, r)
		})
	}))
	cfg.Steps = cfg.Steps[:1]
	cfg.Steps[0].Warmups = 2
	result, err := Run(t.Context(), cfg)
	if err != nil || result.Succeeded != 10 {
		t.Fatalf("%+v %v", result, err)
	}
	if len(result.Notes) != 1 || !strings.HasPrefix(result.Notes[0], "2 of the 2 requests before step 2, to warm up, failed; at first: http_5xx: status 503") {
		t.Errorf("notes %q", result.Notes)
	}
}

// Each request asks for one of the modules: in turn, or at random by the seed.
func TestLoRAModules(t *testing.T) {
	ask := func(assignment runlog.LoRAAssignment, seed uint64) map[string]int {
		t.Helper()
		var seen asked
		cfg := plan(t, endpoint(t, func(h http.Handler) http.Handler { seen.handling = h; return &seen }))
		cfg.Steps = cfg.Steps[:1]
		cfg.Steps[0].Requests = 30
		cfg.Run.Seed, cfg.Run.LoRAAssignment, cfg.Run.LoRAModules = seed, assignment, []string{"adapter-a", "adapter-b", "adapter-c"}
		cfg.Run.Model, cfg.Unchecked = "qwen2.5", true
		cfg.Ask.RequestIDPrefix = "load-"
		if result, err := Run(t.Context(), cfg); err != nil || result.Succeeded != 30 {
			t.Fatalf("%+v %v", result, err)
		}
		for _, id := range seen.ids {
			if !strings.HasPrefix(id, "load-0-") {
				t.Errorf("request id %q", id)
			}
		}
		count := map[string]int{}
		for _, m := range seen.models {
			count[m]++
		}
		return count
	}
	if diff := cmp.Diff(map[string]int{"adapter-a": 10, "adapter-b": 10, "adapter-c": 10}, ask(runlog.LoRARoundRobin, 1)); diff != "" {
		t.Errorf("in turn:\n%s", diff)
	}
	one, again, other := ask(runlog.LoRARandom, 1), ask(runlog.LoRARandom, 1), ask(runlog.LoRARandom, 2)
	if len(one) != 3 || !cmp.Equal(one, again) || cmp.Equal(one, other) {
		t.Errorf("at random: %v, again %v, of another seed %v", one, again, other)
	}
}

// A module that is not served is told before the first request.
func TestLoRAModuleIsChecked(t *testing.T) {
	cfg := plan(t, endpoint(t, nil))
	cfg.Run.LoRAModules = []string{"adapter"}
	cfg.Run.Model = "qwen2.5"
	if _, err := Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), `does not serve the model "adapter"`) {
		t.Errorf("Run: %v", err)
	}
}

// A server that is not there yet is waited for, and no longer than asked.
func TestWaitsForTheEndpoint(t *testing.T) {
	var n atomic.Int32
	cfg := plan(t, endpoint(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/models" && n.Add(1) <= 2 {
				http.Error(w, "loading", http.StatusServiceUnavailable)
				return
			}
			h.ServeHTTP(w, r)
		})
	}))
	if _, err := Run(t.Context(), cfg); err == nil {
		t.Fatal("an endpoint without models is put under load")
	}
	cfg.Ready = time.Minute
	if result, err := Run(t.Context(), cfg); err != nil || result.Succeeded != 20 {
		t.Errorf("%+v %v", result, err)
	}
}

// Who stops a run while it warms up gets an end at once, and no step.
func TestInterruptedWarmUp(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var n atomic.Int32
	cfg := plan(t, endpoint(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/completions") {
				n.Add(1)
				_, _ = io.Copy(io.Discard, r.Body) // else the server sees no client go
				stop()
				<-r.Context().Done()
				return
			}
			h.ServeHTTP(w, r)
		})
	}))
	cfg.Steps[0].Warmups = 4
	result, err := Run(ctx, cfg)
	if err != nil || result.Stop != runlog.StopInterrupted || result.Attempted != 0 || n.Load() > 4 {
		t.Errorf("%+v %v, after %d requests", result, err, n.Load())
	}
}
