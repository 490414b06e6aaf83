package openai

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/credential"
)

// tokenServer answers with body, and keeps the first request.
func tokenServer(t *testing.T, status int, body string) (url string, requests <-chan seen) {
	got := make(chan seen, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := seen{Method: r.Method, Path: r.URL.Path}
		if r.Header.Get("X-Request-Id") == "" || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("header %v", r.Header)
		}
		if err := json.NewDecoder(r.Body).Decode(&s.Body); err != nil {
			t.Errorf("decoding the request: %v", err)
		}
		select {
		case got <- s:
		default:
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

func TestTokenize(t *testing.T) {
	tests := map[string]struct {
		text   string
		status int
		body   string
		want   []int32
		fail   Reason
	}{
		"three":        {"he said \"<hé>\"", 200, `{"count":3,"max_model_len":8192,"tokens":[7,0,151935],"token_strs":null}`, []int32{7, 0, 151935}, ""},
		"of nothing":   {"", 200, `{"count":0,"tokens":[]}`, []int32{}, ""},
		"none":         {"a", 200, `{"count":0,"tokens":[]}`, nil, ReasonEmpty},
		"no list":      {"a", 200, `{"count":1}`, nil, ReasonProtocol},
		"null":         {"a", 200, `{"tokens":null}`, nil, ReasonProtocol},
		"words":        {"a", 200, `{"tokens":["a"]}`, nil, ReasonProtocol},
		"negative":     {"a", 200, `{"tokens":[1,-1]}`, nil, ReasonProtocol},
		"too large":    {"a", 200, `{"tokens":[2147483648]}`, nil, ReasonProtocol},
		"a fraction":   {"a", 200, `{"tokens":[1.5]}`, nil, ReasonProtocol},
		"HTML":         {"a", 200, `<html>`, nil, ReasonProtocol},
		"cut":          {"a", 200, `{"tokens":[1,`, nil, ReasonProtocol},
		"endless":      {"a", 200, `{"tokens":[1` + strings.Repeat(" ", maxTokenList) + `]}`, nil, ReasonProtocol},
		"not known":    {"a", 404, `{"detail":"Not Found"}`, nil, ReasonHTTP4xx},
		"server error": {"a", 500, ``, nil, ReasonHTTP5xx},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			url, requests := tokenServer(t, tt.status, tt.body)
			got, f := newTestClient(t, Config{BaseURL: url + "/gate/v1"}).Tokenize(t.Context(), "m", tt.text)
			if diff := cmp.Diff(tt.want, got); diff != "" || reasonOf(f) != tt.fail {
				t.Errorf("failure %v, want %q; tokens (-want +got):\n%s", f, tt.fail, diff)
			}
			want := seen{Method: "POST", Path: "/gate/tokenize", Body: map[string]any{"model": "m", "prompt": tt.text, "add_special_tokens": false}}
			if diff := cmp.Diff(want, <-requests); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDetokenize(t *testing.T) {
	tests := map[string]struct {
		ids    []int32
		status int
		body   string
		want   string
		fail   Reason
	}{
		"two":       {[]int32{7, 0}, 200, `{"prompt":" h\u00e9\n"}`, " hé\n", ""},
		"of none":   {nil, 200, `{"prompt":""}`, "", ""},
		"empty":     {[]int32{7}, 200, `{"prompt":""}`, "", ReasonEmpty},
		"no text":   {[]int32{7}, 200, `{"text":"a"}`, "", ReasonProtocol},
		"a number":  {[]int32{7}, 200, `{"prompt":1}`, "", ReasonProtocol},
		"not known": {[]int32{7}, 405, `no`, "", ReasonHTTP4xx},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			url, requests := tokenServer(t, tt.status, tt.body)
			got, f := newTestClient(t, Config{BaseURL: url}).Detokenize(t.Context(), "m", tt.ids)
			if got != tt.want || reasonOf(f) != tt.fail {
				t.Errorf("%q, failure %v, want %q, %q", got, f, tt.want, tt.fail)
			}
			ids := []any{}
			for _, id := range tt.ids {
				ids = append(ids, float64(id))
			}
			want := seen{Method: "POST", Path: "/detokenize", Body: map[string]any{"model": "m", "tokens": ids}}
			if diff := cmp.Diff(want, <-requests); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func reasonOf(f *Failure) Reason {
	if f == nil {
		return ""
	}
	return f.Reason
}

func TestTokenizeHangs(t *testing.T) {
	address := rawServer(t, func(c *net.TCPConn) { readRequest(c); waitForClose(c, false) })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, f := newTestClient(t, Config{BaseURL: "http://" + address}).Tokenize(ctx, "m", "a"); reasonOf(f) != ReasonTimeoutFirstToken {
		t.Errorf("failure %v, want timeout_first_token", f)
	}
}

// What the server says back of a credential is not repeated, whether it calls
// that an error or not.
func TestTokenizeKeepsSecrets(t *testing.T) {
	const secret = "sk-made-up-secret-4711"
	for _, status := range []int{200, 401} {
		url, _ := tokenServer(t, status, `your key was `+secret)
		c := newTestClient(t, Config{BaseURL: url, HTTP: config.HTTPClientConfig{Authorization: &config.Authorization{Credentials: secret}}})
		_, f1 := c.Tokenize(t.Context(), "m", "a")
		_, f2 := c.Detokenize(t.Context(), "m", []int32{1})
		for _, f := range []*Failure{f1, f2} {
			if f == nil || f.Detail != credential.Hidden {
				t.Errorf("status %d: failure %v", status, f)
			}
		}
	}
}
