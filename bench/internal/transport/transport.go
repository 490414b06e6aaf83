// Package transport makes HTTP transports from Prometheus' HTTP client configuration.
// They differ from the library's own: a file of the configuration is read without waiting
// for what is none, a response's header has a bound, and any number of connections is kept.
package transport

import (
	"context"
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/common/config"
)

const (
	// maxHeader is in bytes, of a response's header together with informational ones
	// before it; parsed, a header of short fields takes some 20 times that.
	maxHeader = 64 << 10
	// maxToken is how many bytes a token endpoint may send over a connection; the
	// library reads 1 MiB of an answer, but 10 MiB of its header.
	maxToken = 2 << 20
	// handshakeTime bounds a TLS handshake.
	handshakeTime = 10 * time.Second
	// signedGrant is the grant of OAuth2 that takes a signed token in place of a secret.
	signedGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
)

// errToken ends the reading of what a token endpoint sends without end.
var errToken = fmt.Errorf("the token endpoint sends more than %d MiB", maxToken>>20)

// Options say how connections are made. All but KeepAlive and TLS must be set.
type Options struct {
	// Files reads the files that the configuration names.
	Files *Files
	// Dial makes a connection to the endpoint, DialToken one to the endpoint of OAuth2
	// tokens. The context of the latter is no request's.
	Dial, DialToken config.DialContextFunc
	UserAgent       string
	// KeepAlive is for how long a connection without a request is kept. Each request
	// makes its own where it is 0.
	KeepAlive time.Duration
	// TLS is the library's where it is nil.
	TLS config.NewTLSConfigFunc
}

// New returns a transport for cfg. Files are read again for each request; HTTP/2 is not
// used, whatever cfg says. It fails for a configuration that contradicts itself, and for
// files of TLS that cannot be used, which takes 5 s for each that hangs.
func New(cfg config.HTTPClientConfig, o Options) (http.RoundTripper, error) {
	cfg, err := prepared(cfg)
	if err != nil {
		return nil, err
	}
	if o.TLS == nil {
		o.TLS = config.NewTLSConfigWithContext
	}
	tlsConfig, err := o.TLS(context.Background(), &cfg.TLSConfig, config.WithSecretManager(certificates{o.Files}))
	if err != nil {
		return nil, fmt.Errorf("configuring HTTP: %w", err)
	}
	around := func(t *tls.Config) (http.RoundTripper, error) { return o.layers(&cfg, t), nil }
	if t := cfg.TLSConfig; t.CARef+t.CertRef+t.KeyRef != "" {
		rt, err := config.NewTLSRoundTripper(tlsConfig, config.TLSRoundTripperSettings{
			CA: o.Files.certificate(t.CARef), Cert: o.Files.certificate(t.CertRef), Key: o.Files.certificate(t.KeyRef),
		}, around)
		if err != nil {
			return nil, fmt.Errorf("configuring HTTP: %w", err)
		}
		return rt, nil
	}
	return around(tlsConfig)
}

// CheckTLS returns why the files of TLS that cfg names cannot be used now.
func CheckTLS(cfg config.HTTPClientConfig, files *Files) error {
	cfg, err := prepared(cfg)
	if err == nil {
		_, err = config.NewTLSConfig(&cfg.TLSConfig, config.WithSecretManager(certificates{files}))
	}
	return err
}

// layers are the connections, and around them what adds to a request's header.
func (o *Options) layers(cfg *config.HTTPClientConfig, t *tls.Config) http.RoundTripper {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	var rt http.RoundTripper = &http.Transport{
		Proxy:                  cfg.Proxy(),
		ProxyConnectHeader:     cfg.GetProxyConnectHeader(),
		DialContext:            o.Dial,
		TLSClientConfig:        t,
		TLSHandshakeTimeout:    handshakeTime,
		Protocols:              protocols,
		DisableKeepAlives:      o.KeepAlive == 0,
		IdleConnTimeout:        o.KeepAlive,
		MaxIdleConnsPerHost:    math.MaxInt,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
	}
	if a := cfg.Authorization; a != nil {
		rt = config.NewAuthorizationCredentialsRoundTripper(a.Type, o.Files.reader(a.Credentials, a.CredentialsFile), rt)
	}
	if b := cfg.BasicAuth; b != nil {
		rt = config.NewBasicAuthRoundTripper(o.Files.name(b.Username, b.UsernameFile), o.Files.reader(b.Password, b.PasswordFile), rt)
	}
	if a := cfg.OAuth2; a != nil {
		key := o.Files.reader(a.ClientSecret, a.ClientSecretFile)
		if a.GrantType == signedGrant {
			key = o.Files.reader(a.ClientCertificateKey, a.ClientCertificateKeyFile)
		}
		rt = config.NewOAuth2RoundTripper(key, a, rt,
			config.WithDialContextFunc(o.dialToken), config.WithKeepAlivesDisabled(), config.WithSecretManager(certificates{o.Files}))
	}
	if cfg.HTTPHeaders != nil {
		rt = headers{rt, cfg.HTTPHeaders, o.Files}
	}
	if o.UserAgent != "" {
		rt = config.NewUserAgentRoundTripper(o.UserAgent, rt)
	}
	return rt
}

// dialToken makes a connection to a token endpoint, which ends by itself.
func (o *Options) dialToken(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := o.DialToken(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &bounded{Conn: c, left: maxToken}, nil
}

// bounded is a connection that gives so many bytes.
type bounded struct {
	net.Conn
	left int
}

// Read implements [net.Conn].
func (c *bounded) Read(p []byte) (int, error) {
	if c.left <= 0 {
		return 0, errToken
	}
	n, err := c.Conn.Read(p[:min(len(p), c.left)])
	c.left -= n
	return n, err
}

// headers adds those of the configuration, which the library reads from files as they are.
type headers struct {
	http.RoundTripper
	add   *config.Headers
	files *Files
}

// RoundTrip implements [http.RoundTripper].
func (h headers) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, header := range h.add.Headers {
		for _, value := range header.Values {
			req.Header.Add(name, value)
		}
		for _, value := range header.Secrets {
			req.Header.Add(name, string(value))
		}
		for _, path := range header.Files {
			value, err := h.files.credential(req.Context(), path)
			if err != nil {
				return nil, fmt.Errorf("unable to read the file of header %s: %w", name, err)
			}
			req.Header.Add(name, value)
		}
	}
	return h.RoundTripper.RoundTrip(req)
}

// CloseIdleConnections closes the connections that wait for a next request.
func (h headers) CloseIdleConnections() { CloseIdle(h.RoundTripper) }

// CloseIdle closes the connections of rt that wait for a next request.
func CloseIdle(rt http.RoundTripper) {
	if c, ok := rt.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
