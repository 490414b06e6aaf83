package openai

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/common/config"
)

const (
	idleConnTime = 4 * time.Second  // below the 5 s after which common servers close an idle connection
	connectTime  = 30 * time.Second // for a TCP connection
	turnTime     = time.Millisecond // of a request that is being sent: what takes longer waits for the network
)

// Config says how to reach an endpoint.
type Config struct {
	BaseURL string // see [ParseEndpoint]
	// HTTP holds credentials, TLS, proxy and headers. Files among them are read again
	// for each request. Redirects are never followed and HTTP/2 is never used.
	HTTP      config.HTTPClientConfig
	KeepAlive bool   // requests share connections, each kept for 4 s without use
	UserAgent string // Go's own when empty
	// Dial makes the connections, nil for TCP with the kernel's stamps.
	Dial config.DialContextFunc
}

// Client sends requests to one endpoint. It may be used from several goroutines at once.
type Client struct {
	base      string
	keepAlive bool
	transport http.RoundTripper
	fresh     http.RoundTripper // makes a new connection for each request
	dialer    config.DialContextFunc
	turns     chan struct{} // an element for each request that is being sent
	made      time.Time     // a nanosecond before NewClient
	received  atomic.Int64  // nanoseconds from made until an answer last brought bytes, 0 for never
}

// NewClient returns a client for cfg. It fails for a URL that [ParseEndpoint] refuses, and
// for an HTTP configuration that contradicts itself or names TLS files that cannot be used.
func NewClient(cfg Config) (*Client, error) {
	base, _, err := ParseEndpoint(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("reading base URL: %w", err)
	}
	if err := cfg.HTTP.Validate(); err != nil {
		return nil, fmt.Errorf("checking HTTP configuration: %w", err)
	}
	c := &Client{base: base.String(), keepAlive: cfg.KeepAlive, made: time.Now().Add(-1), dialer: cfg.Dial, turns: make(chan struct{}, runtime.GOMAXPROCS(0))}
	if c.dialer == nil {
		c.dialer = (&net.Dialer{Timeout: connectTime, Control: wantStamps}).DialContext
	}
	if c.fresh, err = c.newTransport(cfg, config.WithKeepAlivesDisabled()); err != nil {
		return nil, err
	}
	if c.transport = c.fresh; cfg.KeepAlive {
		prepareBurst()
		c.transport, err = c.newTransport(cfg, config.WithIdleConnTimeout(idleConnTime))
	}
	return c, err
}

func (c *Client) newTransport(cfg Config, keeping config.HTTPClientOption) (http.RoundTripper, error) {
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := c.dialer(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return newConn(nc), nil
	}
	rt, err := config.NewRoundTripperFromConfig(cfg.HTTP, "openai", keeping, config.WithDialContextFunc(dial),
		config.WithNewTLSConfigFunc(newTLSConfig), config.WithHTTP2Disabled(), config.WithUserAgent(cfg.UserAgent))
	if err != nil {
		return nil, fmt.Errorf("configuring HTTP: %w", err)
	}
	return rt, nil
}

// takeTurn waits until a request may be sent, and returns what lets the next one do so. To connect and send a burst at
// once would keep the processors from reading the answers that come meanwhile: one read would then take several chunks.
func (c *Client) takeTurn(ctx context.Context) (done func()) {
	select {
	case c.turns <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	done = sync.OnceFunc(func() { <-c.turns })
	time.AfterFunc(turnTime, done)
	return done
}

// CloseIdleConnections closes the connections that wait for a next request.
func (c *Client) CloseIdleConnections() {
	(&http.Client{Transport: c.transport}).CloseIdleConnections()
}

// LastReceived is when bytes of any answer last came; zero before the first. A server from which
// they come is there, although it may refuse new connections.
func (c *Client) LastReceived() time.Time {
	since := time.Duration(c.received.Load())
	if since == 0 {
		return time.Time{}
	}
	return c.made.Add(since)
}

// newTLSConfig is the library's own, but notes when the server asks for a client
// certificate: with TLS 1.3 its refusal comes after the handshake, and may come as a reset.
func newTLSConfig(ctx context.Context, cfg *config.TLSConfig, opts ...config.TLSConfigOption) (*tls.Config, error) {
	t, err := config.NewTLSConfigWithContext(ctx, cfg, opts...)
	if err != nil {
		return nil, err
	}
	certificate := t.GetClientCertificate
	t.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if x, ok := info.Context().Value(exchangeKey{}).(*exchange); ok {
			x.certAsked.Store(true)
		}
		if certificate == nil {
			return new(tls.Certificate), nil
		}
		return certificate(info)
	}
	return t, nil
}

// ParseEndpoint reads the URL of an endpoint, with or without /v1, or of an API (…/v1/chat/completions). It returns
// the base, without /v1 and a slash at its end, and the API that the path names, else "". No error repeats a part of
// s: it may hold a secret.
func ParseEndpoint(s string) (base *url.URL, api API, err error) {
	u, err := url.Parse(strings.TrimSpace(s))
	switch {
	case err != nil:
		return nil, "", errors.New("not a URL of the form http://host:port")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, "", errors.New("URL must start with http:// or https://")
	case u.User != nil:
		return nil, "", errors.New("URL must not hold a user name or password: use the http configuration")
	case strings.ContainsAny(s, "?#"):
		return nil, "", errors.New("URL must not have a query or a fragment")
	case u.Hostname() == "":
		return nil, "", errors.New("URL has no host")
	}
	path := strings.TrimRight(u.Path, "/")
	for _, a := range []API{Chat, Completions} {
		if rest, ok := strings.CutSuffix(path, a.path()); ok {
			path, api = rest, a
		}
	}
	path = strings.TrimRight(strings.TrimSuffix(path, "/v1"), "/")
	return &url.URL{Scheme: u.Scheme, Host: u.Host, Path: path}, api, nil
}

// Port is the port of an endpoint's URL, the scheme's own where the URL names none.
func Port(u *url.URL) string {
	return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
}

// HostPort is the label target of a probe without a name and of a load test: the two join.
func HostPort(u *url.URL) string { return net.JoinHostPort(u.Hostname(), Port(u)) }

// TargetName is [HostPort] of an endpoint as text; what is no URL stays as it is.
func TargetName(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return endpoint
	}
	return HostPort(u)
}
