//go:build linux

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process/processtest"
)

// bounded is far more than Run may take beyond its timeout, and far less than
// the 1000 s that the wedged scripts would.
const bounded = 10 * time.Second

// reasonOf is the class of an error, "" for none.
func reasonOf(err error) failure.Reason {
	var e *failure.Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

const markName = "WEDGE_MARK"

func TestMain(m *testing.M) {
	// What the runtime opens for good, it opens now.
	if _, err := runner("/bin/sh", time.Minute).RunUntil(context.Background(), nil, "-c", "exit 0"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// watchLeaks marks every process that the test starts, and makes the test fail
// when one, a file descriptor or a goroutine is left at its end.
func watchLeaks(t *testing.T) {
	t.Helper()
	mark := fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), time.Now().UnixNano())
	t.Setenv(markName, mark)
	goroutines := goleak.IgnoreCurrent()
	before := descriptors(t)
	t.Cleanup(func() {
		eventually(t, "no marked process", func() error {
			if pids := marked(mark); len(pids) > 0 {
				return fmt.Errorf("processes %v are left", pids)
			}
			return nil
		})
		eventually(t, "the same file descriptors", func() error {
			if diff := cmp.Diff(len(before), len(descriptors(t))); diff != "" {
				return fmt.Errorf("file descriptors (-before +after):\n%s%s", diff, cmp.Diff(before, descriptors(t)))
			}
			return nil
		})
		goleak.VerifyNone(t, goroutines)
	})
}

// marked returns the live processes that inherited the mark.
func marked(mark string) []int {
	want := []byte(markName + "=" + mark)
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var pids []int
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err == nil && bytes.Contains(env, want) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			pids = append(pids, pid)
		}
	}
	return pids
}

// descriptors returns what our file descriptors point at.
func descriptors(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			targets = append(targets, e.Name()+" "+target)
		}
	}
	return targets
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(bounded)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("waiting for %s: %v", what, err)
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func script(t *testing.T, body string) string {
	t.Helper()
	return processtest.WriteFile(t, filepath.Join(t.TempDir(), "smi"), "#!/bin/sh\n"+body+"\n", 0o755)
}

// runner returns a Runner whose programs inherit the mark of the test, and who waits for
// their end for long, as this machine may be busy.
func runner(path string, timeout time.Duration) *Runner {
	r := NewRunner(Options{Path: path, Timeout: timeout, Variables: []string{markName}, Subreaper: NewSubreaper()})
	r.patience = bounded / 2
	return r
}

// run runs and checks what holds for every run, whatever the command does.
func run(t *testing.T, r *Runner, args ...string) (Output, error) {
	t.Helper()
	began := time.Now()
	out, err := r.RunUntil(t.Context(), nil, args...)
	if took := time.Since(began); took > r.Timeout+bounded {
		t.Errorf("Run took %s with a timeout of %s", took, r.Timeout)
	}
	var e *failure.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("the error %v carries no class", err)
	}
	return out, err
}

func TestWedged(t *testing.T) {
	const short = 300 * time.Millisecond
	const long = 30 * time.Second // must not be waited for
	type result struct {
		Reason         failure.Reason
		ExitCode       int
		Stdout, Stderr string // cut at 40 bytes
	}
	cases := []struct {
		name    string
		script  string
		timeout time.Duration
		want    result
	}{
		{"hangs", `exec sleep 1000`, short, result{failure.Timeout, -1, "", ""}},
		{"hangs with a child", `sleep 1000 & sleep 1000`, short, result{failure.Timeout, -1, "", ""}},
		{"ignores SIGTERM, and its child too", `trap '' TERM; sleep 1000 & sleep 1000; sleep 1000`, short, result{failure.Timeout, -1, "", ""}},
		{"hangs with a child in a session of its own", `setsid sleep 1000 & sleep 1000`, short, result{failure.Timeout, -1, "", ""}},
		{"is stopped", `kill -STOP $$`, short, result{failure.Timeout, -1, "", ""}},
		{
			"half a table, then hangs", `echo '| 0  Card |'; echo warning >&2; sleep 1000`, 2 * time.Second,
			result{failure.Timeout, -1, "| 0  Card |\n", "warning\n"},
		},
		{
			"a last word at SIGTERM", `exec 2>/dev/null; trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done`, 2 * time.Second,
			result{failure.Timeout, 3, "up\nbye\n", ""},
		},
		{"endless stdout", `exec yes`, long, result{failure.OutputTooLarge, -1, strings.Repeat("y\n", 20), ""}},
		{"endless stderr", `echo table; yes >&2`, long, result{failure.OutputTooLarge, -1, "table\n", strings.Repeat("y\n", 20)}},
		{"endless stdout, ignores SIGTERM", `trap '' TERM; yes & exec yes`, long, result{failure.OutputTooLarge, -1, strings.Repeat("y\n", 20), ""}},
		{"exit 1 with good data", `echo '| 0  Card | 55C |'; exit 1`, long, result{"", 1, "| 0  Card | 55C |\n", ""}},
		{"exit 0 with an error text", `echo 'no device found'`, long, result{"", 0, "no device found\n", ""}},
		{"dies by a signal", `echo torn; kill -SEGV $$`, long, result{failure.Exit, -1, "torn\n", ""}},
		{"leaves a child that holds the pipes", `sleep 1000 & echo table`, long, result{"", 0, "table\n", ""}},
		{
			"leaves a child in a group of its own that holds the pipes",
			`timeout 1000 sleep 1000 & while [ "$(cut -d' ' -f5 /proc/$!/stat)" != $! ]; do :; done; echo table`,
			long,
			result{"", 0, "table\n", ""},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			watchLeaks(t)
			r := runner(script(t, c.script), c.timeout)
			began := time.Now()
			out, err := run(t, r)
			took := time.Since(began)
			got := result{reasonOf(err), out.ExitCode, head(out.Stdout), head(out.Stderr)}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s\nerror: %v", diff, err)
			}
			if c.timeout == long && took > long/2 {
				t.Errorf("took %s", took)
			}
			if n := len(out.Stdout) + len(out.Stderr); n > 2*OutputLimit {
				t.Errorf("%d bytes kept", n)
			}
			// Nothing of it may be in the way of the next run.
			eventually(t, "no stuck child", func() error { return none(r.Stuck()) })
			if _, err := run(t, runner(script(t, `exit 0`), long)); err != nil {
				t.Errorf("the next run: %v", err)
			}
		})
	}
}

func head(b []byte) string { return string(b[:min(len(b), 40)]) }

func none(n int) error {
	if n != 0 {
		return fmt.Errorf("%d", n)
	}
	return nil
}

func TestNotStarted(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	plain := processtest.WriteFile(t, filepath.Join(dir, "plain-smi"), "#!/bin/sh\n", 0o644)
	orphan := processtest.WriteFile(t, filepath.Join(dir, "orphan-smi"), "#!/no/such/interpreter\n", 0o755)
	garbage := processtest.WriteFile(t, filepath.Join(dir, "garbage-smi"), "\x00\x01\x02", 0o755)
	folder := filepath.Join(dir, "folder-smi")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, path string
		want       failure.Reason
		says       string
	}{
		{"not found by path", filepath.Join(dir, "none"), failure.NotFound, "no such file"},
		{"not found on the PATH", "none-smi", failure.NotFound, "not found"},
		{"below a file", filepath.Join(plain, "x"), failure.NotFound, "not a directory"},
		{"no name", "", failure.NotFound, "not found"},
		{"not executable", plain, failure.Permission, "permission denied"},
		{"not executable on the PATH", "plain-smi", failure.NotFound, "not found"},
		{"a directory", folder, failure.Permission, "is a directory"},
		{"a directory on the PATH", "folder-smi", failure.NotFound, "not found"},
		{"missing interpreter", orphan, failure.NotFound, "its interpreter"},
		{"no program", garbage, failure.Exit, "exec format error"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			watchLeaks(t)
			r := runner(c.path, time.Minute)
			out, err := run(t, r)
			if got := reasonOf(err); got != c.want {
				t.Errorf("class %q, want %q: %v", got, c.want, err)
			}
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %q does not say %q", err, c.says)
			}
			if diff := cmp.Diff(Output{ExitCode: -1}, out); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if r.Stuck() != 0 {
				t.Error("counts as stuck")
			}
		})
	}
}

func TestInstalledLater(t *testing.T) {
	watchLeaks(t)
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	r := runner("late-smi", time.Minute)
	if _, err := run(t, r); reasonOf(err) != failure.NotFound {
		t.Fatalf("before: %v", err)
	}
	processtest.WriteFile(t, filepath.Join(dir, "late-smi"), "#!/bin/sh\necho here\n", 0o755)
	out, err := run(t, r)
	if err != nil || string(out.Stdout) != "here\n" {
		t.Errorf("after: %q, %v", out.Stdout, err)
	}
}
