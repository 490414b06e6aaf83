package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prometheus/common/config"
)

func TestCleanDetail(t *testing.T) {
	const key = `sk-a"b/c<d>e&f\g`
	asJSON, _ := json.Marshal(key)
	tests := map[string]struct{ text, want string }{
		"nothing to do":       {"model not found", "model not found"},
		"plain":               {"bad key " + key + "!", "bad key <redacted>!"},
		"twice":               {key + key, "<redacted><redacted>"},
		"JSON":                {`{"m":` + string(asJSON) + `}`, `{"m":"<redacted>"}`},
		"JSON, slash escaped": {strings.ReplaceAll(string(asJSON), "/", `\/`), `"<redacted>"`},
		"Go string":           {fmt.Sprintf("%q", key), `"<redacted>"`},
		"query":               {"/x?k=" + url.QueryEscape(key), "/x?k=<redacted>"},
		"path":                {"/x/" + url.PathEscape(key), "/x/<redacted>"},
		"HTML":                {"<p>sk-a&#34;b/c&lt;d&gt;e&amp;f\\g", "<p><redacted>"},
		"cut at the end":      {"key " + key[:10], "key <redacted>"},
		"longer one first":    {"longer" + key, "<redacted>"},
		"too short to hide":   {"abc", "abc"},
		"lines":               {"a\r\nb\tc\x00d\x1b[31m\u2028e\u202ef", "a  b c d [31m e f"},
		"not UTF-8":           {"a\xff\xfeb", "a??b"},
		"long":                {strings.Repeat("x", 300), strings.Repeat("x", 256)},
		"cut between runes":   {strings.Repeat("x", 255) + "éé", strings.Repeat("x", 255)},
		"hidden, then cut":    {strings.Repeat("x", 250) + key, strings.Repeat("x", 250) + "<redac"},
		"very long":           {strings.Repeat("x", maxRaw-10) + key, strings.Repeat("x", 256)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := cleanDetail(tt.text, []string{key, "abc", "longer" + key + "\n", ""})
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// FuzzCleanDetail: no secret that is long enough gets through, and what does
// is one line of at most 256 bytes.
func FuzzCleanDetail(f *testing.F) {
	f.Add("invalid key sk-12345678 for this", "sk-12345678")
	f.Add("aaaaaaaaaaaaaaaaaaa", "aaaa")
	f.Add("<redacted>", "redacted")
	f.Add("\xff\xfe\x00", "\xff\xfe\x00\x01")
	f.Fuzz(func(t *testing.T, text, secret string) {
		got := cleanDetail(text, []string{secret})
		if len(got) > maxDetail || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x00\x1b") {
			t.Errorf("%q", got)
		}
		secret = strings.TrimSpace(secret)
		rest := strings.ReplaceAll(got, redacted, "\n")
		if len(secret) >= minSecret && !strings.Contains(secret, "<") && strings.Contains(rest, secret) {
			t.Errorf("%q is still in %q", secret, got)
		}
	})
}

// Whatever way a credential is configured, a server that repeats it does not
// get it into a Failure.
func TestSecretsStayInside(t *testing.T) {
	const secret = "s3cr3t-Value/42"
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	basic := base64.StdEncoding.EncodeToString([]byte("user:" + secret))
	tests := map[string]config.HTTPClientConfig{
		"authorization":      {Authorization: &config.Authorization{Credentials: secret}},
		"authorization type": {Authorization: &config.Authorization{Type: "ApiKey", Credentials: secret}},
		"credentials file":   {Authorization: &config.Authorization{CredentialsFile: file}},
		"bearer token":       {BearerToken: secret},
		"bearer token file":  {BearerTokenFile: file},
		"basic":              {BasicAuth: &config.BasicAuth{Username: "user", Password: secret}},
		"basic file":         {BasicAuth: &config.BasicAuth{Username: "user", PasswordFile: file}},
		"header":             {HTTPHeaders: &config.Headers{Headers: map[string]config.Header{"X-Api-Key": {Secrets: []config.Secret{secret}}}}},
		"header value":       {HTTPHeaders: &config.Headers{Headers: map[string]config.Header{"X-Any": {Values: []string{secret}}}}},
		"header file":        {HTTPHeaders: &config.Headers{Headers: map[string]config.Header{"X-Any": {Files: []string{file}}}}},
		"cookie":             {HTTPHeaders: &config.Headers{Headers: map[string]config.Header{"Cookie": {Values: []string{"a=1; session=" + secret}}}}},
	}
	echo := func(r *http.Request) string {
		var b strings.Builder
		for name, values := range r.Header {
			fmt.Fprintf(&b, "%s=%s\n", name, strings.Join(values, ","))
		}
		return b.String()
	}
	ways := map[string]http.HandlerFunc{
		"status": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, secret+" "+basic+" "+echo(r), http.StatusUnauthorized)
		},
		"error object": func(w http.ResponseWriter, r *http.Request) {
			text, _ := json.Marshal(map[string]any{"error": secret + " " + basic + " " + echo(r)})
			_, _ = io.WriteString(w, events(string(text)))
		},
		"bad JSON":   func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, events(secret+basic)) },
		"bad stream": func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "<p>"+secret+basic+"\n") },
		"HTML": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<p>"+strings.ReplaceAll(echo(r), "\n", " ")+secret)
		},
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/"+secret+"?k="+secret, http.StatusFound)
		},
		"cut short": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "key "+secret[:len(secret)-3], http.StatusForbidden)
		},
		"malformed": func(w http.ResponseWriter, r *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(c, secret+" "+secret+"\r\n\r\n")
				_ = c.Close()
			}
		},
	}
	for way, handler := range ways {
		server := httptest.NewServer(handler)
		t.Cleanup(server.Close)
		for name, cfg := range tests {
			t.Run(way+", "+name, func(t *testing.T) {
				c := newTestClient(t, Config{BaseURL: server.URL, HTTP: cfg})
				f := c.Stream(t.Context(), Request{Timeout: patience}).Failure
				if f == nil {
					t.Fatal("no failure")
				}
				for _, part := range []string{secret, secret[:8], basic[8:]} {
					if strings.Contains(f.Error(), part) && (part != basic[8:] || cfg.BasicAuth != nil) {
						t.Errorf("%q is in %q", part, f.Error())
					}
				}
				if way != "redirect" && !strings.Contains(f.Detail, redacted) {
					t.Errorf("nothing was hidden in %q", f.Detail)
				}
				if _, f := c.Models(t.Context()); f == nil || strings.Contains(f.Error(), secret) {
					t.Errorf("models: failure %v", f)
				}
			})
		}
	}
}

// A trace is kept whatever became of its request, so what a server echoes where a
// finish_reason, a model or an id is expected must not be in it.
func TestSecretsStayOutOfTraces(t *testing.T) {
	const secret = "sk-plain-word_42"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		_, _ = io.WriteString(w, events(`{"id":"`+key+`","model":"`+key+`","choices":[{"delta":{"content":"`+key+`"},"finish_reason":"`+key+`"}]}`, done))
	}))
	defer server.Close()
	c := newTestClient(t, Config{BaseURL: server.URL, HTTP: config.HTTPClientConfig{Authorization: &config.Authorization{Credentials: secret}}})
	tr := c.Stream(t.Context(), Request{Timeout: patience})
	text, err := json.Marshal(tr)
	if err != nil || tr.Failure != nil || tr.Finish != "other" {
		t.Fatalf("%v, failure %v, finish %q", err, tr.Failure, tr.Finish)
	}
	if strings.Contains(string(text), secret) {
		t.Errorf("the key is in %s", text)
	}
}

// A token endpoint is asked with secrets that the endpoint never sees.
func TestSecretsOfATokenEndpoint(t *testing.T) {
	const secret, token = "client-s3cret", "t0ken-value"
	refuse := false
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		if refuse {
			http.Error(w, "no such client: "+r.Form.Encode()+r.Header.Get("Authorization")+secret, http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"access_token":"`+token+`","token_type":"Bearer"}`)
	}))
	defer tokens.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "not with "+r.Header.Get("Authorization"), http.StatusForbidden)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, oauth := range []config.OAuth2{
		{ClientID: "id", ClientSecret: secret, TokenURL: tokens.URL},
		{ClientID: "id", ClientSecretFile: file, TokenURL: tokens.URL},
	} {
		try := func() *Failure {
			c := newTestClient(t, Config{BaseURL: server.URL, HTTP: config.HTTPClientConfig{OAuth2: &oauth}})
			return c.Stream(t.Context(), Request{Timeout: patience}).Failure
		}
		refuse = false
		f := try()
		if f == nil || f.Reason != ReasonHTTP4xx || strings.Contains(f.Detail, token) {
			t.Errorf("failure %v, want http_4xx without the token", f)
		}
		refuse = true
		f = try()
		if f == nil || !strings.Contains(f.Detail, "no such client") || strings.Contains(f.Detail, secret) {
			t.Errorf("failure %v, want one without the secret", f)
		}
	}
}
