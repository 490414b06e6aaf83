//go:build e2e

package e2e

import (
	"context"
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

// program is a child process whose output is kept.
type program struct {
	name string
	cmd  *exec.Cmd
	log  string
	over chan struct{} // closed when it has ended
}

// start runs a program until the test ends. It dies with the test binary even
// when that is killed.
func start(t *testing.T, dir, name string, env []string, path string, args ...string) *program {
	t.Helper()
	p := &program{name: name, log: filepath.Join(dir, name+".log"), over: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.cmd = exec.Command(path, args...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.over)
	}()
	t.Cleanup(func() {
		p.stop(t)
		if t.Failed() {
			t.Logf("end of the log of %s:\n%s", name, tail(p.text(), 8))
		}
	})
	return p
}

// stop asks the program to end, and ends it when it does not.
func (p *program) stop(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.over:
		return
	case <-time.After(10 * time.Second):
		t.Errorf("%s did not end within 10 s of SIGTERM", p.name)
	}
	p.kill()
}

// kill ends the program as a crash would.
func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	<-p.over
}

func (p *program) text() string {
	text, _ := os.ReadFile(p.log)
	return string(text)
}

// address waits for the address that the program logs when it serves.
func (p *program) address(t *testing.T) string {
	t.Helper()
	served := regexp.MustCompile(`(?:Listening on".*|msg=serving.*) address=(?:http://)?(127\.0\.0\.1:[1-9]\d*)`)
	var found string
	eventually(t, 30*time.Second, p.name+" serves", func() error {
		if m := served.FindStringSubmatch(p.text()); m != nil {
			found = m[1]
			return nil
		}
		select {
		case <-p.over:
			t.Fatalf("%s ended: %s\n%s", p.name, p.cmd.ProcessState, tail(p.text(), 30))
		default:
		}
		return errors.New("no address in its log")
	})
	return found
}

func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// output runs a program that ends by itself.
func output(t *testing.T, path string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w\n%s", path, strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}

// tool finds a program, first among those that make tools builds. Without it the
// test is skipped, but in CI it fails.
func tool(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("none of these programs is here: %s", strings.Join(names, ", "))
	}
	t.Skipf("none of these programs is here: %s", strings.Join(names, ", "))
	return ""
}

// eventually tries until there is no error.
func eventually(t *testing.T, patience time.Duration, what string, try func() error) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("not within %s: %s: %v", patience, what, err)
		case <-t.Context().Done():
			t.Fatalf("%s: %v", what, err)
		case <-ticker.C:
		}
	}
}

// orphans are processes of programs in a folder that still run.
func orphans(dir string) []string {
	var found []string
	processes, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, exe := range processes {
		if path, err := os.Readlink(exe); err == nil && strings.HasPrefix(path, dir+"/") {
			found = append(found, fmt.Sprintf("%s runs %s", filepath.Base(filepath.Dir(exe)), path))
		}
	}
	return found
}
