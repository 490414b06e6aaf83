package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whoever stops reading the help, as head does, gets no trace of a crash, and a full
// disk is told.
func TestHelpThatCannotBeWritten(t *testing.T) {
	read, gone, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	defer gone.Close()
	closed, err := os.Create(filepath.Join(t.TempDir(), "help"))
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, tt := range []struct {
		stdout *os.File
		want   string
	}{
		{gone, ""},
		{closed, "accelerator_exporter: printing the help: write " + closed.Name() + ": file already closed\n"},
	} {
		stdout := os.Stdout
		os.Stdout = tt.stdout
		var stderr strings.Builder
		code := run(t.Context(), nil, []string{"--help"}, tt.stdout, &stderr)
		os.Stdout = stdout
		if diff := cmp.Diff(tt.want, stderr.String()); code != 1 || diff != "" {
			t.Errorf("exit %d, stderr (-want +got):\n%s", code, diff)
		}
	}
}
