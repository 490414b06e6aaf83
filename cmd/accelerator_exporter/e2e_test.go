//go:build e2e

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/collector"
)

// host is a machine with stand-ins: the real programs, started as a user would.
type host struct {
	dir      string // binaries, links, configuration, state
	vllm     string // address of the model server
	exporter string // address of the exporter
	process  *exec.Cmd
}

// TestEndToEnd starts the built programs on loopback and looks at them from
// outside, as Prometheus and an operator do.
func TestEndToEnd(t *testing.T) {
	h := startHost(t)
	t.Run("cards, nodes and histograms", h.shows)
	t.Run("details", h.details)
	t.Run("every probe failure reason", h.probeFailures)
	t.Run("every tool fault", h.toolFaults)
	t.Run("promtool", h.promtool)
	t.Run("protobuf with native histograms", h.protobuf)
	t.Run("the log's reader goes away", h.logReaderGone)
	t.Run("SIGTERM", h.terminate)
	t.Run("10,000 scrapes", h.manyScrapes)
}

func startHost(t *testing.T) *host {
	t.Helper()
	h := &host{dir: t.TempDir()}
	h.buildPrograms(t)
	for _, v := range collector.Vendors() {
		for _, tool := range append(v.Tools[:1:1], v.NetworkTools[:min(1, len(v.NetworkTools))]...) {
			if err := os.Symlink("fakehost", h.path(tool)); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, h.vllm = h.start(t, regexp.MustCompile(`address=http://(\S+)`), "fakehost", "vllm", "--listen-address=127.0.0.1:0", "--speed=50", "--background-users=10")
	h.writeProbes(t, "64")
	h.process, h.exporter = h.start(t, regexp.MustCompile(`Listening on.* address=(\S+)`), "accelerator_exporter",
		append(h.collecting(), "--web.enable-lifecycle", "--config.file="+h.path("probes.yml"))...)
	return h
}

// collecting are the arguments of an exporter of the stand-ins of all vendors.
func (h *host) collecting() []string {
	args := []string{
		"--web.listen-address=127.0.0.1:0", "--collector.environment=FAKEHOST_STATE", "--collector.detail=full",
		"--collector.ascend.hccn-command=" + h.path("hccn_tool"),
		"--collector.interval=1s", "--collector.inventory-interval=4s", "--collector.timeout=5s",
	}
	for _, v := range collector.Vendors() {
		args = append(args, "--collector."+v.Name+".command="+h.path(v.Tools[0]))
	}
	return args
}

func (h *host) buildPrograms(t *testing.T) {
	t.Helper()
	build := exec.Command("go", "build", "-o", h.dir+"/", "../accelerator_exporter", "../fakehost")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the programs: %v\n%s", err, out)
	}
	if err := os.MkdirAll(h.path("state"), 0o700); err != nil {
		t.Fatal(err)
	}
}

func (h *host) path(name string) string { return filepath.Join(h.dir, name) }

// start runs one of the programs until the test ends, and returns the address
// that it logs.
func (h *host) start(t *testing.T, address *regexp.Regexp, name string, args ...string) (*exec.Cmd, string) {
	t.Helper()
	log, err := os.Create(h.path(name + ".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(h.path(name), args...)
	cmd.Env = append(os.Environ(), "FAKEHOST_STATE="+h.path("state"))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("log of %s:\n%s", name, text)
		}
	})
	var found string
	eventually(t, name+" serves", func() error {
		text, err := os.ReadFile(log.Name())
		m := address.FindSubmatch(text)
		if m == nil {
			return fmt.Errorf("no address in its log: %w\n%s", errors.Join(err, errors.New("not there yet")), text)
		}
		found = string(m[1])
		return nil
	})
	return cmd, found
}

// failureTargets are endpoints that fail in every way a request can, except by
// being cancelled.
func (h *host) failureTargets() map[openai.Reason]string {
	fault := func(name string) string { return "http://" + h.vllm + "/fault/" + name }
	return map[openai.Reason]string{
		openai.ReasonDNS:               "http://" + strings.Repeat("x", 64) + ".example:8000",
		openai.ReasonConnect:           fault("reset"),
		openai.ReasonTLS:               "https://" + h.vllm,
		openai.ReasonTimeoutFirstToken: fault("hang"),
		openai.ReasonTimeout:           fault("slow_stream"),
		openai.ReasonStalled:           fault("stall"),
		openai.ReasonHTTP4xx:           fault("http_404"),
		openai.ReasonHTTP429:           fault("http_429"),
		openai.ReasonHTTP5xx:           fault("http_500"),
		openai.ReasonStreamError:       fault("stream_error"),
		openai.ReasonProtocol:          fault("html_200"),
		openai.ReasonTruncated:         fault("truncated"),
		openai.ReasonEmpty:             fault("empty"),
		openai.ReasonDegenerate:        fault("degenerate"),
	}
}

// writeProbes writes a good target, one for each failure, and one that never
// answers and is changed by a reload.
func (h *host) writeProbes(t *testing.T, maxTokens string) {
	t.Helper()
	var b strings.Builder
	add := func(name, url, timeout, more string) {
		fmt.Fprintf(&b, "  - {name: %s, url: %q, model: qwen2.5, interval: 500ms, timeout: %s%s}\n", name, url, timeout, more)
	}
	b.WriteString("probes:\n")
	fmt.Fprintf(&b, "  - {name: good, url: %q, interval: 500ms, max_tokens: 16, slo: {time_to_first_token: 1ms}}\n", "http://"+h.vllm+"/v1")
	fmt.Fprintf(&b, "  - {name: completions, url: %q, interval: 500ms, api: completions, random_input_tokens: 100}\n", "http://"+h.vllm)
	for reason, url := range h.failureTargets() {
		if reason == openai.ReasonStalled { // no other may be silent for so long on a busy machine
			add(string(reason), url, "1m", ", idle_timeout: 1s")
			continue
		}
		add(string(reason), url, "5s", "")
	}
	add(string(openai.ReasonCanceled), "http://"+h.vllm+"/fault/hang", "10m", ", max_tokens: "+maxTokens)
	if err := os.WriteFile(h.path("probes.yml"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (h *host) get(t *testing.T, path, accept string) (string, http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+h.exporter+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept-Encoding", "identity") // thousands of scrapes need not test gzip
	if accept != "" {
		request.Header.Set("Accept", accept)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s, %v\n%s", path, response.Status, err, body)
	}
	return string(body), response.Header
}

// has fails unless a sample matches every pattern and is not 0.
func has(metrics string, patterns ...string) error {
	for _, p := range patterns {
		if !regexp.MustCompile(`(?m)^` + p + ` ([1-9]|0\.0*[1-9])`).MatchString(metrics) {
			return fmt.Errorf("no sample above 0 for %s", p)
		}
	}
	return nil
}

func (h *host) shows(t *testing.T) {
	var ofVendors []string
	for _, v := range collector.Vendors() {
		for _, series := range []string{`devices\{`, `power_watts\{device="0",`, `memory_used_bytes\{device="0",[^}]*`, `tool_info\{[^}]*`, `process_memory_used_bytes\{device="0",[^}]*`} {
			if v.Name != "enflame" || !strings.HasPrefix(series, "process_") { // efsmi lists no processes
				ofVendors = append(ofVendors, "accelerator_"+series+`vendor="`+v.Name+`"\}`)
			}
		}
		ofVendors = append(ofVendors, `accelerator_collector_success\{collector="`+v.Name+`"\}`)
	}
	eventually(t, "cards of all vendors, nodes and four histograms", func() error {
		metrics, _ := h.get(t, "/metrics", "")
		good := `\{model="qwen2.5",target="good"\}`
		return has(metrics, append(ofVendors,
			`accelerator_utilization_ratio\{device="0",vendor="metax"\}`,
			`accelerator_link_info\{device="0",link="MX",peer="1",vendor="metax"\}`,
			`accelerator_info\{[^}]*uuid="GPU-[^}]*\}`,
			`accelerator_numa_memory_total_bytes\{node="0"\}`,
			`accelerator_probe_time_to_first_token_seconds_count`+good, `accelerator_probe_time_per_output_token_seconds_count`+good,
			`accelerator_probe_inter_token_latency_seconds_count`+good, `accelerator_probe_request_duration_seconds_count`+good,
			`accelerator_probe_output_tokens_total`+good, `accelerator_probe_success`+good,
			`accelerator_probe_slo_violations_total\{model="qwen2.5",objective="time_to_first_token",target="good"\}`,
			`accelerator_probe_request_duration_seconds_count\{model="qwen2.5",target="completions"\}`,
			`accelerator_probe_target_device_info\{device="0",target="good",vendor="metax"\}`)...)
	})
}

func (h *host) probeFailures(t *testing.T) {
	failures := func() string {
		metrics, _ := h.get(t, "/metrics", "")
		return strings.Join(regexp.MustCompile(`(?m)^accelerator_probe_failures_total.*`).FindAllString(metrics, -1), "\n")
	}
	for reason := range h.failureTargets() {
		eventually(t, "a failure "+string(reason), func() error {
			return has(failures(), fmt.Sprintf(`accelerator_probe_failures_total\{model="qwen2.5",reason=%q,target=%q\}`, reason, reason))
		})
	}
	// A reload does not wait for the request of a target that changes.
	eventually(t, "a request in flight", func() error {
		metrics, _ := h.get(t, "/metrics", "")
		return has(metrics, `accelerator_probe_in_flight\{model="qwen2.5",target="canceled"\}`)
	})
	h.writeProbes(t, "65")
	response, err := http.Post("http://"+h.exporter+"/-/reload", "", nil)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("reloading: %v %v", response, err)
	}
	metrics := failures()
	for reason := range h.failureTargets() {
		for _, other := range openai.Reasons() {
			if other == reason {
				continue
			}
			if has(metrics, fmt.Sprintf(`accelerator_probe_failures_total\{model="qwen2.5",reason=%q,target=%q\}`, other, reason)) == nil {
				t.Errorf("target %s also failed as %s", reason, other)
			}
		}
	}
}

// toolFaults replaces the tools of all vendors at once, and each of them by one fault after the other.
func (h *host) toolFaults(t *testing.T) {
	for tool, faults := range map[string][]struct{ collector, script, reason string }{
		"mx-smi": {
			{"metax", "exec sleep 600", "timeout"},
			{"metax", "trap '' TERM; sleep 600; sleep 600", "timeout"},
			{"metax", "exec yes 'a row without end'", "output_too_large"},
			{"metax", "exit 1", "exit"},
			{"metax", "echo 'No available devices were discovered'; exit 2", "no_device"},
			{"metax", "echo '| OTHER-SMI 1.0 |'", "parse"},
		},
		"npu-smi": {
			{"ascend", "sleep 600 & sleep 601 & wait", "timeout"},
			{"ascend", h.path("fakehost") + " npu-smi info | head -c 2000; sleep 600", "timeout"},
			{"ascend", "echo 'dcmi module initialize failed. ret is -8005'", "driver"},
		},
		"nvidia-smi":   {{"nvidia", "echo 'No devices were found'; exit 6", "no_device"}},
		"hy-smi":       {{"hygon", "exec sleep 600", "timeout"}},
		"ixsmi":        {{"iluvatar", "echo 'ixsmi: error while loading shared libraries: libixml.so' >&2; exit 127", "driver"}},
		"xpu_smi":      {{"kunlunxin", "echo '| Intel XPU-SMI 1.2 |'", "parse"}},
		"mthreads-gmi": {{"moorethreads", "echo 'Error: No MT GPU device found.'", "no_device"}},
		"efsmi":        {{"enflame", "exec sleep 600", "timeout"}},
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			for _, f := range faults {
				h.replaceTool(t, tool, f.script)
				// What the table alone tells: details grow stale later.
				card := fmt.Sprintf(`accelerator_info\{[^}]*device="0"[^}]*vendor=%q\}`, f.collector)
				eventually(t, f.script, func() error {
					metrics, _ := h.get(t, "/metrics", "")
					if has(metrics, card) == nil {
						return fmt.Errorf("stale cards are still there")
					}
					return has(metrics, fmt.Sprintf(`accelerator_collector_failures_total\{collector=%q,reason=%q\}`, f.collector, f.reason))
				})
				h.replaceTool(t, tool, "exec "+h.path("fakehost")+" "+tool+` "$@"`)
				eventually(t, "it recovers", func() error {
					metrics, _ := h.get(t, "/metrics", "")
					return has(metrics, card)
				})
			}
		})
	}
}

// replaceTool puts a shell script in place of a tool.
func (h *host) replaceTool(t *testing.T, tool, script string) {
	t.Helper()
	path := h.path(tool)
	if err := errors.Join(os.WriteFile(path+".new", []byte("#!/bin/sh\n"+script+"\n"), 0o755), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	const patience = 45 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not within %s: %s: %v", patience, what, err)
		case <-time.After(200 * time.Millisecond): // a page has a megabyte
		}
	}
}
