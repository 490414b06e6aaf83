// Package programtest is what tests of real programs share: finding and building them, running them until a test ends,
// asking what they serve, and their files.
package programtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &Process{Process: cmd.Process, name: name, log: log.Name(), over: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		close(p.over)
	}()
	t.Cleanup(func() {
		_ = p.End(t)
		if t.Failed() {
			t.Logf("end of the log of %s:\n%s", name, p.tail(t))
		}
	})
	return p
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
	if p.err != nil {
		return fmt.Errorf("%s: %w\n%s", p.name, p.err, p.tail(t))
	}
	return nil
}

// Crash ends the program at once.
func (p *Process) Crash() {
	_ = p.Kill()
	<-p.over
}

// Logged waits for a line of its log and returns the first group of the pattern, such as the address that it serves at.
func (p *Process) Logged(t *testing.T, pattern *regexp.Regexp) (found string) {
	t.Helper()
	Eventually(t, time.Minute, p.name+" starts", func() error {
		if m := pattern.FindStringSubmatch(Read(t, p.log)); m != nil {
			found = m[1]
			return nil
		}
		return errors.New("no " + pattern.String() + " in its log")
	})
	return found
}

// tail returns the last lines of its log.
func (p *Process) tail(t *testing.T) string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(Read(t, p.log)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
