package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is for what does not happen in a passing test.
const patience = 20 * time.Second

func newTestClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	c, err := NewClient(cfg)
	noError(t, err)
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// ask sends one request to a server at url.
func ask(t *testing.T, url string) *Trace {
	t.Helper()
	return newTestClient(t, Config{BaseURL: url}).Stream(t.Context(), Request{Model: "m", Prompt: "hi", MaxTokens: 8, Timeout: patience})
}

// rawServer serves connections by hand, and waits for its goroutines at the
// end of the test. It returns the address.
func rawServer(t *testing.T, serve func(c *net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(patience))
				serve(c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

// readRequest reads a whole request.
func readRequest(c net.Conn) {
	req, err := http.ReadRequest(bufio.NewReader(c))
	if err == nil {
		_, _ = io.Copy(io.Discard, req.Body)
	}
}

// answering serves one response as it stands, and closes.
func answering(response string) func(*net.TCPConn) {
	return func(c *net.TCPConn) {
		readRequest(c)
		_, _ = io.WriteString(c, response)
		waitForClose(c, true)
	}
}

// waitForClose closes politely: the client must not see a reset.
func waitForClose(c *net.TCPConn, write bool) {
	if write {
		_ = c.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, c)
}

// reset closes with a reset.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	_ = c.Close()
}

const (
	okHead  = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	anyHead = "HTTP/1.1 200 OK\r\nContent-Type: "
)

func TestFailures(t *testing.T) {
	good := events(word, stop, done)
	status := func(line, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", line, len(body), body)
	}
	for name, tt := range map[string]struct {
		serve func(*net.TCPConn)
		want  Failure
	}{
		"closed before a response":          {func(c *net.TCPConn) { readRequest(c); waitForClose(c, true) }, Failure{Reason: ReasonConnect}},
		"reset before a response":           {func(c *net.TCPConn) { readRequest(c); reset(c) }, Failure{Reason: ReasonConnect}},
		"not HTTP":                          {answering("220 mail.invalid ESMTP\r\n"), Failure{Reason: ReasonProtocol}},
		"a broken head":                     {answering("HTTP/1.1 200 OK\r\nno colon\r\n\r\n" + good), Failure{Reason: ReasonProtocol}},
		"429":                               {answering(status("429 Too Many Requests", "slow down")), Failure{Reason: ReasonHTTP429, Status: 429, Detail: "slow down"}},
		"400 of vLLM":                       {answering(status("400 Bad Request", `{"error":{"message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","param":null,"code":400}}`)), Failure{Reason: ReasonHTTP4xx, Status: 400, Detail: "This model's maximum context length is 4096 tokens."}},
		"400 of an older vLLM":              {answering(status("400 Bad Request", ` {"object":"error","message":"top_p \u003e 1","type":"BadRequestError","code":400}`)), Failure{Reason: ReasonHTTP4xx, Status: 400, Detail: "top_p > 1"}},
		"400 of a long text":                {answering(status("400 Bad Request", `{"error":{"code":400,"message":"`+strings.Repeat(`long\n`, 2000)+`"}}`)), Failure{Reason: ReasonHTTP4xx, Status: 400, Detail: strings.Repeat("long ", 39) + "lo…"}},
		"401 of vLLM":                       {answering(status("401 Unauthorized", `{"error":"Unauthorized"}`)), Failure{Reason: ReasonHTTP4xx, Status: 401, Detail: "Unauthorized"}},
		"404 of FastAPI":                    {answering(status("404 Not Found", `{"detail":"Not Found"}`)), Failure{Reason: ReasonHTTP4xx, Status: 404, Detail: "Not Found"}},
		"422 of FastAPI":                    {answering(status("422 Unprocessable", `{"detail":[{"loc":["body","model"],"msg":"Field required"}]}`)), Failure{Reason: ReasonHTTP4xx, Status: 422, Detail: `{"detail":[{"loc":["body","model"],"msg":"Field required"}]}`}},
		"500 that says nothing":             {answering(status("500 Oops", `{"error":{}}`)), Failure{Reason: ReasonHTTP5xx, Status: 500, Detail: `{"error":{}}`}},
		"502 HTML":                          {answering(status("502 Bad Gateway", "<html>\n<h1>Bad\tGateway</h1>")), Failure{Reason: ReasonHTTP5xx, Status: 502, Detail: "<html> <h1>Bad Gateway</h1>"}},
		"503 cut short":                     {answering("HTTP/1.1 503 Busy\r\nContent-Length: 100\r\n\r\nbusy"), Failure{Reason: ReasonHTTP5xx, Status: 503, Detail: "busy"}},
		"301":                               {answering("HTTP/1.1 301 Moved\r\nLocation: https://other.invalid/v1/x?key=abc\r\nContent-Length: 0\r\n\r\n"), Failure{Reason: ReasonProtocol, Status: 301, Detail: "redirect not followed: https://other.invalid/v1/x?key=abc"}},
		"200 of zero bytes":                 {answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), Failure{Reason: ReasonEmpty, Status: 200, Detail: "the stream ended without any text"}},
		"200 HTML":                          {answering(anyHead + "text/html; charset=utf-8\r\n\r\n<p>hi"), Failure{Reason: ReasonProtocol, Status: 200, Detail: "not an event stream: <p>hi"}},
		"bad JSON":                          {answering(okHead + events("{oops}")), Failure{Reason: ReasonProtocol, Status: 200, Detail: "not a JSON object: {oops}"}},
		"a brotli body":                     {answering("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n\x1b\xff"), Failure{Reason: ReasonProtocol, Status: 200, Detail: "not an event stream:  ?"}},
		"gzip that is none":                 {answering("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + good), Failure{Reason: ReasonProtocol, Status: 200, Detail: "gzip: invalid header"}},
		"a broken chunk":                    {answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), Failure{Reason: ReasonProtocol, Status: 200}},
		"an error object":                   {answering(okHead + events(word, `{"error":{"message":"boom"}}`)), Failure{Reason: ReasonStreamError, Status: 200, Detail: "boom"}},
		"an error event":                    {answering(okHead + events(word) + "event: error\ndata: {\"message\":\"boom\"}\n\n" + events(stop, done)), Failure{Reason: ReasonStreamError, Status: 200, Detail: "boom"}},
		"an error event of plain text":      {answering(okHead + "event: error\ndata: the engine\ndata: is gone\n\n"), Failure{Reason: ReasonStreamError, Status: 200, Detail: "the engine is gone"}},
		"a bare error":                      {answering(okHead + `{"error":{"message":"max_tokens must be positive","code":3}}`), Failure{Reason: ReasonStreamError, Status: 200, Detail: "max_tokens must be positive"}},
		"bare JSON":                         {answering(okHead + `{"id":"1","choices":[]}`), Failure{Reason: ReasonProtocol, Status: 200, Detail: `not an event stream: {"id":"1","choices":[]}`}},
		"the engine gave up":                {answering(okHead + events(word, finished("abort"), stop, done)), Failure{Reason: ReasonStreamError, Status: 200, Detail: "finish_reason abort"}},
		"the engine gave up, and says why":  {answering(okHead + events(word, finished("error"), `{"error":"no memory left"}`, done)), Failure{Reason: ReasonStreamError, Status: 200, Detail: "no memory left"}},
		"cut by a reset":                    {func(c *net.TCPConn) { readRequest(c); _, _ = io.WriteString(c, okHead+events(word)); reset(c) }, Failure{Reason: ReasonTruncated, Status: 200}},
		"cut inside a body of known length": {answering("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n" + events(word, stop)), Failure{Reason: ReasonTruncated, Status: 200, Detail: "unexpected EOF"}},
		"closed without a proper end":       {answering(okHead + events(word)), Failure{Reason: ReasonTruncated, Status: 200, Detail: "the stream ended without [DONE] and without a finish_reason"}},
		"finished without text":             {answering(okHead + events(role, stop, done)), Failure{Reason: ReasonEmpty, Status: 200, Detail: "the stream ended without any text"}},
		"no failure":                        {answering(okHead + good), Failure{Status: 200}},
		"no failure: reset after the end": {func(c *net.TCPConn) {
			readRequest(c)
			_, _ = io.WriteString(c, okHead+good)
			waitForClose(c, false)
			reset(c)
		}, Failure{Status: 200}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := ask(t, "http://"+rawServer(t, tt.serve))
			got := Failure{Status: tr.Status}
			if tr.Failure != nil {
				got = *tr.Failure
			}
			ignored := cmpopts.IgnoreFields(Failure{}, "Detail")
			if tt.want.Detail != "" || tt.want.Reason == ReasonHTTP5xx {
				ignored = nil
			}
			if diff := cmp.Diff(tt.want, got, ignored); diff != "" {
				t.Errorf("failure (-want +got):\n%s%v", diff, tr.Failure)
			}
			if got.Reason != "" && len(got.Detail) > maxExcerpt {
				t.Errorf("a detail of %d bytes", len(got.Detail))
			}
			if _, ok := E2E(tr); ok != (got.Reason == "") {
				t.Errorf("a latency sample: %v, with failure %v", ok, tr.Failure)
			}
		})
	}
}

// chunked is one chunk of the transfer encoding.
func chunked(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

func TestFailureBeforeConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(t, err)
	_ = l.Close()
	noResolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no name server here")
	}}
	t.Run("refused", func(t *testing.T) {
		for range 20 {
			if f := ask(t, "http://"+l.Addr().String()).Failure; f == nil || f.Reason != ReasonConnect {
				t.Fatalf("failure %v, want connect", f)
			}
		}
	})
	t.Run("no such name", func(t *testing.T) {
		c := newTestClient(t, Config{BaseURL: "http://endpoint.invalid:8000"})
		c.dialer = (&net.Dialer{Resolver: noResolver}).DialContext
		tr := c.Stream(t.Context(), Request{Timeout: patience})
		if f := tr.Failure; f == nil || f.Reason != ReasonDNS || f.Status != 0 {
			t.Fatalf("failure %v, want dns", f)
		}
		if tr.Phases.Connect != 0 || tr.End <= 0 {
			t.Errorf("phases %+v, end %v", tr.Phases, tr.End)
		}
	})
	t.Run("out of means", func(t *testing.T) {
		broken := func(err error) func(context.Context, string, string) (net.Conn, error) {
			return func(context.Context, string, string) (net.Conn, error) { return nil, err }
		}
		c := newTestClient(t, Config{BaseURL: "http://endpoint.invalid:8000"})
		for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ECONNREFUSED} {
			c.dialer = broken(&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)})
			f := c.Stream(t.Context(), Request{Timeout: patience}).Failure
			if f == nil || f.Reason != ReasonConnect || f.Local != (errno != syscall.ECONNREFUSED) {
				t.Fatalf("%v: failure %+v", errno, f)
			}
			line, _ := json.Marshal(f)
			kept := new(Failure)
			if err := json.Unmarshal(line, kept); err != nil || kept.OutOfFiles() != (errno == syscall.EMFILE || errno == syscall.ENFILE) {
				t.Errorf("%v: out of files %v, from %s", errno, kept.OutOfFiles(), line)
			}
		}
	})
	t.Run("canceled before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c := newTestClient(t, Config{BaseURL: "http://127.0.0.1:1"})
		if f := c.Stream(ctx, Request{}).Failure; f == nil || f.Reason != ReasonCanceled {
			t.Fatalf("failure %v, want canceled", f)
		}
	})
}

// seen is a request as a server got it.
type seen struct {
	Method, Path string
	Header       http.Header
	Body         map[string]any
}

func TestWhatIsSent(t *testing.T) {
	requests := make(chan seen, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := seen{Method: r.Method, Path: r.URL.Path, Header: r.Header}
		if err := json.NewDecoder(r.Body).Decode(&s.Body); err != nil {
			t.Errorf("decoding the request: %v", err)
		}
		requests <- s
		_, _ = io.WriteString(w, events(word, done))
	}))
	defer server.Close()
	c := newTestClient(t, Config{BaseURL: server.URL + "/gate/v1/", UserAgent: "test/1"})
	type object = map[string]any
	type raw = map[string]json.RawMessage
	hi := []any{object{"role": "user", "content": "hi"}}
	usage := object{"include_usage": true}
	for name, tt := range map[string]struct {
		request Request
		want    object // beside what all requests have
	}{
		"chat": {
			Request{API: Chat, Prompt: "he said \"<hé>\"\n", MaxTokens: 5},
			object{"messages": []any{object{"role": "user", "content": "he said \"<hé>\"\n"}}, "max_tokens": 5.0, "stream_options": usage},
		},
		"completions": {Request{API: Completions}, object{"prompt": "", "stream_options": usage}},
		"conversation": {
			Request{Prompt: "not this", Messages: []Message{{"system", "be brief"}, {"user", "hi"}}},
			object{"messages": []any{object{"role": "system", "content": "be brief"}, hi[0]}, "stream_options": usage},
		},
		"token ids, an exact length, usage with every chunk": {
			Request{API: Completions, Prompt: "not this", PromptTokens: []int32{7, 0, 151935}, MaxTokens: 3, IgnoreEOS: true, ContinuousUsage: true},
			object{"prompt": []any{7.0, 0.0, 151935.0}, "max_tokens": 3.0, "ignore_eos": true, "stream_options": object{"include_usage": true, "continuous_usage_stats": true}},
		},
		"extra fields": {
			Request{Prompt: "hi", MaxTokens: 3, Extra: raw{"temperature": []byte(`0.7`), "max_tokens": []byte(`9`), "stop": []byte(`["\n", "<b>"]`), "nested": []byte(` {"a": null} `)}},
			object{"messages": hi, "temperature": 0.7, "max_tokens": 9.0, "stop": []any{"\n", "<b>"}, "nested": object{"a": nil}, "stream_options": usage},
		},
		"a length under both names": {
			Request{Prompt: "hi", MaxTokens: 3, MaxCompletionTokens: true},
			object{"messages": hi, "max_tokens": 3.0, "max_completion_tokens": 3.0, "stream_options": usage},
		},
		"one name for completions": {
			Request{API: Completions, Prompt: "hi", MaxTokens: 3, MaxCompletionTokens: true},
			object{"prompt": "hi", "max_tokens": 3.0, "stream_options": usage},
		},
		"a length of the user's own": {
			Request{Prompt: "hi", MaxTokens: 3, MaxCompletionTokens: true, Extra: raw{"max_tokens": []byte("9")}},
			object{"messages": hi, "max_tokens": 9.0, "stream_options": usage},
		},
		"a length of the user's own, by the newer name": {
			Request{Prompt: "hi", MaxTokens: 3, Extra: raw{"max_completion_tokens": []byte("9")}},
			object{"messages": hi, "max_completion_tokens": 9.0, "stream_options": usage},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tt.request.Model, tt.request.RequestID = "m", "id-"+name
			tr := c.Stream(t.Context(), tt.request)
			if tr.Failure != nil {
				t.Fatal(tr.Failure)
			}
			want := seen{"POST", "/gate/v1/chat/completions", http.Header{
				"Accept": {"text/event-stream"}, "Accept-Encoding": {"identity"}, "Connection": {"close"},
				"Content-Type": {"application/json"}, "User-Agent": {"test/1"}, "X-Request-Id": {"id-" + name},
			}, tt.want}
			want.Body["model"], want.Body["stream"] = "m", true
			if tt.request.API == Completions {
				want.Path = "/gate/v1/completions"
			}
			got := <-requests
			got.Header.Del("Content-Length")
			equal(t, "request", want, got)
			if tr.RequestID != "id-"+name || tr.Model != "m" {
				t.Errorf("trace of request %q, model %q", tr.RequestID, tr.Model)
			}
		})
	}
	t.Run("a session, and the answer where it is asked for", func(t *testing.T) {
		for keep, want := range map[bool]string{true: "word", false: ""} {
			tr := c.Stream(t.Context(), Request{SessionID: "s-1", KeepAnswer: keep})
			if got := (<-requests).Header.Get("X-Session-ID"); got != "s-1" || tr.Answer != want || tr.Failure != nil {
				t.Errorf("session %q, answer %q, want %q", got, tr.Answer, want)
			}
		}
	})
	t.Run("an id is made", func(t *testing.T) {
		texts := 0
		tr := c.Stream(t.Context(), Request{Traced: true, FirstText: func() { texts++ }})
		if tr.Failure != nil || texts != 1 {
			t.Fatal(tr.Failure, texts)
		}
		header := (<-requests).Header
		if got := header.Get("X-Request-Id"); got != tr.RequestID || len(got) != 32 {
			t.Errorf("sent id %q, trace says %q", got, tr.RequestID)
		}
		if got := header.Get("traceparent"); !regexp.MustCompile("^00-"+tr.RequestID+"-[0-9a-f]{16}-01$").MatchString(got) || !tr.Traced {
			t.Errorf("traceparent %q of request %s", got, tr.RequestID)
		}
		if !tr.Planned.Equal(tr.Started) {
			t.Errorf("planned %v, started %v", tr.Planned, tr.Started)
		}
	})
}

// noError ends the test where it could not go on.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal fails the test where two values differ.
func equal(t *testing.T, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
