package openai

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/config"
)

// A request that never left says nothing about the server, which must not be
// blamed for it; one that did, does.
func TestUnsent(t *testing.T) {
	asked := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		http.Error(w, "no key", http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such client", http.StatusUnauthorized)
	}))
	t.Cleanup(tokens.Close)
	none := filepath.Join(t.TempDir(), "none")
	token := func(url string) config.HTTPClientConfig {
		return config.HTTPClientConfig{OAuth2: &config.OAuth2{ClientID: "id", ClientSecret: "5ecret", TokenURL: url}}
	}
	for name, tt := range map[string]struct {
		http   config.HTTPClientConfig
		unsent bool
		says   string
	}{
		"key file missing":         {config.HTTPClientConfig{Authorization: &config.Authorization{CredentialsFile: none}}, true, none},
		"password file missing":    {config.HTTPClientConfig{BasicAuth: &config.BasicAuth{Username: "me", PasswordFile: none}}, true, none},
		"header file missing":      {config.HTTPClientConfig{HTTPHeaders: &config.Headers{Headers: map[string]config.Header{"X-Key": {Files: []string{none}}}}}, true, none},
		"no header":                {config.HTTPClientConfig{Authorization: &config.Authorization{Credentials: "two\nlines"}}, true, "header"},
		"token refused":            {token(tokens.URL), true, "401"},
		"token server not there":   {token("http://127.0.0.1:1/"), true, "refused"},
		"a server that says no":    {config.HTTPClientConfig{}, false, "no key"},
		"no server there, by name": {config.HTTPClientConfig{ProxyConfig: config.ProxyConfig{ProxyURL: config.URL{URL: &url.URL{Scheme: "http", Host: "127.0.0.1:1"}}}}, false, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newTestClient(t, Config{BaseURL: server.URL, HTTP: tt.http})
			f := c.Stream(t.Context(), Request{Timeout: patience}).Failure
			if f == nil || f.Unsent != tt.unsent || !strings.Contains(f.Detail, tt.says) || strings.Contains(f.Detail, "5ecret") {
				t.Errorf("failure %+v, want unsent %v and %q", f, tt.unsent, tt.says)
			}
			if _, f := c.Models(t.Context()); f == nil || f.Unsent != tt.unsent {
				t.Errorf("asking for the models: failure %+v, want unsent %v", f, tt.unsent)
			}
			if n := len(asked); tt.unsent && n > 0 {
				t.Errorf("the server was asked %d times", n)
			}
			for len(asked) > 0 {
				<-asked
			}
		})
	}
}
