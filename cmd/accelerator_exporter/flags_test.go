package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
)

// TestFlagsDocument fails when docs/flags.md lacks a flag, has one that is not
// there, or tells another default.
func TestFlagsDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `--([a-z.[\\]-]+)` \\| ([^|]+) \\| [^|]+ \\|$").FindAllStringSubmatch(string(text), -1) {
		documented[row[1]] = strings.Trim(row[2], "`")
	}
	want := map[string]string{}
	for _, f := range (&settings{probe: probe.DefaultSpec()}).commandLine().Model().Flags {
		name, byDefault := f.Name, strings.Join(f.Default, " ")
		switch {
		case f.Hidden:
			continue
		case !f.IsBoolFlag():
		case byDefault == "true":
			name, byDefault = "[no-]"+name, "on"
		default:
			name, byDefault = "[no-]"+name, "off"
		}
		said := documented[name]
		switch {
		case byDefault == "", // a default that is not a value is told in words
			strings.HasPrefix(said, "on if"),
			sameDuration(said, byDefault):
			byDefault = said
		}
		if said == "" {
			byDefault = "not documented: " + byDefault
		}
		want[name] = byDefault
	}
	if runtime.GOOS != "linux" { // the one flag that only Linux has
		delete(documented, "[no-]web.systemd-socket")
	}
	if diff := cmp.Diff(want, documented); diff != "" {
		t.Errorf("flags - docs/flags.md +\n%s", diff)
	}
}

func sameDuration(a, b string) bool {
	x, errX := time.ParseDuration(a)
	y, errY := time.ParseDuration(b)
	return errX == nil && errY == nil && x == y
}

// A path that no request can have, or that another page has, is told; it is no crash.
func TestTelemetryPath(t *testing.T) {
	for _, path := range []string{
		"", " ", "/", "//", "/-/", "/-/ready", "metrics", "./metrics", "http://h/metrics", "GET /metrics", "/a b", "/a//b", "//a", "/a//", "/a/./b", "/../a",
		"/{x}", "/a{x...}", "/{$}", "/a%2fb", "/%zz", "/a?b", "/a#b", "/a\\b", "/a\x00b", "/a\n", "/" + strings.Repeat("a", 256),
	} {
		var told logBuffer
		if status := run(t.Context(), nil, []string{"--web.telemetry-path=" + path}, io.Discard, &told); status != 2 || !strings.Contains(told.String(), "--web.telemetry-path must be a path") {
			t.Errorf("%.20q: exit status %d\n%s", path, status, &told)
		}
	}
	for _, path := range []string{"/m", "/a/b", "/a.b-c_d~e/:1@2", "/a/", "/-", "/..."} {
		s, err := parseFlags([]string{"--no-collector.metax", "--no-collector.ascend", "--no-collector.numa", "--web.telemetry-path=" + path}, io.Discard)
		if err != nil {
			t.Errorf("%q: %v", path, err)
			continue
		}
		d, err := newDaemon(s, configuration{}, log.NewNopLogger(), prometheus.NewCounter(prometheus.CounterOpts{Name: "c"}))
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		if d.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil)); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "accelerator_exporter_build_info") {
			t.Errorf("GET %s: %d", path, w.Code)
		}
	}
}

// What could never be connected to is told at the start, not at each poll.
func TestKubernetesFlags(t *testing.T) {
	const socket = "--kubernetes.pod-resources=/var/lib/kubelet/pod-resources/kubelet.sock"
	for _, c := range []struct {
		args []string
		want string // of the error
	}{
		{nil, ""},
		{[]string{socket}, ""},
		{[]string{socket, "--kubernetes.trust-device-ids=ascend"}, ""},
		{[]string{"--kubernetes.trust-device-ids=ascend"}, "--kubernetes.trust-device-ids needs --kubernetes.pod-resources"},
		{[]string{socket, "--kubernetes.trust-device-ids=metax"}, "enum value must be one of ascend"},
		{[]string{"--kubernetes.pod-resources=kubelet.sock"}, "--kubernetes.pod-resources must be a path that begins with /"},
		{[]string{"--kubernetes.pod-resources=@kubelet"}, "--kubernetes.pod-resources must be a path that begins with /"},
		{[]string{"--kubernetes.pod-resources=/" + strings.Repeat("a", 107)}, "at most 107 bytes"},
	} {
		_, err := parseFlags(c.args, io.Discard)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.args, err, c.want)
		}
	}
}
