package webserver

import (
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections bounds how many clients are connected. One too many ends the one whose
// request is waited for longest; where all have one in work, the one whose request takes
// longest. So clients that say nothing, say half or do not read keep nobody out.
type connections struct {
	limit int

	mu      sync.Mutex
	clients map[net.Conn]*client
	left    chan struct{} // has one when a client left
}

// client is one that is connected, or whose request goes on although its connection was
// closed.
type client struct {
	since  time.Time
	active bool // a request is in work since then, else one is waited for
	ended  bool
}

func newConnections(limit int) *connections {
	return &connections{limit: limit, clients: make(map[net.Conn]*client), left: make(chan struct{}, 1)}
}

// track is a server's ConnState: it is told of every change of a connection, and of a
// new one before the next is accepted.
func (c *connections) track(conn net.Conn, state http.ConnState) {
	if state == http.StateNew {
		c.enter(conn)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateIdle, http.StateActive:
		if known := c.clients[conn]; known != nil {
			known.since, known.active = time.Now(), state == http.StateActive
		}
	case http.StateClosed, http.StateHijacked:
		delete(c.clients, conn)
		select {
		case c.left <- struct{}{}:
		default:
		}
	}
}

// enter takes a new client in. Where too many go on although they were ended, it waits
// for them, and then refuses the new one.
func (c *connections) enter(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.makeRoom()
	timeout := time.After(patience)
	for len(c.clients) >= 2*c.limit {
		if timeout == nil {
			end(conn)
			return
		}
		c.mu.Unlock()
		select {
		case <-c.left:
		case <-timeout:
			timeout = nil
		}
		c.mu.Lock()
	}
	c.clients[conn] = &client{since: time.Now()}
}

// makeRoom ends a connection if there are as many as there may be.
func (c *connections) makeRoom() {
	open := 0
	var first net.Conn
	for conn, one := range c.clients {
		if one.ended {
			continue
		}
		open++
		if first == nil || one.givesWayTo(c.clients[first]) {
			first = conn
		}
	}
	if open >= c.limit {
		c.clients[first].ended = true // the server is yet to notice
		end(first)
	}
}

// givesWayTo reports whether one is ended before the other.
func (one *client) givesWayTo(other *client) bool {
	if one.active != other.active {
		return other.active
	}
	return one.since.Before(other.since)
}

// end closes a connection without TLS's goodbye, which would wait for a client that
// does not read.
func end(conn net.Conn) {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	_ = conn.Close() // the server sees it all the same
}
