package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
)

// log is a concurrent buffer for the program's log.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// program is the exporter run in this process.
type program struct {
	url    string
	log    *logBuffer
	hangup chan os.Signal
	stop   context.CancelFunc
	status chan int
}

// start runs the program with the flags and waits until its log says where it serves.
func start(t testing.TB, args ...string) *program {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p := &program{log: new(logBuffer), hangup: make(chan os.Signal), stop: cancel, status: make(chan int, 1)}
	go func() {
		p.status <- run(ctx, p.hangup, append([]string{"--web.listen-address=127.0.0.1:0"}, args...), io.Discard, p.log)
	}()
	t.Cleanup(func() { p.end(t) })
	address := regexp.MustCompile(`address"?[=:]"?(127[0-9.:]+)`)
	waitFor(t, "the program serves", func() bool {
		m := address.FindStringSubmatch(p.log.String())
		if m != nil {
			p.url = "http://" + m[1]
		}
		return m != nil
	})
	return p
}

// end stops the program as SIGTERM does and returns its exit status.
func (p *program) end(t testing.TB) int {
	t.Helper()
	p.stop()
	select {
	case status := <-p.status:
		p.status <- status // for the cleanup after a test that stopped it
		return status
	case <-time.After(5 * time.Second):
		t.Fatalf("still running 5 s after it was told to stop:\n%s", p.log)
		return -1
	}
}

func (p *program) get(t testing.TB, path string) (int, string) {
	t.Helper()
	return fetch(t, http.MethodGet, p.url+path)
}

func fetch(t testing.TB, method, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "identity") // thousands of scrapes need not test gzip
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	const patience = 30 * time.Second
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", patience, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// writeFile writes a file of the test and returns its path.
func writeFile(t testing.TB, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

// server is a model server that answers soon, in several chunks.
func server(t testing.TB) string {
	t.Helper()
	s, err := fakevllm.New(fakevllm.Config{Speed: 200})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { s.Run(ctx) })
	web := httptest.NewServer(s.Handler())
	t.Cleanup(func() { cancel(); web.Close(); wg.Wait() })
	return web.URL
}
