package main

import (
	"io/fs"
	"os"
	"strings"
	"testing"
)

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "help", Err: os.ErrClosed}
}

// Help that cannot be written is told, without a trace of a crash.
func TestHelpThatCannotBeWritten(t *testing.T) {
	var stderr strings.Builder
	code := run(t.Context(), nil, []string{"--help"}, full{}, &stderr)
	if want := "accelerator_exporter: printing the help: write help: file already closed\n"; code != 1 || stderr.String() != want {
		t.Errorf("exit %d, told %q, want %q", code, &stderr, want)
	}
}
