package programtest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// Eventually tries until there is no error.
func Eventually(t *testing.T, patience time.Duration, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	err := try()
	for ; err != nil && time.Now().Before(deadline); err = try() {
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		t.Fatalf("not within %s: %s: %v", patience, what, err)
	}
}

// NoError ends the test where it could not go on.
func NoError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// FreeAddress is a loopback address that nobody listens on, for a program that does not log which one it chose.
func FreeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	NoError(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// Get is the page at a URL, which must be there.
func Get(t *testing.T, url string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	client := http.Client{Timeout: time.Minute}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s\n%s", url, answer.Status, body)
	}
	return string(body), err
}

// PageHas wants the page at a URL to hold each of the texts.
func PageHas(t *testing.T, url string, texts ...string) error {
	t.Helper()
	page, err := Get(t, url)
	for _, text := range texts {
		if err == nil && !strings.Contains(page, text) {
			err = fmt.Errorf("%s has no %s:\n%s", url, text, page)
		}
	}
	return err
}

// Read reads a text file.
func Read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	NoError(t, err)
	return string(text)
}

// ReadYAML reads a YAML file into a value.
func ReadYAML(t *testing.T, name string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(Read(t, name)), into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// Write writes a text file, and makes the folders above it.
func Write(t *testing.T, name, text string) {
	t.Helper()
	NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	NoError(t, os.WriteFile(name, []byte(text), 0o644))
}

// WriteScript writes a script for the shell that can be run as a program.
func WriteScript(t *testing.T, name, text string) {
	t.Helper()
	Write(t, name, "#!/bin/sh\n"+text)
	if err := os.Chmod(name, 0o755); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
}
