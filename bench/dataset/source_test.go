package dataset

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// verbatim is a Config that leaves prompts as they are in the file.
func verbatim(kind Kind, path string) Config {
	return Config{Kind: kind, Path: path, ReusePrompts: true}
}

func open(t testing.TB, cfg Config) Source {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// take returns the first n prompts, fewer if the source ends before.
func take(t testing.TB, s Source, n int) []Prompt {
	t.Helper()
	var prompts []Prompt
	for range n {
		p, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		prompts = append(prompts, p)
	}
	return prompts
}

// write makes a file of its own for a test.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
