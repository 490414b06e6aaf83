//go:build linux

package process

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// The test binary is also a program that is run.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "chain" {
		chain()
	}
	os.Exit(m.Run())
}

// chain forks, and only the child goes on, in a session of its own, for 20 s if nobody
// is faster. The leader ends well once that runs. The child makes bare system calls
// only: more a process that was forked without its threads may not do.
func chain() {
	var pipe [2]int
	_ = unix.Pipe(pipe[:])
	var began, now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &began)
	if pid, _, _ := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0); pid != 0 {
		_, _ = unix.Read(pipe[0], make([]byte, 1))
		os.Exit(0)
	}
	for links := 0; now.Sec <= began.Sec+20; links++ {
		_, _, _ = syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
		if pid, _, _ := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0); pid != 0 {
			_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
		if links == 20 {
			_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, uintptr(pipe[1]), uintptr(unsafe.Pointer(&now)), 1)
		}
		_, _, _ = syscall.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&now)), 0)
	}
	_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
}

// run starts a program, calls f with its tree, and ends what is left of it.
func run(t *testing.T, s *Subreaper, c Command, argv []string, f func(tr *Tree)) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	c.Find = func() (string, error) { return LookPath(argv[0]) }
	c.Argv, c.Stdout, c.Stderr = argv, null, null
	tr := s.Start(c)
	f(tr)
	if !endWithin(tr, 20*time.Second) {
		t.Fatal("something is left")
	}
	noChildren(t)
}

// endWithin kills what is left of the tree until d has passed.
func endWithin(tr *Tree, d time.Duration) bool {
	kill := func() { tr.Signal(syscall.SIGKILL) }
	kill()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return tr.Gone(ctx, kill)
}

// noChildren checks that we have no child, dead ones included.
func noChildren(t *testing.T) {
	t.Helper()
	all, err := FS("/proc").Processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range all {
		if st.Parent == os.Getpid() {
			t.Errorf("child %d is left in state %c", st.PID, st.State)
		}
	}
}

// withAndWithoutCgroup runs a test where each program has a cgroup, if we may make
// one, and where none has.
func withAndWithoutCgroup(t *testing.T, test func(t *testing.T, s *Subreaper)) {
	t.Run("without a cgroup", func(t *testing.T) {
		s := NewSubreaper()
		s.cgroup = ""
		test(t, s)
	})
	t.Run("with a cgroup", func(t *testing.T) {
		s := NewSubreaper()
		dir, err := os.MkdirTemp(s.cgroup, "test-*")
		if err != nil || s.cgroup == "" {
			os.Remove(dir)
			t.Skip("no cgroup v2 that we may write: ", err)
		}
		s.cgroup = dir
		defer func() {
			if err := os.Remove(dir); err != nil {
				t.Errorf("cgroups are left: %v", err)
			}
		}()
		test(t, s)
	})
}

// What forks, leaves its session and ends is never where it was seen last.
func TestForkChain(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	withAndWithoutCgroup(t, func(t *testing.T, s *Subreaper) {
		run(t, s, Command{}, []string{self, "chain"}, func(tr *Tree) {
			<-tr.Exited()
			if (tr.cgroup != "") != (s.cgroup != "") {
				t.Error("started without its cgroup")
			}
			began := time.Now()
			if !endWithin(tr, 10*time.Second) {
				t.Error("the chain outran us")
			}
			t.Logf("ended after %s", time.Since(began))
		})
	})
}

// Whose tree a process is in decides whether it is killed. Tool 100 started at 20,
// tool 200 at 30.
func TestMembers(t *testing.T) {
	self := os.Getpid()
	all := []Stat{
		{PID: 1},
		{PID: self, Parent: 1, Group: self, Session: 5, Start: 10},
		{PID: 100, Parent: self, Group: 100, Session: 100, Start: 20},
		{PID: 101, Parent: 100, Group: 100, Session: 100, Start: 21},  // a worker
		{PID: 102, Parent: self, Group: 102, Session: 100, Start: 22}, // a job whose parent is gone
		{PID: 103, Parent: 101, Group: 103, Session: 103, Start: 23},  // a session of its own below a worker
		{PID: 104, Parent: self, Group: 104, Session: 104, Start: 24}, // a daemon from before tool 200
		{PID: 105, Parent: 104, Group: 105, Session: 105, Start: 35},  // and its child
		{PID: 106, Parent: self, Group: 106, Session: 106, Start: 19}, // came to us before
		{PID: 107, Parent: self, Group: self, Session: 5, Start: 31},  // our own
		{PID: 108, Parent: 1, Group: 108, Session: 108, Start: 31},    // somebody else's
		{PID: 109, Parent: 110, Group: 108, Session: 108, Start: 31},  // a loop in a torn reading
		{PID: 110, Parent: 109, Group: 108, Session: 108, Start: 31},
		{PID: 111, Parent: self, Group: 111, Session: 111, Start: 31}, // a daemon that either can have started
		{PID: 112, Parent: self, Group: 112, Session: 112, Start: 32}, // one that tool 200 was seen to start
		{PID: 200, Parent: self, Group: 200, Session: 200, Start: 30},
		{PID: 201, Parent: 200, Group: 200, Session: 200, Start: 31},
	}
	first := &Tree{pid: 100, begin: 20}
	for name, tt := range map[string]struct {
		second *Tree
		want   []int // of the first
	}{
		"both run":             {&Tree{pid: 200, begin: 30}, []int{101, 102, 103, 104, 105}},
		"the other was killed": {&Tree{pid: 200, begin: 30, killed: true}, []int{101, 102, 103, 104, 105, 111}},
		"the other starts":     {&Tree{}, []int{101, 102, 103}},
	} {
		t.Run(name, func(t *testing.T) {
			tt.second.known = map[Process]Stat{{112, 32}: {}}
			s := &Subreaper{trees: map[*Tree]bool{first: true, tt.second: true}}
			var got []int
			for _, st := range s.members(first, all) {
				got = append(got, st.PID)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
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
	if now, ok := (Process{st.PID, st.Start}).stat(); !ok || now.dead() {
		t.Error("the process that has its number was killed")
	}
}

// What a server leaves behind is part of it; what a tool leaves behind is not wanted.
func TestWhatTheLeaderLeavesBehind(t *testing.T) {
	withAndWithoutCgroup(t, func(t *testing.T, s *Subreaper) {
		for _, daemons := range []bool{false, true} {
			run(t, s, Command{Daemons: daemons}, []string{"sh", "-c", "sleep 1000 & exit 0"}, func(tr *Tree) {
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
	})
}

// Where the kernel or a sandbox refuses the cgroup, the program runs without.
func TestStartsWithoutACgroup(t *testing.T) {
	s := NewSubreaper()
	for name, dir := range map[string]string{"no folder": filepath.Join(t.TempDir(), "none"), "no cgroup": t.TempDir()} {
		s.cgroup = dir
		run(t, s, Command{}, []string{"true"}, func(tr *Tree) {
			if err := tr.Started(); err != nil || tr.cgroup != "" {
				t.Errorf("%s: %v, in %q", name, err, tr.cgroup)
			}
		})
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
	}
}

// Which folder is ours, as the kernel tells it under systemd, in a container, with v1
// beside v2, and without v2.
func TestCgroupOf(t *testing.T) {
	const v2 = "31 23 0:28 %s /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
	const v1 = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
	for _, tt := range []struct{ mounts, cgroup, want string }{
		{strings.ReplaceAll(v2, "%s", "/"), "0::/system.slice/x.service\n", "/sys/fs/cgroup/system.slice/x.service"},
		{strings.ReplaceAll(v2, "%s", "/"), "0::/\n", "/sys/fs/cgroup"},
		{strings.ReplaceAll(v2, "%s", "/docker/1"), "0::/docker/1\n", "/sys/fs/cgroup"},
		{strings.ReplaceAll(v2, "%s", "/docker/1"), "0::/docker/2\n", ""},
		{strings.ReplaceAll(v2, "%s", "/"), "0::/../other\n", ""},
		{v1 + strings.ReplaceAll(v2, "%s", "/"), "1:cpu:/a\n0::/b\n", "/sys/fs/cgroup/b"},
		{v1, "1:cpu:/a\n", ""},
		{"torn", "0::/\n", ""},
	} {
		root := t.TempDir()
		for name, text := range map[string]string{"mountinfo": tt.mounts, "cgroup": tt.cgroup} {
			if err := os.MkdirAll(filepath.Join(root, "1"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "1", name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink("1", filepath.Join(root, "self")); err != nil {
			t.Fatal(err)
		}
		fs, err := procfs.NewFS(root)
		if err != nil {
			t.Fatal(err)
		}
		if got := cgroupOf(fs); got != tt.want {
			t.Errorf("%q, %q: %q, want %q", tt.mounts, tt.cgroup, got, tt.want)
		}
	}
}
