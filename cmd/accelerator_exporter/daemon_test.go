package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// A tool that hangs from the start delays neither the port nor a scrape, and a
// stop kills it.
func TestServesBeforeAToolAnswers(t *testing.T) {
	tool := writeFile(t, "mx-smi", "#!/bin/sh\nsleep 600\n", 0o755)
	p := start(t, "--collector.metax.command="+tool, "--collector.ascend", "--collector.ascend.command=/nonexistent/npu-smi")
	status, body := p.get(t, "/metrics")
	if status != http.StatusOK || !strings.Contains(body, `accelerator_collector_success{collector="metax"} 0`) {
		t.Errorf("status %d, and no health of the hung collector", status)
	}
	waitFor(t, "a missing tool that was asked for is a failing collector", func() bool {
		_, body := p.get(t, "/metrics")
		return strings.Contains(body, `accelerator_collector_failures_total{collector="ascend",reason="not_found"} 1`)
	})
	if status := p.end(t); status != 0 {
		t.Errorf("exit status %d after a stop", status)
	}
}

func TestVendorsAreFoundByTheirTool(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ht-smi"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	for _, c := range []struct {
		name string
		args []string
		want string
	}{
		{"the OEM name is found", nil, "metax=ht-smi"},
		{"declined", []string{"--no-collector.metax"}, ""},
		{"asked for though absent", []string{"--collector.ascend"}, "metax=ht-smi ascend=npu-smi"},
		{"named", []string{"--collector.metax.command=/x/mx-smi"}, "metax=/x/mx-smi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := parseFlags(c.args, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range s.enabledVendors() {
				got = append(got, v.Name+"="+v.Command)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("enabled %q, want %q", got, c.want)
			}
		})
	}
}

func TestPages(t *testing.T) {
	p := start(t, "--no-collector.metax", "--no-collector.ascend", "--web.telemetry-path=/m")
	for path, want := range map[string]string{
		"/":          "accelerator_exporter",
		"/m":         "accelerator_exporter_build_info",
		"/-/healthy": "healthy",
	} {
		if status, body := p.get(t, path); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("GET %s: %d without %q", path, status, want)
		}
	}
	if status, _ := p.get(t, "/metrics"); status != http.StatusNotFound {
		t.Errorf("GET /metrics beside --web.telemetry-path: %d", status)
	}
	if status, _ := fetch(t, http.MethodPost, p.url+"/-/reload"); status != http.StatusForbidden {
		t.Errorf("POST /-/reload without --web.enable-lifecycle: %d", status)
	}
}

func TestReload(t *testing.T) {
	probes := func(name string) string {
		return fmt.Sprintf("probes: [{name: %s, url: %q, model: m, interval: 1h}]\n", name, "http://127.0.0.1:9")
	}
	config := writeFile(t, "probes.yml", probes("before"), 0o644)
	p := start(t, "--no-collector.metax", "--no-collector.ascend", "--config.file="+config, "--web.enable-lifecycle")
	rewrite := func(text string) {
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	hasTarget := func(name string) bool {
		_, body := p.get(t, "/metrics")
		return strings.Contains(body, fmt.Sprintf(`accelerator_probe_requests_total{model="m",target=%q} `, name))
	}
	rewrite("probes: [{unknown_field: 1}]\n")
	if status, body := fetch(t, http.MethodPost, p.url+"/-/reload"); status != http.StatusInternalServerError || !strings.Contains(body, "unknown_field") {
		t.Errorf("a bad configuration: %d %q", status, body)
	}
	_, body := p.get(t, "/metrics")
	if !hasTarget("before") || !strings.Contains(body, "accelerator_exporter_config_last_reload_successful 0") {
		t.Error("a bad configuration did not leave the old one in place, or does not show")
	}
	rewrite(probes("after"))
	if status, _ := fetch(t, http.MethodPost, p.url+"/-/reload"); status != http.StatusOK || !hasTarget("after") || hasTarget("before") {
		t.Errorf("a good configuration: %d", status)
	}
	rewrite(probes("hangup"))
	p.hangup <- syscall.SIGHUP
	waitFor(t, "SIGHUP reloads", func() bool { return hasTarget("hangup") })
	if status, _ := fetch(t, http.MethodGet, p.url+"/-/reload"); status != http.StatusMethodNotAllowed {
		t.Errorf("GET /-/reload: %d", status)
	}
}

// A page of another site, open in a browser that knows the password, cannot reload.
func TestReloadFromAnotherSite(t *testing.T) {
	p := start(t, "--no-collector.metax", "--no-collector.ascend", "--web.enable-lifecycle")
	for origin, want := range map[string]int{"http://evil.example": http.StatusForbidden, "null": http.StatusForbidden, p.url: http.StatusOK} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/-/reload", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Origin", origin)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("from %s: %d, want %d", origin, response.StatusCode, want)
		}
	}
}

// The API key reaches the server and nothing else: no log, metric or page.
func TestSecretsStaySecret(t *testing.T) {
	const secret = "sk-verysecret-0123456789"
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "no such key: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
	}))
	t.Cleanup(echo.Close)
	key := writeFile(t, "key", secret+"\n", 0o600)
	p := start(t, "--no-collector.metax", "--no-collector.ascend", "--log.level=debug", "--probe.target="+echo.URL,
		"--probe.model=m", "--probe.interval=100ms", "--probe.api-key-file="+key)
	waitFor(t, "probes fail with 401", func() bool {
		_, body := p.get(t, "/metrics")
		return regexp.MustCompile(`accelerator_probe_failures_total\{model="m",reason="http_4xx",target="[^"]*"\} [1-9]`).MatchString(body)
	})
	_, metrics := p.get(t, "/metrics")
	_, landing := p.get(t, "/")
	if !strings.Contains(landing, "http_4xx") {
		t.Error("the landing page does not show the failing probe")
	}
	for name, text := range map[string]string{"log": p.log.String(), "metrics": metrics, "landing page": landing} {
		if strings.Contains(text, "verysecret") {
			t.Errorf("the %s holds the API key", name)
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"unknown flag", []string{"--nonsense"}, 2, "nonsense"},
		{"bad interval", []string{"--collector.interval=0s"}, 2, "collector.interval"},
		{"interval without a unit", []string{"--probe.interval=30"}, 2, `missing unit in duration "30", try --help`},
		{"a flag of the file", []string{"--probe.prompt=hello"}, 2, "unknown long flag '--probe.prompt'"},
		{"telemetry path of another page", []string{"--web.telemetry-path=/-/healthy"}, 2, "--web.telemetry-path must be a path such as /metrics"},
		{"a variable with its value, which ps would show", []string{"--collector.environment=KEY=secret"}, 2, "without a value"},
		{"no target to check", []string{"--check=targets"}, 2, "--probe.target or --config.file"},
		{"an unknown check", []string{"--check=card"}, 2, "must be one of all,cards,targets"},
		{"two wrong flags", []string{"--probe.target=http://h", "--probe.max-tokens=0", "--probe.interval=1ms"}, 1, "--probe.max-tokens: must be 1 to 131072"},
		{"target without a scheme", []string{"--probe.target=127.0.0.1:8000"}, 1, "probe.target"},
		{"missing configuration", []string{"--config.file=/nonexistent.yml"}, 1, "/nonexistent.yml"},
		{"nothing to check", []string{"--config.check"}, 1, "accelerator_exporter: nothing to check: no --config.file, --web.config.file or --probe.target given\n"},
		{"missing API key file", []string{"--config.check", "--probe.target=http://h", "--probe.api-key-file=/nonexistent"}, 1, "/nonexistent"},
		{"web configuration that is a folder", []string{"--web.config.file=/"}, 1, "is a directory"},
		{"ids to trust without a kubelet", []string{"--kubernetes.trust-device-ids=ascend"}, 2, "--kubernetes.trust-device-ids needs --kubernetes.pod-resources"},
		{"address in use or not ours", []string{"--web.listen-address=192.0.2.1:1"}, 1, `msg="cannot serve" err="--web.listen-address: listen tcp 192.0.2.1:1: `},
		{"nothing to probe", []string{"--web.listen-address=192.0.2.1:1"}, 1, `msg="nothing is probed; to probe a server, set --probe.target or --config.file"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log logBuffer
			status := run(t.Context(), nil, append([]string{"--no-collector.metax", "--no-collector.ascend"}, c.args...), io.Discard, &log)
			if status != c.status || !strings.Contains(log.String(), c.says) {
				t.Errorf("exit status %d, want %d, with %q in:\n%s", status, c.status, c.says, &log)
			}
		})
	}
}

// --config.check opens what the program would read later, and names all that is not
// right.
func TestConfigCheck(t *testing.T) {
	probe := func(http string) string {
		return "probes: [{name: a, url: 'http://127.0.0.1:8000', http: " + http + "}]\n"
	}
	for _, c := range []struct {
		name        string
		probes, web string
		says        []string // none for a good one
	}{
		{"good", probe("{authorization: {credentials_file: key}}"), "basic_auth_users: {}\n", nil},
		{"bad field", "probes: [{name: a, url: 'http://h:1', api: sing}]\n", "", []string{"probes.yml:1: api: must be chat or completions"}},
		{"everything at once", "probes:\n- {name: a, url: 'http://h:1', max_tokens: 0}\n- name: b\n- {url: 'http://h:1', http: {authorization: {credentials_file: none}}}\n", "tls_config: {}\n", []string{
			"probes.yml:2: max_tokens: must be 1 to 131072", "probes.yml:3: url: URL must start with http:// or https://", "probes.yml:4: http: open ", "/none: no such file", "--web.config.file",
		}},
		{"unknown vendor", "probes:\n- url: 'http://h:1'\n  devices: {amd: ['0']}\n", "", []string{"accelerator_exporter: ", `probes.yml:2: devices: no vendor is called "amd", known: metax, ascend`}},
		{"the flag's name", "probes:\n- url: 'http://h:1'\n- {url: 'http://127.0.0.1:9/v1'}\n", "", []string{`probes.yml:3: name: the probe of --probe.target is named "127.0.0.1:9" too: give this one another name, or leave --probe.target out`}},
		{"empty", "", "", []string{"probes.yml:1: probes: is missing"}},
		{"two files missing", probe("{basic_auth: {username_file: user, password_file: pw}}"), "", []string{"/user: no such file", "/pw: no such file"}},
		{"a header's file missing", probe("{http_headers: {X-Key: {files: [none]}}}"), "", []string{"probes.yml:1: http: open ", "/none: no such file"}},
		{"client secret missing", probe("{oauth2: {client_id: i, token_url: 'http://h/', client_secret_file: ./none}}"), "", []string{"/none: no such file"}},
		{"certificate missing", probe("{tls_config: {cert_file: c.pem, key_file: k.pem}}"), "", []string{"/c.pem: no such file"}},
		{"web certificate missing", probe("{}"), "tls_server_config: {cert_file: web.pem, key_file: web.key}\n", []string{"--web.config.file", "web.pem"}},
		{"web field unknown", probe("{}"), "tls_config: {}\n", []string{"field tls_config not found"}},
		{"both wrong", probe("{authorization: {credentials_file: none}}"), "basic_auth_users: {a: b}\n", []string{"/none: no such file", "--web.config.file"}},
		{"secret in the wrong place", probe("{}"), "basic_auth_users: 5ecret\n", []string{"--web.config.file"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"probes.yml": c.probes, "web.yml": c.web, "key": "sk-1\n", "empty": ""} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var out, log logBuffer
			status := run(t.Context(), nil, []string{"--config.check", "--config.file=" + dir + "/probes.yml", "--probe.target=http://127.0.0.1:9", "--web.config.file=" + dir + "/web.yml"}, &out, &log)
			if status != min(len(c.says), 1) || (status == 0) != strings.Contains(out.String(), "the configuration is valid, probes: 2\n") {
				t.Errorf("exit status %d\n%s%s", status, &out, &log)
			}
			for line := range strings.Lines(log.String()) {
				if !strings.HasPrefix(line, "accelerator_exporter: ") {
					t.Errorf("not a plain line: %s", line)
				}
			}
			for _, want := range c.says {
				if !strings.Contains(log.String(), want) {
					t.Errorf("no %q in:\n%s", want, &log)
				}
			}
			if strings.Contains(log.String(), "5ecret") {
				t.Errorf("a secret in the log:\n%s", &log)
			}
		})
	}
}

func TestLogFormats(t *testing.T) {
	p := start(t, "--no-collector.metax", "--no-collector.ascend", "--log.format=json")
	if !strings.HasPrefix(p.log.String(), "{") || !strings.Contains(p.log.String(), `"caller":"daemon.go:`) {
		t.Errorf("not JSON with a caller:\n%s", p.log)
	}
}
