package programtest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Read reads a text file.
func Read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
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
	err := os.MkdirAll(filepath.Dir(name), 0o755)
	if err = errors.Join(err, os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}
