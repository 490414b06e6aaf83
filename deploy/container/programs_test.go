// Package container builds the image without a container engine, looks at what is
// in it, and runs it as an engine would.
package container

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience bounds each wait; all of them take a fraction of a second on an idle machine.
const patience = time.Minute

// repository is the root of the repository.
func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// lacking skips a test where it cannot run, except in CI, which must have everything.
func lacking(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal("CI lacks", what)
	}
	t.Skip("needs", what)
}

// need skips the test without root or without one of the programs.
func need(t *testing.T, programs ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		lacking(t, "root")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			lacking(t, p)
		}
	}
}

// output runs a program to its end and returns what it printed.
func output(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String()
}

// eventually polls until the condition holds, and fails with its last word.
func eventually(t *testing.T, condition func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// contains is a condition: the page at url holds each of the texts.
func contains(t *testing.T, url string, texts ...string) func() error {
	return func() error {
		page, err := get(t.Context(), url)
		if err != nil {
			return err
		}
		for _, text := range texts {
			if !strings.Contains(page, text) {
				return fmt.Errorf("%s has no %q:\n%s", url, text, page)
			}
		}
		return nil
	}
}

func get(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return "", err
	}
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", url, answer.Status)
	}
	return string(body), nil
}

// freeAddress is a loopback address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
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
