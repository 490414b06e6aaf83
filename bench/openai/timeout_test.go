package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// pipeClient is a client whose connections end at serve, in memory, so that a
// test can run on synctest's clock. serve gets each connection after its
// request was read.
func pipeClient(t *testing.T, keepAlive bool, serve func(c net.Conn)) *Client {
	t.Helper()
	c := newTestClient(t, Config{BaseURL: "http://127.0.0.1:8000", KeepAlive: keepAlive})
	var serving sync.WaitGroup
	t.Cleanup(serving.Wait)
	c.dialer = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		serving.Go(func() {
			defer theirs.Close()
			readRequest(theirs)
			serve(theirs)
		})
		return ours, nil
	}
	return c
}

// say writes, as long as somebody listens.
func say(c net.Conn, texts ...string) {
	for _, text := range texts {
		_, _ = io.WriteString(c, text)
	}
}

// hold keeps a connection open until the client closes it.
func hold(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

func TestTimeouts(t *testing.T) {
	const second = time.Second
	pause := time.Sleep
	endless := func(c net.Conn, every time.Duration, text string) {
		for {
			pause(every)
			if _, err := io.WriteString(c, text); err != nil {
				return
			}
		}
	}
	noise := func(c net.Conn) {
		for {
			if _, err := io.WriteString(c, ": noise\n"); err != nil {
				return
			}
		}
	}
	for name, tt := range map[string]struct {
		serve func(c net.Conn)
		want  Reason
		end   time.Duration // when the request is over
		ttft  time.Duration // 0 for no sample
	}{
		"no head":                   {func(c net.Conn) { hold(c) }, ReasonTimeoutFirstToken, 120 * second, 0},
		"head only":                 {func(c net.Conn) { say(c, okHead); hold(c) }, ReasonTimeoutFirstToken, 120 * second, 0},
		"comments only":             {func(c net.Conn) { say(c, okHead); endless(c, second, ": ping\n\n") }, ReasonTimeoutFirstToken, 120 * second, 0},
		"first text late":           {func(c net.Conn) { say(c, okHead); pause(119 * second); say(c, events(word, stop, done)) }, "", 119 * second, 119 * second},
		"text without end":          {func(c net.Conn) { say(c, okHead); endless(c, 29*second, events(word)) }, ReasonTimeout, 120 * second, 29 * second},
		"text, then nothing":        {func(c net.Conn) { pause(second); say(c, okHead, events(word)); hold(c) }, ReasonStalled, 31 * second, second},
		"text, then comments":       {func(c net.Conn) { pause(second); say(c, okHead, events(word)); endless(c, second, ": ping\n\n") }, ReasonStalled, 31 * second, second},
		"half an event, for long":   {func(c net.Conn) { pause(second); say(c, okHead, events(word), "data: {"); hold(c) }, ReasonStalled, 31 * second, second},
		"aborted, then nothing":     {func(c net.Conn) { pause(second); say(c, okHead, events(word, finished("abort"))); hold(c) }, ReasonStreamError, 31 * second, 0},
		"end mark, connection kept": {func(c net.Conn) { pause(second); say(c, okHead, events(word, done)); hold(c) }, "", second, second},
		"end mark, then noise":      {func(c net.Conn) { pause(second); say(c, okHead, events(word, done)); noise(c) }, "", second, second},
		"error object, kept open":   {func(c net.Conn) { pause(second); say(c, okHead, events(`{"error":"x"}`)); hold(c) }, ReasonStreamError, second, 0},
		"a slow error's body":       {func(c net.Conn) { say(c, "HTTP/1.1 500 No\r\n\r\nbroken"); hold(c) }, ReasonHTTP5xx, 5 * second, 0},
	} {
		// With KeepAlive, a response that does not end after the end mark costs the connection and a moment, not the result.
		for keepAlive, drain := range map[bool]time.Duration{false: 0, true: drainTime} {
			inBubble(t, fmt.Sprintf("%s, keep alive %v", name, keepAlive), func(t *testing.T) {
				c := pipeClient(t, keepAlive, tt.serve)
				start := time.Now()
				tr := c.Stream(t.Context(), Request{Timeout: 120 * second, IdleTimeout: 30 * second})
				if waited := time.Since(start); waited < tt.end || waited > tt.end+drain {
					t.Errorf("returned after %v, want %v", waited, tt.end)
				}
				if reasonOf(tr.Failure) != tt.want || tr.End != tt.end {
					t.Errorf("failure %v at %v, want %q at %v", tr.Failure, tr.End, tt.want, tt.end)
				}
				if ttft, _ := TTFT(tr); ttft != tt.ttft {
					t.Errorf("TTFT %v, want %v", ttft, tt.ttft)
				}
				if _, ok := E2E(tr); ok != (tt.want == "") {
					t.Errorf("an E2E sample: %v", ok)
				}
			})
		}
	}
}

func TestCanceled(t *testing.T) {
	withdrawn := errors.New("not wanted any more")
	hang := func(texts ...string) func(net.Conn) {
		return func(c net.Conn) { say(c, texts...); hold(c) }
	}
	for name, serve := range map[string]func(net.Conn){
		"before the head": hang(), "after the head": hang(okHead), "mid-stream": hang(okHead, events(word)),
	} {
		inBubble(t, name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(withdrawn) })
			tr := pipeClient(t, false, serve).Stream(ctx, Request{Timeout: time.Minute, IdleTimeout: time.Minute})
			if f := tr.Failure; f == nil || f.Reason != ReasonCanceled || f.Detail != withdrawn.Error() || tr.End != time.Second {
				t.Errorf("failure %v at %v, want canceled", f, tr.End)
			}
			if _, ok := TTFT(tr); ok {
				t.Error("a canceled request gave a sample")
			}
		})
	}
	inBubble(t, "the caller's own deadline", func(t *testing.T) {
		for texts, want := range map[string]Reason{okHead: ReasonTimeoutFirstToken, okHead + events(word): ReasonTimeout} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			tr := pipeClient(t, false, hang(texts)).Stream(ctx, Request{Timeout: time.Minute})
			cancel()
			if f := tr.Failure; f == nil || f.Reason != want || tr.End != time.Second {
				t.Errorf("failure %v at %v, want %s", f, tr.End, want)
			}
		}
	})
}

// An idle connection is given up before a common server does, which would cost
// the request that meets it.
func TestIdleConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var closed time.Duration
		c := pipeClient(t, true, func(c net.Conn) {
			body := events(word, done)
			say(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"+chunked(body)+"0\r\n\r\n")
			hold(c)
			closed = time.Since(start)
		})
		if f := c.Stream(t.Context(), Request{}).Failure; f != nil {
			t.Fatal(f)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if closed <= 0 || closed >= 5*time.Second {
			t.Errorf("closed after %v", closed)
		}
	})
}

// A server that refuses new connections while its streams go on is there: the client says
// when the latest bytes of any answer came.
func TestLastReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pipeClient(t, false, func(c net.Conn) {
			for _, text := range []string{okHead, events(word), events(word, stop, done)} {
				time.Sleep(10 * time.Second)
				say(c, text)
			}
		})
		dial, dialed := c.dialer, atomic.Bool{}
		c.dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if dialed.Swap(true) {
				return nil, syscall.ECONNREFUSED
			}
			return dial(ctx, network, addr)
		}
		start := time.Now()
		go c.Stream(t.Context(), Request{})
		never := time.Time{}
		for _, want := range []time.Time{never, start.Add(10 * time.Second), start.Add(20 * time.Second), start.Add(30 * time.Second), start.Add(30 * time.Second)} {
			time.Sleep(9 * time.Second)
			if refused := c.Stream(t.Context(), Request{}).Failure; reasonOf(refused) != ReasonConnect {
				t.Errorf("failure %v, want connect", refused)
			}
			if got := c.LastReceived(); !got.Equal(want) {
				t.Errorf("after %v: received at %v, want %v", time.Since(start), got.Sub(start), want.Sub(start))
			}
			time.Sleep(time.Second)
		}
	})
}

// A burst is sent a few requests at a time, but one that waits for the network holds up no other for long.
func TestTurns(t *testing.T) {
	const requests = 100
	atOnce := runtime.GOMAXPROCS(0)
	for name, tt := range map[string]struct {
		dial, took time.Duration
		most       int64
	}{
		"near": {turnTime / 2, requests * turnTime / 2, int64(atOnce)},
		"far":  {time.Second, time.Second + requests*turnTime/time.Duration(atOnce), requests},
	} {
		inBubble(t, name, func(t *testing.T) {
			c := pipeClient(t, false, func(c net.Conn) { say(c, okHead, events(word, done)) })
			dial := c.dialer
			var dialling, most atomic.Int64
			c.dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
				most.Store(max(most.Load(), dialling.Add(1)))
				time.Sleep(tt.dial)
				dialling.Add(-1)
				return dial(ctx, network, addr)
			}
			start := time.Now()
			var all sync.WaitGroup
			for range requests {
				all.Go(func() {
					if tr := c.Stream(t.Context(), Request{}); tr.Failure != nil {
						t.Errorf("failure %v", tr.Failure)
					}
				})
			}
			all.Wait()
			if took := time.Since(start); took > tt.took || most.Load() > tt.most {
				t.Errorf("took %v, want %v at most; %d at once, want %d at most", took, tt.took, most.Load(), tt.most)
			}
		})
	}
}

// inBubble runs a subtest on synctest's clock.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}
