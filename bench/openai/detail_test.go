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

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/credential"
)

func TestCleanDetail(t *testing.T) {
	const key = "sk-0123456789abcdef"
	tests := map[string]struct{ text, want string }{
		"nothing to do":     {"model not found", "model not found"},
		"a key":             {"bad key " + key + "!", credential.Hidden},
		"lines":             {"a\r\nb\tc\x00d\x1b[31m\u2028e\u202ef", "a  b c d [31m e f"},
		"not UTF-8":         {"a\xff\xfeb", "a??b"},
		"long":              {strings.Repeat("x", 300), strings.Repeat("x", 256)},
		"cut between runes": {strings.Repeat("x", 255) + "éé", strings.Repeat("x", 255)},
		"cut in the key":    {strings.Repeat("x", 249) + key, strings.Repeat("x", 249) + key[:7]},
		"cut later in it":   {strings.Repeat("x", 248) + key, credential.Hidden},
		"key is not shown":  {strings.Repeat("x", 256) + key, strings.Repeat("x", 256)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := cleanDetail(tt.text, []string{key}); got != tt.want {
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
	f.Add("\xff\xfe\x00", "\xff\xfe\x00\x01")
	f.Fuzz(func(t *testing.T, text, secret string) {
		got := cleanDetail(text, []string{secret})
		if len(got) > maxDetail || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\r\x00\x1b") {
			t.Errorf("%q", got)
		}
		secret = strings.TrimSpace(secret)
		if got != credential.Hidden && len(secret) >= 4 && strings.Contains(got, secret) {
			t.Errorf("%q is still in %q", secret, got)
		}
	})
}

// Whatever way a credential is configured, a server that repeats it does not
// get it into a Failure.
func TestSecretsStayInside(t *testing.T) {
	const secret = "s3cr3t=Value/42"
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
		"JSON that escapes signs": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, `{"error":"`+strings.NewReplacer("=", `\u003d`, "/", `\u002F`).Replace(secret+" "+basic)+`"}`, http.StatusBadRequest)
		},
		"HTML that escapes signs": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "<p>"+strings.NewReplacer("=", `&#x3D;`, "/", `&#47;`).Replace(secret+" "+basic), http.StatusBadGateway)
		},
		"URL in small letters": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "/login?key="+strings.ToLower(url.QueryEscape(secret+" "+basic)), http.StatusForbidden)
		},
		"stars": func(w http.ResponseWriter, r *http.Request) {
			http.Error(w, "Incorrect API key provided: "+secret[:8]+"****"+secret[len(secret)-4:]+basic[len(basic)-12:], http.StatusUnauthorized)
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
				if f.Detail != credential.Hidden {
					t.Errorf("detail %q, want %q", f.Detail, credential.Hidden)
				}
				if _, f := c.Models(t.Context()); f == nil || f.Detail != credential.Hidden {
					t.Errorf("models: failure %v, want %q", f, credential.Hidden)
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

// A name that is learned becomes a label, and part of a report and of a file's name, so
// one that repeats a credential is refused; not so one that the user gave.
func TestModelsThatRepeatACredential(t *testing.T) {
	const secret = "deepseek-5ecret=1"
	tests := []struct {
		id      string
		known   []string
		refused bool
	}{
		{"deepseek-r1", nil, true},
		{"your key is " + secret, nil, true},
		{"m 5ecret&#x3D;1 m", nil, true},
		{url.QueryEscape(url.QueryEscape(secret)), nil, true},
		{"deepseek-r1", []string{"", "deepseek-r1"}, false},
		{"deepseek-r2", []string{"deepseek-r1"}, true},
		{"deep-r1", nil, false},
	}
	for _, tt := range tests {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]any{"data": []map[string]string{{"id": "first"}, {"id": tt.id}}})
		}))
		c := newTestClient(t, Config{BaseURL: server.URL, KnownModels: tt.known, HTTP: config.HTTPClientConfig{Authorization: &config.Authorization{Credentials: secret}}})
		names, f := c.Models(t.Context())
		server.Close()
		switch {
		case tt.refused && (f == nil || names != nil || f.Error() != "protocol: status 200: the name of a model repeats a credential: name the model to ask for"):
			t.Errorf("%q: %q, failure %v", tt.id, names, f)
		case !tt.refused && (f != nil || len(names) != 2):
			t.Errorf("%q, known %q: %q, failure %v", tt.id, tt.known, names, f)
		}
	}
}

// A proxy is told a password that is in no header of the request, and its status line
// is the error's text.
func TestSecretsOfAProxy(t *testing.T) {
	const password = "pr0xy-passw0rd"
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 407 not with "+r.Header.Get("Proxy-Authorization")+"\r\n\r\n")
			_ = c.Close()
		}
	}))
	defer proxy.Close()
	place, err := url.Parse(strings.Replace(proxy.URL, "//", "//me:"+password+"@", 1))
	if err != nil {
		t.Fatal(err)
	}
	given := config.ProxyConfig{ProxyURL: config.URL{URL: place}}
	t.Setenv("HTTPS_PROXY", place.String())
	for name, way := range map[string]config.ProxyConfig{"configured": given, "of the environment": {ProxyFromEnvironment: true}} {
		c := newTestClient(t, Config{BaseURL: "https://model.test:1", HTTP: config.HTTPClientConfig{ProxyConfig: way}})
		if f := c.Stream(t.Context(), Request{Timeout: patience}).Failure; f == nil || f.Detail != credential.Hidden {
			t.Errorf("%s: failure %v, want detail %q", name, f, credential.Hidden)
		}
	}
}

// A token endpoint is asked with secrets that the endpoint never sees.
func TestSecretsOfATokenEndpoint(t *testing.T) {
	const secret, token = "client-s3cret", "t0ken-value"
	var echo func(*http.Request) string
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		if echo != nil {
			http.Error(w, "no such client: "+echo(r), http.StatusForbidden)
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
	inline := config.OAuth2{
		ClientID: "id", ClientSecret: secret, TokenURL: tokens.URL + "?tenant-key=t3nant-key",
		EndpointParams: map[string]string{"password": "us3r-passw0rd", "audience": "everyone"},
	}
	fromFile := inline
	fromFile.ClientSecret, fromFile.ClientSecretFile = "", file
	for name, oauth := range map[string]config.OAuth2{"inline": inline, "from a file": fromFile} {
		try := func() *Failure {
			c := newTestClient(t, Config{BaseURL: server.URL, HTTP: config.HTTPClientConfig{OAuth2: &oauth}})
			return c.Stream(t.Context(), Request{Timeout: patience}).Failure
		}
		echo = nil
		if f := try(); f == nil || f.Reason != ReasonHTTP4xx || strings.Contains(f.Detail, token) {
			t.Errorf("%s: failure %v, want http_4xx without the token", name, f)
		}
		for _, echo = range []func(*http.Request) string{
			func(*http.Request) string { return secret },
			func(r *http.Request) string { return r.Form.Encode() + " " + r.Header.Get("Authorization") },
			func(r *http.Request) string { return r.URL.Query().Get("tenant-key") },
			func(r *http.Request) string { return r.Form.Get("password") + r.Form.Get("audience") },
		} {
			if f := try(); f == nil || f.Detail != credential.Hidden {
				t.Errorf("%s: failure %v, want detail %q", name, f, credential.Hidden)
			}
		}
	}
}
