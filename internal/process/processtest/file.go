package processtest

import (
	"os"
	"syscall"
	"testing"
)

// WriteFile writes a file while nothing is forked, so that it can be run at once: of a
// child that inherits it open its execution would fail with "text file busy".
func WriteFile(t testing.TB, path, text string, mode os.FileMode) string {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}
