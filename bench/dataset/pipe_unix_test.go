//go:build unix

package dataset

import (
	"strings"
	"syscall"
	"testing"
	"time"
)

// Opening a pipe nobody writes to would hang for good.
func TestPipeIsRefused(t *testing.T) {
	path := t.TempDir() + "/pipe"
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := Open(verbatim(OpenQA, path))
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("got %v, want that it is not a regular file", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("still opening")
	}
}
