//go:build unix

package probe

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe that nobody writes to must not hold up the start.
func TestPipesAreRefused(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(pipe); err == nil || !strings.Contains(err.Error(), "opening the configuration: open "+pipe+": not a regular file") {
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
	if file, err := ReadFile(link); err != nil || len(file.Targets) != 1 {
		t.Errorf("%d targets, %v", len(file.Targets), err)
	}
}
