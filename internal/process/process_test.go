//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	tests := []struct {
		text string
		want Stat
		ok   bool
	}{
		{"12 (smi) S 1 12 11 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 3 0 8000", Stat{Parent: 1, Group: 12, Session: 11, Threads: 3, State: 'S', Start: 8000}, true},
		{"12 (odd) R 9 (name) Z 1 12 11 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 8000 0 0", Stat{Parent: 1, Group: 12, Session: 11, Threads: 1, State: 'Z', Start: 8000}, true},
		{"2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 20 0 1 0 1", Stat{Threads: 1, State: 'S', Kernel: true, Start: 1}, true},
		{"12 (cut) S 1 12 11 0 -1", Stat{}, false},
		{"12 (words) S one 12 11 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 8000", Stat{Group: 12, Session: 11, Threads: 1, State: 'S', Start: 8000}, false},
		{"", Stat{}, false},
	}
	for _, tt := range tests {
		got, ok := parseStat(tt.text)
		if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
			t.Errorf("%q: ok %t (-want +got):\n%s", tt.text, ok, diff)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("12 (odd) R 9 (name) Z 1 12 11 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 8000")
	f.Add(")")
	f.Fuzz(func(t *testing.T, text string) {
		st, ok := parseStat(text)
		if !ok {
			return
		}
		flags := 0
		if st.Kernel {
			flags = 0x00200000
		}
		again := fmt.Sprintf("1 (x) %s %d %d %d 0 0 %d 0 0 0 0 0 0 0 0 0 0 %d 0 %d", string([]byte{st.State}), st.Parent, st.Group, st.Session, flags, st.Threads, st.Start)
		if same, ok := parseStat(again); !ok || same != st {
			t.Errorf("%+v of %q, and %+v of the same", st, text, same)
		}
	})
}

// What the kernel says of ourselves.
func TestStat(t *testing.T) {
	st, ok := FS("/proc").Stat(os.Getpid())
	if !ok || st.Parent != os.Getppid() || st.Group != syscall.Getpgrp() || st.Start == 0 || st.dead() {
		t.Errorf("%+v, %t", st, ok)
	}
	all, err := FS("/proc").Processes()
	if err != nil || !slices.ContainsFunc(all, func(p Stat) bool { return p.PID == st.PID && p.Start == st.Start }) {
		t.Errorf("not among %d processes, error %v", len(all), err)
	}
}

func TestExit(t *testing.T) {
	for _, daemons := range []bool{false, true} {
		for script, want := range map[string]string{
			"exit 0":        "exit status 0",
			"exit 7":        "exit status 7",
			"kill -KILL $$": "SIGKILL",
		} {
			run(t, NewSubreaper(), Command{Daemons: daemons}, []string{"sh", "-c", script}, func(tr *Tree) {
				<-tr.Exited()
				if got := tr.Exit(); got.String() != want || got.Signaled || tr.Started() != nil {
					t.Errorf("%s: %s, signaled %t, start %v", script, got, got.Signaled, tr.Started())
				}
			})
		}
	}
}

// A signal that comes before the start prevents it: the program may lie on a network
// mount that is dead for hours.
func TestSignalBeforeTheStart(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	mounted := make(chan struct{})
	file := filepath.Join(t.TempDir(), "ran")
	tr := NewSubreaper().Start(Command{
		Find: func() (string, error) { <-mounted; return LookPath("touch") },
		Argv: []string{"touch", file}, Stdout: null, Stderr: null,
	})
	tr.Signal(syscall.SIGTERM)
	if code := tr.Exit().Code; code != -1 {
		t.Errorf("exit code %d before the start", code)
	}
	close(mounted)
	<-tr.Exited()
	if err := tr.Started(); !errors.Is(err, context.Canceled) {
		t.Errorf("Started() = %v, want canceled", err)
	}
	if _, err := os.Stat(file); err == nil || !tr.Gone(t.Context(), nil) {
		t.Error("it was started")
	}
}

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if err := os.WriteFile(filepath.Join(dir, "plain"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LookPath("plain"); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), dir+"/plain is not executable") {
		t.Errorf("a file that is not executable: %v", err)
	}
	if _, err := LookPath("none"); err == nil || errors.Is(err, fs.ErrPermission) || strings.Contains(err.Error(), "none") {
		t.Errorf("no file: %v", err)
	}
}

// The kernel's ticks and our clock must agree: a process that is taken to begin too late is
// not told where it runs.
func TestBegan(t *testing.T) {
	before := time.Now()
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	after := time.Now()
	st, ok := FS("/proc").Stat(cmd.Process.Pid)
	began := st.Began()
	if !ok || began.IsZero() {
		t.Skip("no procfs, or no clock")
	}
	const tick = 10 * time.Millisecond
	if began.Before(before.Add(-2*tick)) || began.After(after) {
		t.Errorf("began at %s, want %s to %s", began, before, after)
	}
}
