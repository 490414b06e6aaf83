package openai

import (
	"compress/gzip"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/common/config"
)

// enough is where a hostile server of a test ends, so that a test that fails ends too.
const enough = 4 << 20

// flood is a client of a server that sends head, and then text without end. It counts the
// bytes that the client has taken, as there are no buffers between the two.
func flood(t *testing.T, head, text string) (c *Client, taken *atomic.Int64) {
	taken = new(atomic.Int64)
	text = strings.Repeat(text, 1+4096/len(text)) // fewer writes
	c = pipeClient(t, false, func(c net.Conn) {
		say(c, head)
		for taken.Load() < enough {
			n, err := c.Write([]byte(text))
			if taken.Add(int64(n)); err != nil {
				return
			}
		}
	})
	return c, taken
}

// askAll are the requests whose answers are read in ways of their own.
func askAll() map[string]func(t *testing.T, c *Client) *Failure {
	return map[string]func(t *testing.T, c *Client) *Failure{
		"a completion": func(t *testing.T, c *Client) *Failure {
			return c.Stream(t.Context(), Request{Timeout: patience}).Failure
		},
		"the list of models": func(t *testing.T, c *Client) *Failure {
			_, f := c.Models(t.Context())
			return f
		},
	}
}

// A server cannot keep a core busy with gzip that holds nothing: all of it, and of an error
// too, is over after little.
func TestGzipThatHoldsNothing(t *testing.T) {
	var member strings.Builder
	_ = gzip.NewWriter(&member).Close()
	for status, want := range map[string]Reason{"200 OK": ReasonProtocol, "503 No": ReasonHTTP5xx} {
		for what, ask := range askAll() {
			t.Run(what+", "+status, func(t *testing.T) {
				c, taken := flood(t, "HTTP/1.1 "+status+"\r\nContent-Encoding: gzip\r\n\r\n", member.String())
				if f := ask(t, c); f == nil || f.Reason != want {
					t.Errorf("failure %v, want %s", f, want)
				}
				if n := taken.Load(); n > 320<<10 {
					t.Errorf("%d bytes were taken", n)
				}
			})
		}
	}
}

// What frames an answer has bounds as the answer has: a header, informational responses
// before it, trailers, and what a chunk may say of itself.
func TestEndlessFrames(t *testing.T) {
	const chunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	body := chunked(`{"data":[]}`)
	for name, tt := range map[string]struct{ head, text string }{
		"header":                  {"HTTP/1.1 200 OK\r\n", "A: b\r\n"},
		"one line of a header":    {"HTTP/1.1 200 OK\r\nA: ", "b"},
		"status line":             {"HTTP/1.1 200 ", "O"},
		"informational responses": {"HTTP/1.1 102 Processing\r\n\r\n", "HTTP/1.1 103 Early Hints\r\n\r\n"},
		"trailers":                {chunkedHead + body + "0\r\n", "A: b\r\n"},
		"extension of a chunk":    {chunkedHead + "4;", "a=b;"},
		"extensions of chunks":    {chunkedHead, "1;" + strings.Repeat("a", 1000) + "\r\n:\r\n"},
	} {
		for what, ask := range askAll() {
			t.Run(name+" of "+what, func(t *testing.T) {
				c, taken := flood(t, tt.head, tt.text)
				if f := ask(t, c); f == nil || f.Reason != ReasonProtocol {
					t.Errorf("failure %v, want protocol", f)
				}
				if n := taken.Load(); n > 128<<10 {
					t.Errorf("%d bytes were taken", n)
				}
			})
		}
	}
}

// A token endpoint has bounds too, which the library leaves at those of any server.
func TestEndlessTokenEndpoint(t *testing.T) {
	c, taken := flood(t, "HTTP/1.1 200 OK\r\n", "A: b\r\n")
	withToken := newTestClient(t, Config{BaseURL: "http://127.0.0.1:8000", HTTP: config.HTTPClientConfig{
		OAuth2: &config.OAuth2{ClientID: "id", ClientSecret: "s", TokenURL: "http://127.0.0.1:8001/token"},
	}})
	withToken.dialer = c.dialer
	f := withToken.Stream(t.Context(), Request{Timeout: patience}).Failure
	if f == nil || !f.Unsent || !strings.Contains(f.Detail, "token endpoint sends more than 2 MiB") {
		t.Errorf("failure %v", f)
	}
	// The library asks twice where the first answer cannot be read.
	if n := taken.Load(); n > 2*(2<<20+64<<10) {
		t.Errorf("%d bytes were taken", n)
	}
}

// A server that turns a few tokens into a flood of text, or a short text into one of tokens,
// fills no memory of each user's.
func TestTokenAnswersAreBoundedByTheQuestion(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\n\r\n"
	t.Run("text", func(t *testing.T) {
		c, taken := flood(t, head+`{"prompt":"`, "a")
		_, f := c.Detokenize(t.Context(), "m", make([]int32, 16))
		if f == nil || f.Reason != ReasonProtocol || !strings.Contains(f.Detail, "the text of 16 tokens is longer than 80 KiB") {
			t.Errorf("failure %v", f)
		}
		if n := taken.Load(); n > 96<<10 {
			t.Errorf("%d bytes were taken", n)
		}
	})
	t.Run("tokens", func(t *testing.T) {
		c, taken := flood(t, head+`{"tokens":[0`, ",0")
		_, f := c.Tokenize(t.Context(), "m", strings.Repeat("a", 64))
		if f == nil || f.Reason != ReasonProtocol || !strings.Contains(f.Detail, "the list of tokens of 64 bytes of text is longer than 68 KiB") {
			t.Errorf("failure %v", f)
		}
		if n := taken.Load(); n > 96<<10 {
			t.Errorf("%d bytes were taken", n)
		}
	})
	// The longest tokens there are: blanks, and text that JSON writes in escapes.
	for _, token := range []string{strings.Repeat(" ", 512), strings.Repeat(`\u00e9`, 128)} {
		const n = 4096
		url, _ := tokenServer(t, 200, fmt.Sprintf(`{"prompt":"%s"}`, strings.Repeat(token, n)))
		if _, f := newTestClient(t, Config{BaseURL: url}).Detokenize(t.Context(), "m", make([]int32, n)); f != nil {
			t.Errorf("tokens as long as %q: %v", token, f)
		}
	}
}
