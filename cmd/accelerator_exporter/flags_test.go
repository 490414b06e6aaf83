package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/accelerator-exporter/accelerator_exporter/bench/probe"
)

// A flag that a document, or a hint beside a failure, tells a user to set is there.
func TestDocumentedFlagsExist(t *testing.T) {
	flags := map[string]bool{}
	for _, f := range (&settings{probe: probe.DefaultSpec()}).commandLine().Model().Flags {
		flags["--"+f.Name] = true
		flags["--no-"+f.Name] = f.IsBoolFlag()
	}
	flags["--web.systemd-socket"] = true // Linux only
	ours := regexp.MustCompile(`--(?:no-)?(?:collector|config|kubernetes|log|path|probe|web)\.[a-z][a-z.-]*[a-z]`)
	found := 0
	for _, pattern := range []string{"../../README*.md", "../../docs/*.md", "../../docs/*/*.md", "../../deploy/*/*.md", "../../collector/hint.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, flag := range ours.FindAllString(string(text), -1) {
				found++
				if !flags[flag] && !strings.HasPrefix(flag, "--web.enable-remote") && !strings.HasPrefix(flag, "--config.file") {
					t.Errorf("%s: %s is no flag of the exporter", path, flag)
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("found only %d flags in the documents", found)
	}
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
