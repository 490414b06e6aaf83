package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
)

// plainMistake is a mistake of a file as somebody at a terminal reads it.
var plainMistake = regexp.MustCompile(`^accelerator_exporter: \S+/bad.yml:1: url: .*\n$`)

// One request each, its phases and latencies on standard output, and 0 or 1.
func TestProbeOnce(t *testing.T) {
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	t.Cleanup(refusing.Close)
	good := server(t)
	config := writeFile(t, "probes.yml", fmt.Sprintf("probes: [{name: one, url: %q, max_tokens: 4, slo: {request_duration: 1h}}, {name: two, url: %q, model: m}]", good+"/v1/completions", refusing.URL), 0o644)
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"good", []string{"--probe.target=" + good + "/v1/chat/completions"}, 0, []string{"api         chat\n", "connect     ", "TTFT        ", "TPOT        ", "ITL         mean ", " gaps\n", "E2E         ", "64 output\n", "result      success\n", "request id  "}},
		{"refused", []string{"--probe.target=" + refusing.URL, "--probe.model=m"}, 1, []string{"http_4xx, status 401: the server refused the request\n", "--probe.api-key-file"}},
		{"no key", []string{"--probe.target=" + good, "--probe.api-key-file=/nonexistent"}, 1, []string{"result  not sent\n", "/nonexistent"}},
		{"all of a file", []string{"--config.file=" + config}, 1, []string{"target      one\n", "api         completions\n", "request_duration met\n", "success\n", "target      two\n", "status 401"}},
		{"a mistake in the file", []string{"--config.file=" + writeFile(t, "bad.yml", "probes: [{url: x}]", 0o644)}, 1, nil},
		{"none in the file", []string{"--config.file=" + writeFile(t, "none.yml", "probes: []", 0o644)}, 1, []string{"no target"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, log logBuffer
			status := run(t.Context(), nil, append([]string{"--probe.once"}, c.args...), &out, &log)
			if status != c.status || (log.String() != "") != (c.says == nil) || log.String() != "" && !plainMistake.MatchString(log.String()) {
				t.Errorf("exit status %d, want %d; log %q", status, c.status, &log)
			}
			for _, want := range c.says {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, &out)
				}
			}
		})
	}
}

// An interrupt cancels the request.
func TestProbeOnceIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		interrupt()
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	var out, log logBuffer
	status := run(ctx, nil, []string{"--probe.once", "--probe.target=" + silent.URL, "--probe.model=m"}, &out, &log)
	if status != 1 || !strings.Contains(out.String(), "canceled: canceled by the client") {
		t.Errorf("exit status %d\n%s", status, &out)
	}
}
