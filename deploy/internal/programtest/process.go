// Package programtest is what tests of real programs share: finding and building them, running them until a test ends,
// asking what they serve, and their files.
package programtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// grace is how long docker, Kubernetes and our systemd unit wait after SIGTERM, or less.
const grace = 10 * time.Second

// Process is a running program whose output is kept.
type Process struct {
	*os.Process
	name string
	log  string        // a file: a pipe would be held open by what the program leaves behind
	over chan struct{} // closed when it has ended
	err  error         // what it ended with
}

// Start runs a program until the test ends, and then wants it to end when asked to.
func Start(t *testing.T, name string, cmd *exec.Cmd) *Process {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	NoError(t, err)
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	NoError(t, cmd.Start())
	p := &Process{Process: cmd.Process, name: name, log: log.Name(), over: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.over)
	}()
	t.Cleanup(func() {
		_ = p.End(t)
		if t.Failed() {
			text := p.Log(t)
			t.Logf("end of the log of %s:\n%s", name, text[max(0, len(text)-4000):])
		}
	})
	return p
}

// Run is Start of a program with more in its environment, which dies with the test binary even when that is killed.
func Run(t *testing.T, name string, env []string, path string, args ...string) *Process {
	t.Helper()
	cmd := exec.Command(path, args...) //nolint:noctx // Start ends it
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return Start(t, name, cmd)
}

// End asks the program to end, as a service manager does, and returns what it ended with. One that does not is killed,
// and the test fails.
func (p *Process) End(t *testing.T) error {
	t.Helper()
	_ = p.Signal(syscall.SIGTERM)
	select {
	case <-p.over:
	case <-time.After(grace):
		t.Errorf("%s did not end within %s of SIGTERM", p.name, grace)
		p.Crash()
	}
	return p.err
}

// Crash ends the program at once.
func (p *Process) Crash() {
	_ = p.Kill()
	<-p.over
}

// Log returns what it has printed.
func (p *Process) Log(t *testing.T) string {
	t.Helper()
	return Read(t, p.log)
}

// Output runs a program that must succeed, in a folder and with more in its environment, and returns what it printed.
func Output(t *testing.T, dir string, env []string, line ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(line, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String()
}

// Status runs a program to its end, with more in its environment, and returns all that it printed and its exit status.
func Status(t *testing.T, env []string, line ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		t.Fatalf("%s: %v", strings.Join(line, " "), err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}
