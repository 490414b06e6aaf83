package openai

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/transport"
)

const (
	// idleConnTime is below the 5 s after which common servers close an idle
	// connection, so that a request rarely meets one that is just going.
	idleConnTime = 4 * time.Second
)

// Config says how to reach an endpoint.
type Config struct {
	// BaseURL is the endpoint with or without /v1, see [ParseBaseURL].
	BaseURL string
	// HTTP holds credentials, TLS, proxy and headers. Files among them are
	// read again as they change. Redirects are never followed and HTTP/2 is
	// never used, whatever it says.
	HTTP config.HTTPClientConfig
	// KeepAlive lets requests share connections: as many as were in flight at
	// once are kept, each for 4 s without use. Without it every request makes
	// its own, as a new user would. A request is never sent twice: when the
	// server closes a kept connection just as a request goes out on it, that
	// request fails ([ReasonConnect]).
	KeepAlive bool
	// UserAgent is sent as such, Go's own when empty.
	UserAgent string
	// KnownModels are names that are not learned from the endpoint: it may list them
	// whatever they repeat, see [Client.Models].
	KnownModels []string
}

// Client sends requests to one endpoint. It may be used from several
// goroutines at once.
type Client struct {
	base        *url.URL
	http        config.HTTPClientConfig
	keepAlive   bool
	drainTime   time.Duration // for which a finished response is read on at most
	knownModels []string
	files       transport.Files
	transport   http.RoundTripper
	dialer      dialFunc
	tokenConns  *tokenConns
	buffers     sync.Pool
}

type dialFunc func(ctx context.Context, network, addr string) (net.Conn, error)

// NewClient returns a client for cfg. It fails for a base URL that
// [ParseBaseURL] refuses and for an HTTP configuration that contradicts itself
// or names TLS files that cannot be used.
func NewClient(cfg Config) (*Client, error) {
	base, err := ParseBaseURL(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("reading base URL: %w", err)
	}
	c := &Client{base: base, http: cfg.HTTP, keepAlive: cfg.KeepAlive, drainTime: drainTime, knownModels: cfg.KnownModels, tokenConns: newTokenConns()}
	c.files.Sent = keepSecret
	c.dialer = (&net.Dialer{Control: wantStamps}).DialContext
	o := transport.Options{
		Files: &c.files, Dial: c.dial, DialToken: c.dialToken, TLS: newTLSConfig, UserAgent: cfg.UserAgent,
	}
	if cfg.KeepAlive {
		o.KeepAlive = idleConnTime
	}
	c.transport, err = transport.New(c.http, o)
	return c, err
}

// CloseIdleConnections closes the connections that wait for a next request.
func (c *Client) CloseIdleConnections() { transport.CloseIdle(c.transport) }

// dial makes the connection for an exchange, and for no longer than that lasts:
// the transport by itself would go on dialing.
func (c *Client) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	x := exchangeOf(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(x.ctx, cancel)()
	nc, err := c.dialer(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	conn := newConn(nc)
	if c.base.Scheme == "https" {
		// A handshake that hangs must end with the request too.
		conn.ready = context.AfterFunc(x.ctx, func() { _ = nc.Close() })
	}
	x.tookConn(conn)
	return conn, nil
}

// dialToken makes a connection to a token endpoint.
func (c *Client) dialToken(ctx context.Context, network, addr string) (net.Conn, error) {
	return c.tokenConns.dial(ctx, c.dialer, network, addr)
}

// newTLSConfig is the library's own, but notes when the server asks for a
// client certificate, also where there is none to give.
func newTLSConfig(ctx context.Context, cfg *config.TLSConfig, opts ...config.TLSConfigOption) (*tls.Config, error) {
	t, err := config.NewTLSConfigWithContext(ctx, cfg, opts...)
	if err != nil {
		return nil, err
	}
	certificate := t.GetClientCertificate
	t.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if x := exchangeOf(info.Context()); x != nil {
			x.certAsked()
		}
		if certificate == nil {
			return new(tls.Certificate), nil
		}
		return certificate(info)
	}
	return t, nil
}

// buffer is a zeroed buffer, to be put back.
func (c *Client) buffer() *[bufferSize]byte {
	b, ok := c.buffers.Get().(*[bufferSize]byte)
	if !ok {
		return new([bufferSize]byte)
	}
	clear(b[:])
	return b
}
