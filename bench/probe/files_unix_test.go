//go:build unix

package probe

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/common/config"

	"github.com/accelerator-exporter/accelerator_exporter/bench/fakevllm"
)

// A pipe that nobody writes to must not hold up the start.
func TestPipesAreRefused(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(t.Context(), pipe, new(Files)); err == nil || !strings.Contains(err.Error(), "opening the configuration: open "+pipe+": not a regular file") {
		t.Errorf("as the configuration: %v", err)
	}
	for field, text := range map[string]string{
		"prompt_file":                         "prompt_file: pipe",
		"http.authorization.credentials_file": "http: {authorization: {credentials_file: pipe}}",
		"http.tls_config.ca_file":             "http: {tls_config: {ca_file: pipe}}",
	} {
		_, err := readText([]byte("probes: [{url: 'http://h:1', "+text+"}]"), dir)
		if err == nil || !strings.HasSuffix(err.Error(), field+": open "+pipe+": not a regular file") {
			t.Errorf("as the %s: %v", field, err)
		}
	}
}

// Kubernetes mounts a configuration as a link.
func TestLinksAreFollowed(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "data/probes.yml"), "probes: [{url: 'http://h:1', prompt_file: letter.txt}]")
	write(t, filepath.Join(dir, "letter.txt"), "Dear reader,")
	link := filepath.Join(dir, "probes.yml")
	if err := os.Symlink("data/probes.yml", link); err != nil {
		t.Fatal(err)
	}
	if file, err := ReadFile(t.Context(), link, new(Files)); err != nil || len(file.Targets) != 1 {
		t.Errorf("%d targets, %v", len(file.Targets), err)
	}
}

// A key file that turns into a pipe while probes run holds nothing up: probes are counted as
// not sent and name the file, a reload and the landing page go on, and the end is at once.
func TestKeyThatTurnsIntoAPipe(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	write(t, key, "k3y")
	url := serve(t, fakevllm.Config{})
	target := func(maxTokens int) Target {
		return quickTarget(t, url, func(s *Spec) {
			s.Model, s.MaxTokens = "qwen2.5", maxTokens
			s.HTTP.Authorization = &config.Authorization{CredentialsFile: key}
		})
	}
	before, after := target(3), target(4)
	p := New(log.NewNopLogger())
	apply(t, p, before)
	stop := running(t, p)
	eventually(t, "a success", func() bool { return samples(t, p)[`success{model="qwen2.5",target="a"}`] == 1 })
	if err := errors.Join(os.Remove(key), syscall.Mkfifo(key, 0o600)); err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		eventually(t, "a probe that is not sent", func() bool {
			last := p.Statuses()[0].Last
			return !last.Sent() && samples(t, p)[`success{model="qwen2.5",target="a"}`] == 0
		})
		apply(t, p, after)
		last := p.Statuses()[0].Last
		if f := last.Failure; f == nil || last.Sent() || !strings.Contains(f.Detail, "open "+key+": not a regular file") || !strings.Contains(last.Hint, "regular file") {
			t.Errorf("shown as %+v", last)
		}
		if failed := only(samples(t, p), `failures_total{model="qwen2.5",reason="connect"`); len(failed) > 0 {
			t.Errorf("failures: %v", failed)
		}
		stop()
	}()
	select {
	case <-over:
	case <-time.After(20 * time.Second):
		_ = os.WriteFile(key, nil, 0o600) // who waits for the pipe goes on
		t.Fatal("the pipe holds something up")
	}
}
