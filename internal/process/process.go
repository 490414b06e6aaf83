// Package process knows processes: which there are, by the proc file system, and the
// tree of those that one started program makes, from its start to the end of the last
// of them. It is the one place that runs programs.
package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Process is one process for all time: a number alone is used again. The zero value
// is none.
type Process struct {
	pid   int
	start uint64 // clock ticks after boot
}

// stat reads the process, and reports false when it is not there any more.
func (p Process) stat() (Stat, bool) {
	st, ok := FS("/proc").Stat(p.pid)
	return st, ok && st.Start == p.start
}

// Signal sends sig to the process if it still runs.
func (p Process) Signal(sig syscall.Signal) {
	// FindProcess holds on to the process where the kernel can, so that the
	// number cannot change hands between the look and the signal.
	proc, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	defer func() { _ = proc.Release() }()
	if st, ok := p.stat(); ok && !st.dead() {
		_ = proc.Signal(sig)
	}
}

// LookPath returns the path of the program of that name or path. Its error wraps
// [fs.ErrPermission] where there is one that may not be executed, and does not
// repeat the name.
func LookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	if errors.Is(err, exec.ErrNotFound) {
		if file := notExecutable(name); file != "" {
			return "", fmt.Errorf("%s is not executable: %w", file, fs.ErrPermission)
		}
	}
	var named *exec.Error
	if errors.As(err, &named) {
		err = named.Err
	}
	return "", cause(err)
}

// notExecutable returns the file of that name on the PATH that exec.LookPath passes
// over because it may not be executed.
func notExecutable(name string) string {
	if strings.Contains(name, "/") || name == "" || name == "." || name == ".." {
		return ""
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && filepath.IsAbs(path) && !info.IsDir() {
			return path
		}
	}
	return ""
}
