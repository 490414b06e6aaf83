package openai

import (
	"net"
	"sync/atomic"
	"time"
)

// maxLag bounds what is believed of a kernel stamp: the wall clock it is compared with
// may have been set in between.
const maxLag = 10 * time.Second

// conn is a connection, below TLS, that notes when bytes arrive for the exchange it serves.
// It has one reader at a time.
type conn struct {
	net.Conn
	receiver *receiver // reads with kernel stamps, nil where there are none
	owner    atomic.Pointer[exchange]
	local    connAddr
}

// connAddr leads from a connection's address to the connection: the wrappers that the
// transport puts around it hide everything but net.Conn's methods.
type connAddr struct {
	net.Addr
	conn *conn
}

func newConn(nc net.Conn) *conn {
	c := &conn{Conn: nc, receiver: newReceiver(nc)}
	c.local = connAddr{Addr: nc.LocalAddr(), conn: c}
	return c
}

// LocalAddr is the local address, see connAddr.
func (c *conn) LocalAddr() net.Addr { return &c.local }

// Read reads, and reports to the exchange it works for.
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
