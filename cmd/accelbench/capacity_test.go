package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// standIn is a server whose time to the first token is a known function of its load.
type standIn struct {
	base, perUser time.Duration // TTFT is base and so much for each request in flight
	dieAfter      int64         // requests; 0 for never
	hangAfter     int64         // requests; 0 for never
	then          func()        // called once after so many requests as thenAfter says
	thenAfter     int64

	seen, inFlight atomic.Int64
	server         *httptest.Server
}

func (s *standIn) start(t *testing.T) string {
	t.Helper()
	s.server = httptest.NewServer(s)
	t.Cleanup(s.server.Close)
	return s.server.URL
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/models") {
		fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
		return
	}
	if !strings.HasSuffix(r.URL.Path, "/completions") {
		http.NotFound(w, r)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	n, seen := s.inFlight.Add(1), s.seen.Add(1)
	defer s.inFlight.Add(-1)
	if s.dieAfter > 0 && seen >= s.dieAfter {
		_ = s.server.Listener.Close()
		panic(http.ErrAbortHandler)
	}
	if s.hangAfter > 0 && seen > s.hangAfter {
		<-r.Context().Done()
		return
	}
	if s.thenAfter == seen && s.then != nil {
		s.then()
	}
	select {
	case <-time.After(s.base + time.Duration(n)*s.perUser):
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	const chunk = `data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":%q},"finish_reason":%s}]}` + "\n\n"
	fmt.Fprintf(w, chunk, "word", "null")
	fmt.Fprintf(w, chunk, "", `"stop"`)
	fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":6}}`+"\n\ndata: [DONE]\n\n")
}

// found is what a search left.
type found struct {
	code           int
	stdout, stderr string
	folder         string
	Capacity       *struct {
		Value *float64 `json:"value"`
	} `json:"capacity"`
}

func (f *found) value() float64 {
	if f.Capacity == nil || f.Capacity.Value == nil {
		return 0
	}
	return *f.Capacity.Value
}

func searchCapacity(ctx context.Context, t *testing.T, url string, flags ...string) *found {
	t.Helper()
	dir := t.TempDir()
	data := filepath.Join(dir, "qa.jsonl")
	noError(t, os.WriteFile(data, []byte(`{"question": "What is a ferry?"}`+"\n"), 0o644))
	var stdout, stderr strings.Builder
	args := append([]string{"accelbench", "capacity", "--base-url", url, "--backend", "openai-chat", "--dataset-path", data, "--output", filepath.Join(dir, "out"), "--ramp-up", "0"}, flags...)
	f := &found{code: run(ctx, args, &stdout, &stderr)}
	f.stdout, f.stderr = stdout.String(), stderr.String()
	reports, _ := filepath.Glob(filepath.Join(dir, "out", "*", "report.json"))
	if len(reports) == 1 {
		text, err := os.ReadFile(reports[0])
		noError(t, err)
		noError(t, json.Unmarshal(text, f))
		f.folder = filepath.Dir(reports[0])
	}
	return f
}

// TestCapacityOfUsers: 100 ms and 20 ms for each user are at most 350 ms for 12 users, and
// on a busy machine for fewer.
func TestCapacityOfUsers(t *testing.T) {
	t.Parallel()
	s := &standIn{base: 100 * time.Millisecond, perUser: 20 * time.Millisecond}
	f := searchCapacity(t.Context(), t, s.start(t), "--slo", "ttft:p90<350ms", "--max-concurrency", "2..16")
	if f.code != exitMeasured || f.value() < 4 || f.value() > 13 {
		t.Errorf("exit %d, %+v\n%s\n%s", f.code, f.Capacity, f.stdout, f.stderr)
	}
	if !strings.Contains(f.stderr, "accelbench: 2 users met the objectives\n") {
		t.Errorf("progress:\n%s", f.stderr)
	}
	// The same answer from the log alone.
	if f.folder == "" {
		t.Fatal("no report")
	}
	noError(t, os.Remove(filepath.Join(f.folder, "report.json")))
	var stdout strings.Builder
	if code := run(t.Context(), []string{"accelbench", "report", f.folder}, &stdout, io.Discard); code != exitMeasured || stdout.String() != f.stdout {
		t.Errorf("report: exit %d, prints\n%s\nthe search printed\n%s", code, stdout.String(), f.stdout)
	}
	if _, err := os.Stat(filepath.Join(f.folder, "report.json")); err != nil {
		t.Error(err)
	}
}

// What is known until a server does not answer any more, or the user has enough, is reported; a level without any text is
// not held against its capacity.
func TestCapacityThatIsNotFound(t *testing.T) {
	const slow = 200 * time.Millisecond // for a busy machine
	for name, tt := range map[string]struct {
		server         *standIn
		flags          string
		code           int
		stdout, stderr string // expressions
	}{
		"none":           {&standIn{base: slow}, "--slo ttft:p90<20ms --max-concurrency 2..8", exitNothing, `carries none: 2 users missed TTFT p90 \(\S+ ms, limit 20\)`, ""},
		"all":            {&standIn{base: slow}, "--max-concurrency 2..4", exitMeasured, "carries at least 4 users, the most that were tried; ", ""},
		"all rates":      {&standIn{base: slow}, "--request-rate 3..6 --burstiness inf --num-prompts 24", exitMeasured, "carries at least 6 requests/s, the most that were tried; ", ""},
		"a server goes":  {&standIn{base: slow, dieAfter: 25}, "", exitFailures, "carries at least 1 user, as far as it was measured", "did not answer any more"},
		"a server hangs": {&standIn{base: slow, hangAfter: 12}, "--max-concurrency 2..64 --num-prompts 12 --timeout 1s", exitFailures, "carries at least 2 users, as far as it was measured, since the server did not answer any more; ", "the server did not answer any more, so the search was stopped"},
		"Ctrl-C":         {&standIn{base: slow, thenAfter: 30}, "", exitInterrupted, "carries at least 1 user, as far as it was measured", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tt.server.then = cancel
			f := searchCapacity(ctx, t, tt.server.start(t), append(strings.Fields("--slo ttft:p90<20s --quiet"), strings.Fields(tt.flags)...)...)
			if f.code != tt.code || !regexp.MustCompile(tt.stdout).MatchString(f.stdout) || !regexp.MustCompile(tt.stderr).MatchString(f.stderr) {
				t.Errorf("exit %d\n%s\n%s", f.code, f.stdout, f.stderr)
			}
			if strings.Contains(f.stderr, "the objectives") {
				t.Errorf("progress in spite of --quiet: %s", f.stderr)
			}
		})
	}
}

// A server that refuses the requests for what they ask says why, and carries neither none nor any.
func TestCapacityOfRefusedRequests(t *testing.T) {
	t.Parallel()
	f := searchCapacity(t.Context(), t, serveText(t, http.StatusBadRequest, `{"error":{"message":"max_tokens=5000 cannot be greater than 2048"}}`), "--slo", "ttft:p90<20s", "--quiet")
	if f.code != exitNothing || strings.Contains(f.stdout, "carries none") || !strings.Contains(f.stderr, "the server refuses the requests: status 400: max_tokens=5000 cannot be greater than 2048") {
		t.Errorf("exit %d\n%s\n%s", f.code, f.stdout, f.stderr)
	}
}

// serveText is a server of one model that answers every request with a status and a text.
func serveText(t *testing.T, status int, text string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"m","object":"model"}]}`)
			return
		}
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// A run whose server dies ends with 3, after its report, whose first words are that; the failures have the system's
// own.
func TestRunOfAServerThatDies(t *testing.T) {
	t.Parallel()
	s := &standIn{base: 50 * time.Millisecond, dieAfter: 57}
	var stdout, stderr strings.Builder
	code := run(t.Context(), []string{"accelbench", "run", "--base-url", s.start(t), "--backend", "openai-chat", "--output", t.TempDir(), "--num-prompts", "1000", "--max-concurrency", "4", "--quiet"}, &stdout, &stderr)
	if code != exitFailures || !strings.Contains(stderr.String(), "the run ended early: the server could not be reached any more") {
		t.Errorf("exit %d, stderr %s", code, &stderr)
	}
	if text := stdout.String(); !strings.Contains(text, "\nThe run ended early: the server could not be reached after 5") || !strings.Contains(text, "Most output: 4 users") || !strings.Contains(text, "connection refused") {
		t.Errorf("printed\n%s", text)
	}
}

// MindIE says in the stream what went wrong: it is what the user reads.
func TestFailuresInTheServersOwnWords(t *testing.T) {
	t.Parallel()
	url := serveText(t, http.StatusOK, "Engine callback timeout.")
	var stdout strings.Builder
	code := run(t.Context(), []string{"accelbench", "run", "--base-url", url, "--backend", "openai-chat", "--output", t.TempDir(), "--num-prompts", "3", "--quiet"}, &stdout, io.Discard)
	if want := "inf   stream_error  3         status 200: Engine callback timeout."; code != exitNothing || !strings.Contains(stdout.String(), want) {
		t.Errorf("exit %d, no %q in\n%s", code, want, &stdout)
	}
}

func TestCapacityUsage(t *testing.T) {
	for line, want := range map[string]string{
		"":                                      "required flag(s) '--slo' not provided",
		"--slo ttft:2s":                         "such as ttft:p90<2s, or a share of failures, such as failures<1%",
		"--slo ttft:p90<2s --max-concurrency 8": `"8" is no range such as 1..256`,
		"--slo ttft:p90<2s --max-concurrency 8..4":                     `"8..4" is no range`,
		"--slo ttft:p90<2s --max-concurrency 0..4":                     "is no range",
		"--slo ttft:p90<2s --max-concurrency 1.5..4":                   `"1.5..4" is no range of whole numbers such as 1..256`,
		"--slo ttft:p90<2s --max-concurrency 1..4 --request-rate 1..2": "one of them is searched for",
		"--slo ttft:500": "such as ttft:p90<2s",
		"--slo ttft_later:p90<2s --dataset-name random":                 "--slo ttft_later is of conversations: give --dataset-name multi_turn",
		"--slo ttft:p90<2s --request-rate 1..inf":                       `"1..inf" is no range such as 1..256`,
		"--slo ttft:p90<2s --request-rate NaN..2":                       "is no range",
		"--slo ttft:p90<2s --precision 0":                               `"0" is no share from 0.1% to 50%, such as 5%`,
		"--slo ttft:p90<2s --precision 60%":                             "is no share",
		"--slo ttft:p90<2s --repeat 0":                                  `--repeat: "0" is no whole number above 0`,
		"--slo ttft:p90<2s --num-prompts -1":                            `--num-prompts: "-1" is no whole number above 0`,
		"--slo ttft:p90<2s --dataset-name timed_trace --dataset-path f": "a timed_trace has its own times",
		"--slo ttft:p90<2s -- --num-prompts 5":                          "unexpected --num-prompts",
	} {
		var stderr strings.Builder
		code := run(t.Context(), append([]string{"accelbench", "capacity"}, strings.Fields(line)...), io.Discard, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit %d, stderr %q, want %q", line, code, &stderr, want)
		}
	}
}
