//go:build unix

package openai

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/config"
)

// A file that a request needs and that turns into a pipe holds no request up: it is not sent,
// says why, and the next one is sent when the file is back.
func TestFilesThatTurnIntoPipes(t *testing.T) {
	pair := newKeyPair(t, "server")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"access_token":"t","token_type":"bearer"}`)
			return
		}
		_, _ = io.WriteString(w, events(word, stop, done))
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair.tls}}
	server.StartTLS()
	t.Cleanup(server.Close)
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	write := func(text string) {
		_ = os.Remove(path)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		http config.HTTPClientConfig
		text string
	}{
		"key":         {config.HTTPClientConfig{Authorization: &config.Authorization{CredentialsFile: path}}, "a-key"},
		"password":    {config.HTTPClientConfig{BasicAuth: &config.BasicAuth{Username: "u", PasswordFile: path}}, "a-key"},
		"user":        {config.HTTPClientConfig{BasicAuth: &config.BasicAuth{UsernameFile: path, Password: "p"}}, "a-key"},
		"header":      {config.HTTPClientConfig{HTTPHeaders: &config.Headers{Headers: map[string]config.Header{"X-Key": {Files: []string{path}}}}}, "a-key"},
		"authority":   {config.HTTPClientConfig{TLSConfig: config.TLSConfig{CAFile: path}}, pair.cert},
		"certificate": {config.HTTPClientConfig{TLSConfig: config.TLSConfig{CertFile: path, Key: config.Secret(pair.key)}}, pair.cert},
		"its key":     {config.HTTPClientConfig{TLSConfig: config.TLSConfig{Cert: pair.cert, KeyFile: path}}, pair.key},
		"secret of a token": {config.HTTPClientConfig{OAuth2: &config.OAuth2{
			ClientID: "i", ClientSecretFile: path, TokenURL: server.URL + "/token", TLSConfig: config.TLSConfig{CA: pair.cert},
		}}, "a-key"},
		"authority of a token": {config.HTTPClientConfig{OAuth2: &config.OAuth2{
			ClientID: "i", ClientSecret: "s", TokenURL: server.URL + "/token", TLSConfig: config.TLSConfig{CAFile: path},
		}}, pair.cert},
	} {
		t.Run(name, func(t *testing.T) {
			write(tt.text)
			if tt.http.TLSConfig.CAFile == "" {
				tt.http.TLSConfig.CA = pair.cert
			}
			c := newTestClient(t, Config{BaseURL: server.URL, HTTP: tt.http})
			ask := func() *Failure {
				t.Helper()
				done := make(chan *Failure, 1)
				go func() { done <- c.Stream(t.Context(), Request{Timeout: patience}).Failure }()
				select {
				case f := <-done:
					return f
				case <-time.After(patience / 4):
					_ = os.WriteFile(path, nil, 0o600) // who waits for the pipe goes on
					t.Fatal("the request waits for the pipe")
					return nil
				}
			}
			_ = os.Remove(path)
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			if f := ask(); f == nil || !f.Unsent || !strings.Contains(f.Detail, "open "+path+": not a regular file") {
				t.Errorf("failure %+v", f)
			}
			write(tt.text)
			if f := ask(); f != nil {
				t.Errorf("when the file is back: %v", f)
			}
		})
	}
}
