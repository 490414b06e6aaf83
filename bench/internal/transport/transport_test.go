package transport

import (
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/config"
)

func options() Options {
	dial := new(net.Dialer).DialContext
	return Options{Files: new(Files), Dial: dial, DialToken: dial}
}

// Each way to name a credential reaches the server, and so does what is in its file later.
func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			id, secret, _ := r.BasicAuth()
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"access_token":"` + id + secret + `","token_type":"bearer"}`))
			return
		}
		said := r.Header.Get("Authorization")
		if user, password, ok := r.BasicAuth(); ok {
			said = user + ":" + password
		}
		w.Header()["Got"] = append(r.Header.Values("X-Key"), said, r.UserAgent())
	}))
	defer server.Close()
	for name, tt := range map[string]struct {
		http config.HTTPClientConfig
		want []string // KEY is what the file holds
	}{
		"key":        {config.HTTPClientConfig{Authorization: &config.Authorization{CredentialsFile: key}}, []string{"Bearer KEY", "ua"}},
		"old way":    {config.HTTPClientConfig{BearerTokenFile: key}, []string{"Bearer KEY", "ua"}},
		"other type": {config.HTTPClientConfig{Authorization: &config.Authorization{Type: "Token", Credentials: "c"}}, []string{"Token c", "ua"}},
		"password":   {config.HTTPClientConfig{BasicAuth: &config.BasicAuth{Username: "u", PasswordFile: key}}, []string{"u:KEY", "ua"}},
		"user":       {config.HTTPClientConfig{BasicAuth: &config.BasicAuth{UsernameFile: key, Password: "p"}}, []string{"KEY:p", "ua"}},
		"token":      {config.HTTPClientConfig{OAuth2: &config.OAuth2{ClientID: "id", ClientSecretFile: key, TokenURL: server.URL + "/token"}}, []string{"Bearer idKEY", "ua"}},
		"headers": {config.HTTPClientConfig{HTTPHeaders: &config.Headers{Headers: map[string]config.Header{
			"X-Key": {Values: []string{"v"}, Secrets: []config.Secret{"s"}, Files: []string{key}},
		}}}, []string{"v", "s", "KEY", "", "ua"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := options()
			o.UserAgent = "ua"
			rt, err := New(tt.http, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, now := range []string{"first", "second"} {
				write(t, key, " "+now+"\n")
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				var want []string
				for _, w := range tt.want {
					want = append(want, strings.ReplaceAll(w, "KEY", now))
				}
				if diff := cmp.Diff(want, resp.Header["Got"]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", now, diff)
				}
			}
		})
	}
}

// There is no manager of secrets, so what is to come from one is refused and not taken for
// the name of a file.
func TestReferencesAreRefused(t *testing.T) {
	for want, cfg := range map[string]config.HTTPClientConfig{
		"authorization.credentials_ref":  {Authorization: &config.Authorization{CredentialsRef: "r"}},
		"basic_auth.password_ref":        {BasicAuth: &config.BasicAuth{PasswordRef: "r"}},
		"oauth2.client_secret_ref":       {OAuth2: &config.OAuth2{ClientID: "i", TokenURL: "http://h", ClientSecretRef: "r"}},
		"oauth2.tls_config.ca_ref":       {OAuth2: &config.OAuth2{ClientID: "i", TokenURL: "http://h", TLSConfig: config.TLSConfig{CARef: "r"}}},
		"tls_config.ca_ref":              {TLSConfig: config.TLSConfig{CARef: "r"}},
		"at most one of basic_auth, oau": {BasicAuth: &config.BasicAuth{}, OAuth2: &config.OAuth2{}, BearerToken: "t"},
	} {
		if _, err := New(cfg, options()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
