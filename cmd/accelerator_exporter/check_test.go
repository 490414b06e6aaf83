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

// One request each, its phases and latencies on standard output, and what to make of all, the worst last.
func TestCheckTargets(t *testing.T) {
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
		{"no key", []string{"--probe.target=" + good, "--probe.api-key-file=/nonexistent"}, 2, []string{"result  not sent\n", "/nonexistent"}},
		{"all of a file", []string{"--config.file=" + config}, 1, []string{"target      one\n", "api         completions\n", "request_duration met\n", "success\n", "target      two\n", "status 401", "\n\none: success, TTFT ", "\ntwo: http_4xx, status 401: the server refused the request (no)\n"}},
		{"a mistake in the file", []string{"--config.file=" + writeFile(t, "bad.yml", "probes: [{url: x}]", 0o644)}, 2, nil},
		{"none in the file", []string{"--config.file=" + writeFile(t, "none.yml", "probes: []", 0o644)}, 2, []string{"nothing to check"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, log logBuffer
			status := run(t.Context(), nil, append([]string{"--check=targets"}, c.args...), &out, &log)
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
func TestCheckIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		interrupt()
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	var out, log logBuffer
	status := run(ctx, nil, []string{"--check=targets", "--probe.target=" + silent.URL, "--probe.model=m"}, &out, &log)
	if status != 2 || !strings.Contains(out.String(), "canceled: canceled by the client") {
		t.Errorf("exit status %d\n%s", status, &out)
	}
}

// The cards of a host in one look: those that are ill, those that are not there, and tools that say nothing.
func TestCheckCards(t *testing.T) {
	metax, ascend := tool(t, "mx-smi", answers(t, "mx-smi")), tool(t, "npu-smi", answers(t, "npu-smi"))
	healthy := busyCards(t, "1")
	none := tool(t, "mx-smi", map[string]string{"": "No available devices were discovered\n"})
	for _, c := range []struct {
		name   string
		args   []string
		status int
		first  string
		last   string
	}{
		{"all well", []string{"--collector.metax.command=" + healthy}, 0, "metax 0: Available", "metax 7: Available"},
		{"fewer than expected", []string{"--collector.metax.command=" + healthy, "--collector.metax.expected-devices=16"}, 1, "metax 0: Available", "metax: 8 of 16 cards, 8 healthy"},
		{"ill and missing", []string{"--collector.metax.command=" + metax, "--collector.ascend.command=" + ascend}, 1, "metax 0: Available", "ascend 3: Alarm"},
		{"no card", []string{"--collector.metax.command=" + none}, 1, "", "metax: no_device: No available devices were discovered"},
		{"no answer", []string{"--collector.metax.command=/nonexistent/mx-smi"}, 2, "", "metax: not_found: "},
		{"an ill card, and no answer", []string{"--collector.metax.command=" + metax, "--collector.ascend.command=/nonexistent/npu-smi"}, 1, "metax 0: Available", "metax: 3 of 5 cards"},
		{"no tool where cards are expected", []string{"--collector.metax.expected-devices=8"}, 1, "metax: 8 cards expected, and its tool is not found", ""},
		{"no tool", []string{"--no-collector.metax"}, 2, "", "nothing to check"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("PATH", "/usr/bin:/bin")
			var out, log logBuffer
			status := run(t.Context(), nil, append(c.args, "--check=cards", "--log.level=debug"), &out, &log)
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if status != c.status || !strings.HasPrefix(lines[0], c.first) || !strings.HasPrefix(lines[len(lines)-1], c.last) || log.String() != "" {
				t.Errorf("exit status %d, want %d\n%s%s", status, c.status, &out, &log)
			}
		})
	}
}
