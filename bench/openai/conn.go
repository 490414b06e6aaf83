package openai

import (
	"net"
	"sync/atomic"
	"time"
)

// maxLag is the longest lag behind a kernel stamp that is believed: the wall clock may have been set in between.
const maxLag = 10 * time.Second

// conn is a connection, below TLS, that tells the exchange it serves when bytes arrive.
type conn struct {
	net.Conn
	receiver *receiver // reads with kernel stamps, nil where there are none
	owner    atomic.Pointer[exchange]
	local    connAddr
}

// connAddr leads from an address to the connection, which the transport wraps.
type connAddr struct {
	net.Addr
	conn *conn
}

func newConn(nc net.Conn) *conn {
	c := &conn{Conn: nc, receiver: newReceiver(nc)}
	c.local = connAddr{Addr: nc.LocalAddr(), conn: c}
	return c
}

func (c *conn) LocalAddr() net.Addr { return &c.local }

func (c *conn) Read(p []byte) (n int, err error) {
	var stamp int64
	if c.receiver != nil {
		n, stamp, err = c.receiver.read(p)
	} else {
		n, err = c.Conn.Read(p)
	}
	now := time.Now()
	// Only now: a read of an idle connection waits for the next request's response.
	if x := c.owner.Load(); x != nil && n > 0 {
		x.afterRead(now, stamp)
	}
	return n, err
}
