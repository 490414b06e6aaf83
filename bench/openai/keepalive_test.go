package openai

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// crowd is a server, in memory, that counts its connections and can make
// requests wait for each other.
type crowd struct {
	client *Client
	made   atomic.Int32
	door   atomic.Pointer[sync.WaitGroup] // nil while it is open
}

func newCrowd(t *testing.T) *crowd {
	k := &crowd{}
	k.client = pipeClient(t, true, func(c net.Conn) {
		k.made.Add(1)
		for in := bufio.NewReader(c); ; {
			if door := k.door.Load(); door != nil {
				door.Done()
				door.Wait()
			}
			say(c, keptAnswer, chunked(events(role)), chunked(events(word, stop, done)), "0\r\n\r\n")
			req, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
		}
	})
	return k
}

// atOnce makes n users send a request each, all in flight at the same time, and
// returns how many of them had a connection made.
func (k *crowd) atOnce(t *testing.T, n int) int {
	door := new(sync.WaitGroup)
	door.Add(n)
	k.door.Store(door)
	defer k.door.Store(nil)
	return k.send(t, n, 1)
}

// send lets each of n users send rounds requests, and returns how many of them
// had a connection made.
func (k *crowd) send(t *testing.T, n, rounds int) int {
	var wg sync.WaitGroup
	var fresh atomic.Int32
	for range n {
		wg.Go(func() {
			for range rounds {
				tr := k.client.Stream(t.Context(), Request{Timeout: patience, IdleTimeout: patience})
				if tr.Failure != nil {
					t.Error(tr.Failure)
				}
				if !tr.Reused {
					fresh.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return int(fresh.Load())
}

// Users of a closed loop keep their connections from request to request.
func TestUsersKeepTheirConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users = 100
		k := newCrowd(t)
		if fresh := k.atOnce(t, users); fresh != users {
			t.Fatalf("%d connections for the first %d requests", fresh, users)
		}
		if fresh := k.send(t, users, 10); fresh != 0 || k.made.Load() != users {
			t.Errorf("%d of the next requests made a connection, %d in all", fresh, k.made.Load())
		}
	})
}

// More connections are kept than a transport of the library keeps, which is 1000.
func TestManyIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users = 1000 + 100
		k := newCrowd(t)
		for round, want := range []int{users, 0} {
			if fresh := k.atOnce(t, users); fresh != want {
				t.Errorf("round %d: %d connections made, want %d", round, fresh, want)
			}
		}
		k.client.CloseIdleConnections()
		synctest.Wait()
		if fresh := k.send(t, 1, 1); fresh != 1 {
			t.Error("a connection was left after CloseIdleConnections")
		}
	})
}

const keptAnswer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

// A connection that the server closed while it waited is not used again.
func TestServerClosesIdleConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pipeClient(t, true, func(c net.Conn) {
			say(c, keptAnswer+chunked(events(word, done))+"0\r\n\r\n")
			time.Sleep(time.Second)
		})
		for range 3 {
			if tr := c.Stream(t.Context(), Request{Timeout: time.Minute}); tr.Failure != nil || tr.Reused {
				t.Errorf("failure %v, reused %v", tr.Failure, tr.Reused)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
		}
	})
}

// A server that closes a kept connection when the next request comes may have
// worked on it: the request fails, and is not sent again, which would hide the
// failure and put on load that nobody counts.
func TestNoRequestIsSentTwice(t *testing.T) {
	for name, end := range map[string]func(*net.TCPConn){"closed": func(c *net.TCPConn) { waitForClose(c, true) }, "reset": reset} {
		t.Run(name, func(t *testing.T) {
			var connections, second atomic.Int32
			address := rawServer(t, func(c *net.TCPConn) {
				connections.Add(1)
				readRequest(c)
				_, _ = io.WriteString(c, keptAnswer+chunked(events(word, done))+"0\r\n\r\n")
				readRequest(c)
				second.Add(1)
				end(c)
			})
			c := newTestClient(t, Config{BaseURL: "http://" + address, KeepAlive: true})
			if f := c.Stream(t.Context(), Request{Timeout: patience}).Failure; f != nil {
				t.Fatal(f)
			}
			tr := c.Stream(t.Context(), Request{Timeout: patience})
			if reasonOf(tr.Failure) != ReasonConnect || !tr.Reused {
				t.Errorf("failure %v, reused %v, want connect", tr.Failure, tr.Reused)
			}
			if connections.Load() != 1 || second.Load() != 1 {
				t.Errorf("%d connections, %d second requests", connections.Load(), second.Load())
			}
		})
	}
}
