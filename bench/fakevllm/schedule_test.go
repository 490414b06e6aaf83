package fakevllm

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
)

func scheduled(t *testing.T, schedule Schedule) *Server {
	t.Helper()
	s, err := New(Config{Model: "pace", Schedule: schedule})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// answerTo is the response to one request, taken in memory.
func answerTo(ctx context.Context, s *Server, method, path, body, id string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if id != "" {
		r.Header.Set("X-Request-Id", id)
	}
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, r)
	return w
}

// truthOf asks as a client would.
func truthOf(t *testing.T, s *Server, id string) Truth {
	t.Helper()
	w := answerTo(t.Context(), s, "GET", "/truth?id="+id, "", "")
	var truth Truth
	if err := json.Unmarshal(w.Body.Bytes(), &truth); err != nil || w.Code != 200 {
		t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
	}
	return truth
}

// On an exact clock the chunks are written when they are due, and what is told
// afterwards is what stands in them.
func TestSchedule(t *testing.T) {
	for path, text := range map[string]string{"/v1/chat/completions": `"delta":{"content":"(\d{19}) "}`, "/v1/completions": `"text":"(\d{19}) "`} {
		t.Run(path, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const gap = 20 * time.Millisecond
				s := scheduled(t, Schedule{Gap: gap, Tokens: 3})
				start := time.Now()
				w := answerTo(t.Context(), s, "POST", path, `{"model":"any \"model\""}`, "the-id")
				var stamps []int64
				for _, m := range regexp.MustCompile(text).FindAllStringSubmatch(w.Body.String(), -1) {
					stamp, _ := strconv.ParseInt(m[1], 10, 64)
					stamps = append(stamps, stamp)
				}
				due := start.Add(gap + phase(1, gap)).UnixNano()
				want := Truth{
					ID: "the-id", Received: start.UnixNano(), Due: due, Gap: int64(gap),
					Chunks: []int64{due, due + int64(gap), due + int64(2*gap)},
				}
				if diff := cmp.Diff(want, truthOf(t, s, "the-id")); diff != "" {
					t.Errorf("truth (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(want.Chunks, stamps); diff != "" {
					t.Errorf("stamps in the chunks (-want +got):\n%s\n%s", diff, w.Body)
				}
			})
		})
	}
}

// The answer is one that our client, and so any, understands.
func TestScheduleIsUnderstood(t *testing.T) {
	server := httptest.NewServer(scheduled(t, Schedule{Gap: time.Millisecond}).Handler())
	defer server.Close()
	c, err := openai.NewClient(openai.Config{BaseURL: server.URL, KeepAlive: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	if names, f := c.Models(t.Context()); f != nil || !slices.Equal(names, []string{"pace"}) {
		t.Errorf("models %v, failure %v", names, f)
	}
	for i, api := range []openai.API{openai.Chat, openai.Completions} {
		tr := c.Stream(t.Context(), openai.Request{API: api, Model: "pace", MaxTokens: 7, Timeout: 20 * time.Second})
		want := &openai.Trace{
			Model: "pace", Events: 7 + 3, Usage: &openai.Usage{CompletionTokens: 7}, TokenSource: openai.TokensUsage,
			Finish: "length", Done: true, Status: 200, Reused: i > 0 || tr.Reused,
		}
		instants := cmpopts.IgnoreFields(openai.Trace{}, "RequestID", "Planned", "Started", "Clock", "FirstEvent", "FirstAnswer", "Chunks", "Phases", "Lags", "End")
		if diff := cmp.Diff(want, tr, instants); diff != "" || len(tr.Chunks) != 7 {
			t.Errorf("%s: %d chunks, trace (-want +got):\n%s", api, len(tr.Chunks), diff)
		}
	}
}

func TestScheduleRefuses(t *testing.T) {
	s := scheduled(t, Schedule{Gap: time.Second})
	tests := map[string]struct {
		method, path, body, id string
		want                   int
	}{
		"no JSON":         {"POST", "/v1/chat/completions", `{`, "", 400},
		"no tokens":       {"POST", "/v1/completions", `{"max_tokens":0}`, "", 400},
		"negative":        {"POST", "/v1/completions", `{"max_tokens":-1}`, "", 400},
		"too many tokens": {"POST", "/v1/completions", `{"max_tokens":1048577}`, "", 400},
		"a long id":       {"POST", "/v1/completions", `{}`, strings.Repeat("x", 257), 400},
		"no such path":    {"POST", "/v1/embeddings", `{}`, "", 404},
		"no such id":      {"GET", "/truth?id=x", "", "", 404},
		"health":          {"GET", "/health", "", "", 200},
	}
	for name, tt := range tests {
		if w := answerTo(t.Context(), s, tt.method, tt.path, tt.body, tt.id); w.Code != tt.want {
			t.Errorf("%s: status %d, want %d: %s", name, w.Code, tt.want, w.Body)
		}
	}
}

// All that is kept comes as JSON Lines, the first to end first; a client that
// went away has what it was sent.
func TestTruthOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scheduled(t, Schedule{Gap: time.Second})
		var wg sync.WaitGroup
		wg.Go(func() { answerTo(t.Context(), s, "POST", "/v1/completions", `{"max_tokens":9}`, "long") })
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second+time.Second/2)
			defer cancel()
			if w := answerTo(ctx, s, "POST", "/v1/completions", `{"max_tokens":9}`, "left"); strings.Contains(w.Body.String(), "[DONE]") {
				t.Error("an end mark after the client left")
			}
		})
		wg.Go(func() { answerTo(t.Context(), s, "POST", "/v1/completions", `{"max_tokens":1}`, "") })
		wg.Wait()
		var got []string
		for lines := bufio.NewScanner(answerTo(t.Context(), s, "GET", "/truth", "", "").Body); lines.Scan(); {
			var truth Truth
			if err := json.Unmarshal(lines.Bytes(), &truth); err != nil {
				t.Fatalf("%v: %s", err, lines.Text())
			}
			id, _, _ := strings.Cut(truth.ID, "-")
			got = append(got, fmt.Sprint(id, " ", len(truth.Chunks)))
		}
		// The phase decides whether 3 or 4 chunks fit into 4.5 s.
		if len(got) != 3 || got[0] != "pace 1" || got[1] != "left 3" && got[1] != "left 4" || got[2] != "long 9" {
			t.Errorf("truth of %q", got)
		}
	})
}

func TestJournalIsBounded(t *testing.T) {
	truth := func(id string, chunks int) *Truth { return &Truth{ID: id, Chunks: make([]int64, chunks)} }
	j := newJournal(3, 10)
	ids := func() string {
		all := ""
		for _, t := range j.list() {
			all += t.ID
		}
		return all
	}
	for i, step := range []struct {
		add    *Truth
		want   string
		lookup map[string]int // chunks by ID, -1 for none
	}{
		{truth("a", 2), "a", map[string]int{"a": 2, "b": -1}},
		{truth("b", 2), "ab", map[string]int{"b": 2}},
		{truth("a", 4), "aba", map[string]int{"a": 4}},
		{truth("c", 1), "bac", map[string]int{"a": 4}}, // the first a is gone, the second is found
		{truth("d", 6), "cd", map[string]int{"a": -1, "b": -1, "c": 1}},
		{truth("e", 11), "", map[string]int{"d": -1, "e": -1}}, // more than there is room for
		{truth("f", 1), "f", map[string]int{"f": 1}},
	} {
		j.add(step.add)
		if got := ids(); got != step.want {
			t.Errorf("after %d: %q, want %q", i, got, step.want)
		}
		for id, want := range step.lookup {
			got := -1
			if t := j.find(id); t != nil {
				got = len(t.Chunks)
			}
			if got != want {
				t.Errorf("after %d: %s has %d chunks, want %d", i, id, got, want)
			}
		}
	}
}

// However many streams start together, they leave no hole in the gap, and no two
// of them write at once.
func TestPhases(t *testing.T) {
	const gap = 20 * time.Millisecond
	for _, streams := range []int{2, 64, 512, 5000} {
		all := []time.Duration{0, gap}
		for i := range streams {
			all = append(all, phase(uint64(1000+i), gap))
		}
		slices.Sort(all)
		for i := range len(all) - 1 {
			hole := all[i+1] - all[i]
			if hole <= 0 || hole > 3*gap/time.Duration(streams) || all[i+1] > gap {
				t.Errorf("%d streams: phases %v and %v", streams, all[i], all[i+1])
			}
		}
	}
}

func TestScheduleSettings(t *testing.T) {
	for _, tt := range []struct {
		schedule Schedule
		want     string
	}{
		{Schedule{Gap: -1}, "gap -1ns is outside 0 to 1h0m0s"},
		{Schedule{Gap: time.Hour + 1}, "gap 1h0m0.000000001s is outside 0 to 1h0m0s"},
		{Schedule{Tokens: -1}, "-1 tokens are outside 1 to 1048576"},
		{Schedule{Tokens: 1<<20 + 1}, "1048577 tokens are outside 1 to 1048576"},
		{Schedule{Keep: -1}, "-1 requests cannot be kept"},
	} {
		if _, err := New(Config{Schedule: tt.schedule}); err == nil || err.Error() != "configuring the stand-in server: "+tt.want {
			t.Errorf("%+v: %v, want %s", tt.schedule, err, tt.want)
		}
	}
	if got := scheduled(t, Schedule{Gap: time.Second}).cfg.Schedule; got != (Schedule{Gap: time.Second, Tokens: 256, Keep: 16384}) {
		t.Errorf("settings %+v", got)
	}
}
