package openai

import (
	"strings"
	"testing"
)

func TestParseEndpoint(t *testing.T) {
	for in, want := range map[string]struct {
		base string
		api  API
	}{
		"http://127.0.0.1:8000":                         {"http://127.0.0.1:8000", ""},
		"http://127.0.0.1:8000/v1/":                     {"http://127.0.0.1:8000", ""},
		"http://127.0.0.1:8000//v1//":                   {"http://127.0.0.1:8000", ""},
		"HTTPS://Gate.example/llm/v1":                   {"https://Gate.example/llm", ""},
		"https://gate.example/xv1":                      {"https://gate.example/xv1", ""},
		"http://[::1]:8000/v1":                          {"http://[::1]:8000", ""},
		" http://host \n":                               {"http://host", ""},
		"http://host/v1/v1":                             {"http://host/v1", ""},
		" http://127.0.0.1:8000/v1/chat/completions/\n": {"http://127.0.0.1:8000", Chat},
		"https://gate.example/a//v1/completions":        {"https://gate.example/a", Completions},
		"https://gate.example/v1/xcompletions":          {"https://gate.example/v1/xcompletions", ""},
	} {
		base, api, err := ParseEndpoint(in)
		if err != nil || base.String() != want.base || api != want.api {
			t.Errorf("%q: %v, %q, %v, want %+v", in, base, api, err, want)
			continue
		}
		c, err := NewClient(Config{BaseURL: in})
		noError(t, err)
		if got := c.jsonRequest(t.Context(), nil, "", "/v1/models").URL.String(); got != want.base+"/v1/models" {
			t.Errorf("%q: models at %s", in, got)
		}
	}
}

func TestParseEndpointRefuses(t *testing.T) {
	for _, in := range []string{
		"", "host:8000", "127.0.0.1:8000", "//host", "/v1", "ftp://host", "unix:///run/x", "http:host", "http://", "http:///v1", "http://:8000",
		"http://user:hunter22@host", "http://hunter22@host", "http://user:hunter22%zz@host", "http://user:hunter22", "user:hunter22@host:80",
		"http://host?key=hunter22", "http://host/?", "http://host#hunter22", "http://host/#", "http://host:hunter22",
		"http://ho st/hunter22", "http://host/\x7fhunter22", "http://[::1", "http://host/%zzhunter22",
	} {
		if u, _, err := ParseEndpoint(in); err == nil || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%q: accepted as %v, or the error repeats a secret: %v", in, u, err)
		}
		if _, err := NewClient(Config{BaseURL: in}); err == nil || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("%q: a client's error: %v", in, err)
		}
	}
}
