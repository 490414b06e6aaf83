package openai

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/internal/certtest"
)

// keyPair is a certificate that vouches for itself.
type keyPair struct {
	cert, key string // PEM
	tls       tls.Certificate
}

func newKeyPair(t *testing.T, name string) keyPair {
	t.Helper()
	var p keyPair
	p.cert, p.key = certtest.New(t, name)
	var err error
	if p.tls, err = tls.X509KeyPair([]byte(p.cert), []byte(p.key)); err != nil {
		t.Fatal(err)
	}
	return p
}

// tlsServer serves a good stream over TLS.
func tlsServer(t *testing.T, cfg *tls.Config) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, events(role, word))
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, events(word, stop, done))
	}))
	server.TLS = cfg
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func TestTLS(t *testing.T) {
	ours, other := newKeyPair(t, "ours"), newKeyPair(t, "other")
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(ours.cert))
	serverTLS := func(change func(*tls.Config)) *tls.Config {
		cfg := &tls.Config{Certificates: []tls.Certificate{ours.tls}}
		change(cfg)
		return cfg
	}
	mutual := func(version uint16) *tls.Config {
		return serverTLS(func(c *tls.Config) {
			c.ClientAuth, c.ClientCAs, c.MaxVersion = tls.RequireAndVerifyClientCert, pool, version
		})
	}
	trusting := config.TLSConfig{CA: ours.cert}
	with := func(p keyPair) config.TLSConfig {
		return config.TLSConfig{CA: ours.cert, Cert: p.cert, Key: config.Secret(p.key)}
	}
	// Refusing by a reset: what a client sees when its request crosses the alert.
	resetting := rawServer(t, func(c *net.TCPConn) {
		server := tls.Server(c, mutual(tls.VersionTLS13))
		_ = server.Handshake()
		reset(c)
	})
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	silent := rawServer(t, func(c *net.TCPConn) {
		_, _ = c.Read(make([]byte, 1))
		reset(c)
	})
	old := serverTLS(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS12 })

	for name, tt := range map[string]struct {
		url    string
		config config.TLSConfig
		want   Reason
		racing bool // the request is on its way while the server refuses: either can be seen first
	}{
		"TLS 1.3":                               {tlsServer(t, serverTLS(func(*tls.Config) {})).URL, trusting, "", false},
		"TLS 1.2":                               {tlsServer(t, old).URL, trusting, "", false},
		"client certificate, TLS 1.3":           {tlsServer(t, mutual(tls.VersionTLS13)).URL, with(ours), "", false},
		"no client certificate, TLS 1.3":        {tlsServer(t, mutual(tls.VersionTLS13)).URL, trusting, ReasonTLS, true},
		"wrong client certificate, TLS 1.3":     {tlsServer(t, mutual(tls.VersionTLS13)).URL, with(other), ReasonTLS, true},
		"client certificate refused by a reset": {"https://" + resetting, trusting, ReasonTLS, true},
		"unknown authority":                     {tlsServer(t, serverTLS(func(*tls.Config) {})).URL, config.TLSConfig{}, ReasonTLS, false},
		"another authority":                     {tlsServer(t, serverTLS(func(*tls.Config) {})).URL, config.TLSConfig{CA: other.cert}, ReasonTLS, false},
		"another name":                          {tlsServer(t, serverTLS(func(*tls.Config) {})).URL, config.TLSConfig{CA: ours.cert, ServerName: "elsewhere.invalid"}, ReasonTLS, false},
		"https against a plain port":            {"https://" + plain.Listener.Addr().String(), trusting, ReasonTLS, true},
		"reset in the handshake":                {"https://" + silent, trusting, ReasonTLS, true},
		"http against a TLS port":               {"http://" + tlsServer(t, serverTLS(func(*tls.Config) {})).Listener.Addr().String(), trusting, ReasonHTTP4xx, false},
	} {
		for _, keep := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, keep alive %v", name, keep), func(t *testing.T) {
				c := newTestClient(t, Config{BaseURL: tt.url, KeepAlive: keep, HTTP: config.HTTPClientConfig{TLSConfig: tt.config}})
				times := 3
				if tt.racing {
					times = 20
				}
				for i := range times {
					tr := c.Stream(t.Context(), Request{Timeout: patience})
					if reasonOf(tr.Failure) != tt.want {
						t.Fatalf("request %d: failure %v, want %q", i, tr.Failure, tt.want)
					}
					if tt.want == "" && !tr.Reused && tr.Phases.TLS <= 0 {
						t.Errorf("request %d: phases %+v", i, tr.Phases)
					}
				}
			})
		}
	}
}

// Credentials and certificates are read again as their files change.
func TestFilesAreReadAgain(t *testing.T) {
	ours, other := newKeyPair(t, "ours"), newKeyPair(t, "other")
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM([]byte(ours.cert))
	server := tlsServer(t, &tls.Config{Certificates: []tls.Certificate{ours.tls}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool})
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		noError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	c := newTestClient(t, Config{BaseURL: server.URL, KeepAlive: true, HTTP: config.HTTPClientConfig{TLSConfig: config.TLSConfig{
		CAFile: write("ca", ours.cert), CertFile: write("cert", other.cert), KeyFile: write("key", other.key),
	}}})
	want := func(what string, want Reason) {
		t.Helper()
		if f := c.Stream(t.Context(), Request{Timeout: patience}).Failure; reasonOf(f) != want {
			t.Errorf("%s: failure %v, want %q", what, f, want)
		}
	}
	want("wrong client certificate", ReasonTLS)
	write("cert", ours.cert)
	write("key", ours.key)
	want("right client certificate", "")
	write("ca", "no certificate")
	want("no authority", ReasonConnect) // not sent
	write("ca", ours.cert)
	want("all right again", "")
}
