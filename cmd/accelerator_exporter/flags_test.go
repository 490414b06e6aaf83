package main

import (
	"io"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// A path that no request can have, or that another page has, is refused; it is no crash.
func TestTelemetryPath(t *testing.T) {
	for _, path := range []string{"", "/", "/-/ready", "metrics", "GET /metrics", "/a b", "/a//b", "/../a", "/{x}", "/%zz", "/a?b", "/a\n"} {
		var stderr logBuffer
		if status := run(t.Context(), nil, []string{"--web.telemetry-path=" + path}, io.Discard, &stderr); status != 2 || !strings.Contains(stderr.String(), "--web.telemetry-path must be a path") {
			t.Errorf("%q: exit status %d\n%s", path, status, &stderr)
		}
	}
	for _, path := range []string{"/m", "/a/b", "/a.b-c_d~e/1"} {
		if _, err := parseFlags([]string{"--web.telemetry-path=" + path}, io.Discard); err != nil {
			t.Errorf("%q: %v", path, err)
		}
	}
}
