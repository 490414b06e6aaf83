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
		again := fmt.Sprintf("1 (x) %s %d %d %d 0 0 0 0 0 0 0 0 0 0 0 0 0 %d 0 %d", string([]byte{st.State}), st.Parent, st.Group, st.Session, st.Threads, st.Start)
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

// Whose tree a process is in decides whether it is killed.
func TestMembers(t *testing.T) {
	self := os.Getpid()
	all := []Stat{
		{PID: 1},
		{PID: self, Parent: 1, Group: self, Session: 5, Start: 10},
		{PID: 100, Parent: self, Group: 100, Session: 100, Start: 20},
		{PID: 101, Parent: 100, Group: 100, Session: 100, Start: 21}, // a worker
		{PID: 102, Parent: 1, Group: 102, Session: 100, Start: 22},   // a job whose parent is gone
		{PID: 103, Parent: 101, Group: 103, Session: 103, Start: 23}, // a session of its own below a worker
		{PID: 104, Parent: self, Group: 104, Session: 104, Start: 24},
		{PID: 105, Parent: 104, Group: 105, Session: 105, Start: 25},
		{PID: 106, Parent: self, Group: 106, Session: 106, Start: 19}, // came to us before
		{PID: 107, Parent: self, Group: self, Session: 5, Start: 26},  // our own
		{PID: 108, Parent: 1, Group: 108, Session: 108, Start: 27},    // somebody else's
		{PID: 109, Parent: 110, Group: 108, Session: 108, Start: 27},  // a loop in a torn reading
		{PID: 110, Parent: 109, Group: 108, Session: 108, Start: 27},
	}
	pids := func(found []Stat) (pids []int) {
		for _, st := range found {
			pids = append(pids, st.PID)
		}
		return pids
	}
	if diff := cmp.Diff([]int{101, 102, 103}, pids(members(all, 100, false))); diff != "" {
		t.Errorf("of a tool (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{101, 102, 103, 104, 105}, pids(members(all, 100, true))); diff != "" {
		t.Errorf("of a server with daemons (-want +got):\n%s", diff)
	}
	for _, leader := range []int{0, 1} {
		if found := members(all, leader, true); len(found) > 0 {
			t.Errorf("of process %d: %d, which would be the whole system", leader, len(found))
		}
	}
}

// A number that was used again is not the process that had it.
func TestNumbersUsedAgain(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	st, _ := FS("/proc").Stat(cmd.Process.Pid)
	before := Process{st.PID, st.Start - 1}
	before.Signal(syscall.SIGKILL)
	if now := (Process{st.PID, st.Start}); before.Alive() || !now.Alive() {
		t.Errorf("the one before is alive %t, this one %t", before.Alive(), now.Alive())
	}
}

// run starts a shell's script, calls f with its tree, and ends what is left of it.
func run(t *testing.T, daemons bool, script string, f func(tr *Tree)) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	tr := Start(Command{
		Find: func() (string, error) { return LookPath("sh") },
		Argv: []string{"sh", "-c", script}, Stdout: null, Stderr: null, Daemons: daemons,
	})
	f(tr)
	tr.Signal(syscall.SIGKILL)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if !tr.Gone(ctx, func() { tr.Signal(syscall.SIGKILL) }) {
		t.Fatal("something is left")
	}
}

func TestExit(t *testing.T) {
	for _, daemons := range []bool{false, true} {
		for script, want := range map[string]string{
			"exit 0":        "exit status 0",
			"exit 7":        "exit status 7",
			"kill -KILL $$": "SIGKILL",
		} {
			run(t, daemons, script, func(tr *Tree) {
				<-tr.Exited()
				if got := tr.Exit(); got.String() != want || got.Signaled || tr.Started() != nil {
					t.Errorf("%s: %s, signaled %t, start %v", script, got, got.Signaled, tr.Started())
				}
			})
		}
	}
}

// What a server leaves behind is part of it; what a tool leaves behind is not wanted.
func TestWhatTheLeaderLeavesBehind(t *testing.T) {
	for _, daemons := range []bool{false, true} {
		run(t, daemons, "sleep 1000 & exit 0", func(tr *Tree) {
			<-tr.Exited()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			looks := 0
			gone := tr.Gone(ctx, func() {
				if looks++; daemons && looks == 3 {
					cancel()
				}
			})
			if gone == daemons {
				t.Errorf("with daemons %t: gone %t", daemons, gone)
			}
		})
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
	tr := Start(Command{
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
