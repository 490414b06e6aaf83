package openai

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/config"
)

func TestExcerpt(t *testing.T) {
	const key = "sk-0123456789abcdef"
	for name, tt := range map[string]struct{ text, want string }{
		"nothing to do":       {"model not found", "model not found"},
		"a key":               {"bad key " + key + "!", "bad key <secret>!"},
		"twice":               {key + " is not " + key, "<secret> is not <secret>"},
		"lines":               {"a\r\nb\tc\x00d\x1b[31m\u2028e\u202ef\n", "a  b c d [31m e f"},
		"not UTF-8":           {"a\xff\xfeb", "a?b"},
		"long":                {strings.Repeat("x", 300), strings.Repeat("x", 197) + "…"},
		"cut between letters": {strings.Repeat("é", 101), strings.Repeat("é", 98) + "…"},
		"a key at the end":    {strings.Repeat("x", 190) + key, strings.Repeat("x", 190) + "<secret>"},
		"a key behind much":   {strings.Repeat("\n", 4080) + "Bearer " + key, "Bearer <secret>"},
		"a short secret":      {"yes, it is no secret", "yes, it is no secret"},
	} {
		if got := Excerpt(tt.text, "", "no", " "+key+"\n"); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// Whatever way a credential is configured, a server that repeats it does not get it into a
// Failure.
func TestSecretsStayInside(t *testing.T) {
	const secret = "s3cr3t=Value/42"
	file := filepath.Join(t.TempDir(), "secret")
	noError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600))
	header := func(h config.Header) *config.Headers {
		return &config.Headers{Headers: map[string]config.Header{"X-Api-Key": h}}
	}
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + secret))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		if r.Method == http.MethodPost {
			fmt.Fprint(w, `{"error":{"message":"`)
		}
		if _, _, ok := r.BasicAuth(); !ok { // of a pair, only the whole is hidden
			fmt.Fprint(w, secret, " ")
		}
		fmt.Fprint(w, basic, " ", r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"))
		if r.Method == http.MethodPost {
			fmt.Fprint(w, `"}}`)
		}
	}))
	defer server.Close()
	for name, cfg := range map[string]config.HTTPClientConfig{
		"authorization":     {Authorization: &config.Authorization{Credentials: secret}},
		"another type":      {Authorization: &config.Authorization{Type: "ApiKey", Credentials: secret}},
		"credentials file":  {Authorization: &config.Authorization{CredentialsFile: file}},
		"bearer token file": {BearerTokenFile: file},
		"basic":             {BasicAuth: &config.BasicAuth{Username: "user", Password: secret}},
		"basic file":        {BasicAuth: &config.BasicAuth{Username: "user", PasswordFile: file}},
		"header":            {HTTPHeaders: header(config.Header{Secrets: []config.Secret{secret}})},
		"header file":       {HTTPHeaders: header(config.Header{Files: []string{file}})},
	} {
		c := newTestClient(t, Config{BaseURL: server.URL, HTTP: cfg})
		_, models := c.Models(t.Context())
		for _, f := range []*Failure{c.Stream(t.Context(), Request{Timeout: patience}).Failure, models} {
			sentBasic := cfg.BasicAuth != nil && strings.Contains(f.Detail, basic)
			if strings.Contains(f.Detail, secret) || sentBasic || !strings.Contains(f.Detail, redacted) {
				t.Errorf("%s: %q", name, f.Detail)
			}
		}
	}
}
