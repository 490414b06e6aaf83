package sweep

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// asked keeps what completions were asked for, as the server saw them.
type asked struct {
	mu       sync.Mutex
	prompts  []string
	handling http.Handler
}

func (a *asked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/completions") {
		body, _ := io.ReadAll(r.Body)
		var q struct {
			Prompt json.RawMessage `json:"prompt"`
		}
		_ = json.Unmarshal(body, &q)
		a.mu.Lock()
		a.prompts = append(a.prompts, string(q.Prompt))
		a.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
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
