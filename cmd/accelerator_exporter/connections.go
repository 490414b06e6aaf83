package main

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// maxConnections is how many clients may be connected at once; a few tens of KiB
// each.
const maxConnections = 512

// connections bounds how many clients are connected. One too many ends the
// connection that has waited longest for a request, so that clients that connect
// and say nothing keep nobody out.
type connections struct {
	limit int

	mu      sync.Mutex
	waiting map[net.Conn]time.Time // all of them; zero for one with a request in work
}

func newConnections(limit int) *connections {
	return &connections{limit: limit, waiting: make(map[net.Conn]time.Time)}
}

// track is a server's ConnState: it is told of every change of a connection.
func (c *connections) track(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		if len(c.waiting) >= c.limit && !c.endOne() {
			end(conn)
		}
		c.waiting[conn] = time.Now()
	case http.StateIdle:
		c.waiting[conn] = time.Now()
	case http.StateActive:
		c.waiting[conn] = time.Time{}
	case http.StateClosed, http.StateHijacked:
		delete(c.waiting, conn)
	}
}

// endOne closes the connection that has waited longest, and reports whether one
// waited.
func (c *connections) endOne() bool {
	var longest net.Conn
	var since time.Time
	for conn, t := range c.waiting {
		if !t.IsZero() && (longest == nil || t.Before(since)) {
			longest, since = conn, t
		}
	}
	if longest == nil {
		return false
	}
	c.waiting[longest] = time.Time{} // the server is yet to notice
	end(longest)
	return true
}

// end closes a connection without TLS's goodbye, which would wait for a client that
// does not read.
func end(conn net.Conn) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	_ = conn.Close() // the server sees it all the same
}
