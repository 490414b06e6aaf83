package openai

import (
	"context"
	"net"
	"sync"
	"time"
)

// tokenConnTime bounds a connection to an OAuth2 token endpoint, which the library
// asks without the request's context.
const tokenConnTime = 10 * time.Second

// tokenConns ends the connections to a token endpoint when a request whose time is
// over still waits for one. The library tries twice, so new ones are refused until
// that request has given up.
type tokenConns struct {
	mu      sync.Mutex
	ctx     context.Context // of the connections that are there
	cancel  context.CancelFunc
	waiting int // requests whose time is over
}

func newTokenConns() *tokenConns {
	t := &tokenConns{}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// endWith ends the connections once ctx is over. The function returned is called when
// the request waits no more.
func (t *tokenConns) endWith(ctx context.Context) (over func()) {
	stop := context.AfterFunc(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.waiting++; t.waiting > 0 {
			t.cancel()
		}
	})
	return func() {
		if stop() {
			return
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.waiting--; t.waiting == 0 && t.ctx.Err() != nil {
			t.ctx, t.cancel = context.WithCancel(context.Background())
		}
	}
}

// dial makes a connection that ends with the others.
func (t *tokenConns) dial(ctx context.Context, dialer dialFunc, network, addr string) (net.Conn, error) {
	t.mu.Lock()
	all := t.ctx
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, tokenConnTime)
	defer cancel()
	defer context.AfterFunc(all, cancel)()
	nc, err := dialer(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if err := nc.SetDeadline(time.Now().Add(tokenConnTime)); err != nil {
		_ = nc.Close()
		return nil, err
	}
	return tokenConn{nc, context.AfterFunc(all, func() { _ = nc.Close() })}, nil
}

// tokenConn is forgotten when it is closed.
type tokenConn struct {
	net.Conn
	forget func() bool
}

// Close implements net.Conn.
func (c tokenConn) Close() error {
	c.forget()
	return c.Conn.Close()
}
