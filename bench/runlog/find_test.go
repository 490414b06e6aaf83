package runlog

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{
		"results/b/traces.jsonl", "results/a/traces.jsonl", "results/c/note",
		"results/d/e/traces.jsonl", "results/summary.txt",
		"single/traces.jsonl", "single/a/traces.jsonl", "none/notes.txt", "other.log",
	} {
		noError(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)))
	}
	for _, tc := range []struct {
		paths, want string
	}{
		{"single", "single/traces.jsonl"},
		{"single/traces.jsonl", "single/traces.jsonl"},
		{"other.log", "other.log"},
		{"results", "results/a/traces.jsonl results/b/traces.jsonl"},
		{"results/", "results/a/traces.jsonl results/b/traces.jsonl"},
		{"single results/b", "single/traces.jsonl results/b/traces.jsonl"},
		{"single none", "error: finding traces: no traces.jsonl in none nor in the folders in it"},
		{"gone", "error: finding traces: stat gone: no such file or directory"},
	} {
		got, err := Find(strings.Fields(tc.paths)...)
		text := strings.Join(got, " ")
		if err != nil {
			text = "error: " + err.Error()
		}
		if diff := cmp.Diff(tc.want, filepath.ToSlash(text)); diff != "" {
			t.Errorf("%s: %s", tc.paths, diff)
		}
	}
}
