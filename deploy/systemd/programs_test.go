// Package systemd checks the unit and its files with systemd's own programs, and
// runs the exporter as the unit does.
package systemd

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds each wait; all of them take a fraction of a second on an idle machine.
const patience = time.Minute

const (
	unit    = "accelerator_exporter.service"
	program = "/usr/local/bin/accelerator_exporter" // where the unit has it
)

var dropIns = []string{"root.conf", "find-cards.conf", "credentials.conf"}

// lacking skips a test where it cannot run, except in CI, which must have everything.
func lacking(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal("CI lacks", what)
	}
	t.Skip("needs", what)
}

func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			lacking(t, p)
		}
	}
}

// run runs a program to its end and returns what it printed and its exit status.
func run(t *testing.T, name string, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// succeed is run for what must exit with 0.
func succeed(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, status := run(t, name, args...)
	if status != 0 {
		t.Fatalf("%s %s: exit status %d\n%s", name, strings.Join(args, " "), status, out)
	}
	return out
}

// built is the folder of the programs, made once.
var built struct {
	once sync.Once
	dir  string
}

func TestMain(m *testing.M) {
	status := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(status)
}

func programs(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		dir, err := os.MkdirTemp("", "accelerator-systemd-")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		succeed(t, "make", "-C", "../..", "build", "BIN="+dir)
		built.dir = dir
	})
	if built.dir == "" {
		t.Fatal("the programs were not built")
	}
	return built.dir
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err = errors.Join(err, os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// setting is the value of a key of the unit, which must be there once.
func setting(t *testing.T, text, key string) string {
	t.Helper()
	matches := regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(key)+`=(.*)$`).FindAllStringSubmatch(text, -1)
	if len(matches) != 1 {
		t.Fatalf("%d lines %s=, want 1", len(matches), key)
	}
	return matches[0][1]
}

// locked is a buffer that a running program writes and a test reads.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
