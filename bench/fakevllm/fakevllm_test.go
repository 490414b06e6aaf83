package fakevllm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// serve runs a server on loopback until the test's end.
func serve(t *testing.T, cfg Config) (*Server, *httptest.Server) {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	hs := httptest.NewServer(s.Handler())
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
		hs.Close()
	})
	return s, hs
}

// quick is a server that answers within milliseconds.
func quick() Config { return Config{Speed: 100, FaultPace: 20 * time.Millisecond} }

// post sends a JSON body and returns the response with its body read.
func post(t *testing.T, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp, string(b)
}

// chunk is what a client reads of an event.
type chunk struct {
	ID      string
	Model   string
	Choices []struct {
		Text         string
		FinishReason string `json:"finish_reason"`
		Delta        struct {
			Role, Content, Reasoning string
			ReasoningContent         string `json:"reasoning_content"`
		}
	}
	Usage   *usage
	Timings map[string]float64
	Error   *struct{ Message string }
}

// said is all the text in a chunk.
func (c chunk) said() string {
	text := ""
	for _, choice := range c.Choices {
		d := choice.Delta
		text += choice.Text + d.Reasoning + d.ReasoningContent + d.Content
	}
	return text
}

func (c chunk) finish() string {
	if len(c.Choices) == 0 {
		return ""
	}
	return c.Choices[0].FinishReason
}

// events returns the data of each event of a stream, read the simplest way.
func events(body string) []string {
	var out []string
	lines := bufio.NewScanner(strings.NewReader(body))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(strings.TrimSuffix(lines.Text(), "\r"), "data: "); ok {
			out = append(out, data)
		}
	}
	return out
}

// chunks decodes a stream that must end with [DONE].
func chunks(t *testing.T, body string) []chunk {
	t.Helper()
	data := events(body)
	if len(data) == 0 || data[len(data)-1] != "[DONE]" {
		t.Fatalf("the stream does not end with [DONE]: %q", body)
	}
	var out []chunk
	for _, d := range data[:len(data)-1] {
		var c chunk
		if err := json.Unmarshal([]byte(d), &c); err != nil {
			t.Fatalf("event %q: %v", d, err)
		}
		out = append(out, c)
	}
	return out
}

func encode(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func newPost(url, body string) *http.Request {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		panic(err) // the URL is the test server's
	}
	return req
}
