package openai

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
)

const keptAnswer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

// A server that closes a kept connection as a request comes, as servers do with idle ones,
// gets it once more, on a new connection. One that closes that too has failed.
func TestResent(t *testing.T) {
	answer := keptAnswer + chunked(events(word, done)) + "0\r\n\r\n"
	for name, end := range map[string]func(*net.TCPConn){"closed": func(c *net.TCPConn) { waitForClose(c, true) }, "reset": reset} {
		for name2, tt := range map[string]struct {
			again func(c *net.TCPConn)
			want  Reason
		}{
			"then answered": {func(c *net.TCPConn) { _, _ = io.WriteString(c, answer); waitForClose(c, true) }, ""},
			"then again":    {end, ReasonConnect},
		} {
			t.Run(name+", "+name2, func(t *testing.T) {
				var connections atomic.Int32
				address := rawServer(t, func(c *net.TCPConn) {
					if connections.Add(1) > 1 {
						readRequest(c)
						tt.again(c)
						return
					}
					readRequest(c)
					_, _ = io.WriteString(c, answer)
					readRequest(c)
					end(c)
				})
				c := newTestClient(t, Config{BaseURL: "http://" + address, KeepAlive: true})
				if tr := c.Stream(t.Context(), Request{Timeout: patience}); tr.Failure != nil || tr.Resent {
					t.Fatalf("failure %v, resent %v", tr.Failure, tr.Resent)
				}
				tr := c.Stream(t.Context(), Request{Timeout: patience})
				if reasonOf(tr.Failure) != tt.want || !tr.Resent || tr.Reused || tr.Phases.Connect <= 0 {
					t.Errorf("failure %v, want %q; resent %v, reused %v, phases %+v", tr.Failure, tt.want, tr.Resent, tr.Reused, tr.Phases)
				}
				if n := connections.Load(); n != 2 {
					t.Errorf("%d connections", n)
				}
			})
		}
	}
}

// A kept connection that ends after the first byte of an answer is a failure: the server
// has begun to work.
func TestNotResentAfterTheFirstByte(t *testing.T) {
	address := rawServer(t, func(c *net.TCPConn) {
		readRequest(c)
		_, _ = io.WriteString(c, keptAnswer+chunked(events(word, done))+"0\r\n\r\n")
		readRequest(c)
		_, _ = io.WriteString(c, keptAnswer+chunked(events(word)))
		waitForClose(c, true)
	})
	c := newTestClient(t, Config{BaseURL: "http://" + address, KeepAlive: true})
	for i, want := range []Reason{"", ReasonTruncated} {
		tr := c.Stream(t.Context(), Request{Timeout: patience})
		if reasonOf(tr.Failure) != want || tr.Resent {
			t.Errorf("request %d: failure %v, want %q; resent %v", i, tr.Failure, want, tr.Resent)
		}
	}
}
