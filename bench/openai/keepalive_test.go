package openai

import (
	"context"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
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

// A server that crashes with a request in its hands has failed it: only one that closes a
// kept connection soon after a request was handed to it may not have seen the request.
func TestNotResentAfterAWait(t *testing.T) {
	for name, tt := range map[string]struct {
		waited time.Duration // from the request to the end of its connection
		want   Reason
	}{
		"at once":                   {0, ""},
		"within the second":         {999 * time.Millisecond, ""},
		"after a second":            {time.Second, ReasonConnect},
		"after a minute in a queue": {time.Minute, ReasonConnect},
	} {
		inBubble(t, name, func(t *testing.T) {
			var connections atomic.Int32
			c := pipeClient(t, true, func(c net.Conn) {
				say(c, keptAnswer, chunked(events(word, done)), "0\r\n\r\n")
				if connections.Add(1) > 1 {
					hold(c)
					return
				}
				readRequest(c)
				time.Sleep(tt.waited)
			})
			if tr := c.Stream(t.Context(), Request{}); tr.Failure != nil {
				t.Fatal(tr.Failure)
			}
			tr := c.Stream(t.Context(), Request{})
			if reasonOf(tr.Failure) != tt.want || tr.Resent != (tt.want == "") || tr.End != tt.waited {
				t.Errorf("failure %v after %v, want %q after %v; resent %v", tr.Failure, tr.End, tt.want, tt.waited, tr.Resent)
			}
			c.CloseIdleConnections()
		})
	}
}

// A connection that passes from an answer to a waiting request was never idle: a server that
// closes it then has failed the request.
func TestNotResentOnABusyConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pipeClient(t, true, func(c net.Conn) {
			time.Sleep(time.Second)
			say(c, keptAnswer, chunked(events(word, done)), "0\r\n\r\n")
			readRequest(c)
		})
		dial, dials := c.dialer, 0
		c.dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dials++; dials > 1 {
				time.Sleep(time.Minute) // the other connection is free long before
			}
			return dial(ctx, network, addr)
		}
		first := make(chan *Trace)
		go func() { first <- c.Stream(t.Context(), Request{}) }()
		synctest.Wait()
		tr := c.Stream(t.Context(), Request{})
		if f := (<-first).Failure; f != nil {
			t.Fatal(f)
		}
		if reasonOf(tr.Failure) != ReasonConnect || tr.Resent || !tr.Reused {
			t.Errorf("failure %v, want connect; resent %v, reused %v", tr.Failure, tr.Resent, tr.Reused)
		}
		time.Sleep(2 * time.Minute) // until the late connection is idle, and closed
	})
}
