package openai

import (
	"context"
	"net"
	"sync"
	"time"
)

// asideTime bounds a connection that is made beside a request, to an OAuth2 token
// endpoint: it is asked without the request's context.
const asideTime = 10 * time.Second

// aside ends the connections beside requests when a request whose time is over still
// waits for one. The library tries twice, so new ones are refused until that request
// has given up.
type aside struct {
	mu      sync.Mutex
	ctx     context.Context // of the connections that are there
	cancel  context.CancelFunc
	waiting int // requests whose time is over
}

func newAside() *aside {
	a := &aside{}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// endWith ends the connections once ctx is over. The function returned is called when
// the request waits no more.
func (a *aside) endWith(ctx context.Context) (over func()) {
	stop := context.AfterFunc(ctx, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.waiting++; a.waiting > 0 {
			a.cancel()
		}
	})
	return func() {
		if stop() {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.waiting--; a.waiting == 0 && a.ctx.Err() != nil {
			a.ctx, a.cancel = context.WithCancel(context.Background())
		}
	}
}

func (a *aside) current() context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ctx
}

// dial makes a connection with dialer that ends with those of a.
func (a *aside) dial(ctx context.Context, dialer dialFunc, network, addr string) (net.Conn, error) {
	all := a.current()
	ctx, cancel := context.WithTimeout(ctx, asideTime)
	defer cancel()
	defer context.AfterFunc(all, cancel)()
	nc, err := dialer(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if err := nc.SetDeadline(time.Now().Add(asideTime)); err != nil {
		_ = nc.Close()
		return nil, err
	}
	return asideConn{nc, context.AfterFunc(all, func() { _ = nc.Close() })}, nil
}

// asideConn is forgotten when it is closed.
type asideConn struct {
	net.Conn
	forget func() bool
}

// Close implements net.Conn.
func (c asideConn) Close() error {
	c.forget()
	return c.Conn.Close()
}
