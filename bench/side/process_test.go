//go:build linux

package side

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// The test binary is also the program that the sides run.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "act" {
		os.Exit(act(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}

// act is one of the programs. Those that stay write their number to a file.
func act(name string, args []string) int {
	switch name {
	case "say": // say STATUS TEXT…
		fmt.Println(strings.Join(args[1:], "\n"))
		status, _ := strconv.Atoi(args[0])
		return status
	case "die":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case "serve": // serve PIDFILE
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		record(args[0])
		<-term
		fmt.Println("shut down in order")
		return 3
	case "stubborn": // stubborn PIDFILE
		signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM) // and nobody looks
		record(args[0])
		select {}
	case "background": // background PIDFILE
		spawn(nil, "stubborn", args[0])
		waitFor(args[0])
		return 0
	case "workers": // workers PIDFILE1 PIDFILE2 PIDFILE: one in the group, one in a session of its own
		spawn(nil, "stubborn", args[0])
		spawn(&syscall.SysProcAttr{Setsid: true}, "stubborn", args[1])
		waitFor(args[0])
		waitFor(args[1])
		return act("serve", args[2:])
	case "daemon": // daemon PIDFILE1 PIDFILE: one that descends from nobody
		argv := program("fork", args[0])
		middle := exec.Command(argv[0], argv[1:]...)
		middle.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		_ = middle.Run()
		waitFor(args[0])
		return act("serve", args[1:])
	case "fork":
		spawn(&syscall.SysProcAttr{Setsid: true}, "stubborn", args[0])
		return 0
	case "parent": // parent PIDFILE: runs a side, until it is killed itself
		p, err := Start(context.Background(), process.NewSubreaper(), Side{Name: "a", Argv: program("serve", args[0])}, args[0]+".log")
		if err != nil {
			fmt.Println(err)
			return 1
		}
		<-p.Exited()
		return 0
	}
	return 99
}

func record(path string) {
	_ = os.WriteFile(path+".new", []byte(strconv.Itoa(os.Getpid())), 0o600)
	_ = os.Rename(path+".new", path)
}

func spawn(attr *syscall.SysProcAttr, args ...string) {
	argv := program(args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = attr
	_ = cmd.Start()
}

func program(args ...string) []string {
	path, _ := os.Executable()
	return append([]string{path, "act"}, args...)
}

func waitFor(path string) (pid int) {
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(2 * time.Millisecond) {
		if text, err := os.ReadFile(path); err == nil {
			pid, _ = strconv.Atoi(string(text))
			return pid
		}
	}
	return 0
}

func start(t *testing.T, ctx context.Context, args ...string) (*Process, string) { //nolint:revive // t comes first in tests
	t.Helper()
	log := filepath.Join(t.TempDir(), "server.log")
	p, err := Start(ctx, process.NewSubreaper(), Side{Name: "a", Argv: program(args...)}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(0); err != nil {
			t.Error(err)
		}
	})
	return p, log
}

func lives(pid int) bool {
	st, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(st), ") Z ")
}

// expectGone polls: what is killed by the kernel or by another goroutine takes a
// moment.
func expectGone(t *testing.T, pid int) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); lives(pid); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("process %d still lives", pid)
		}
	}
}

// A server that shuts down in order within its grace is not killed, whatever
// status it gives, and its log is kept.
func TestStopLetsAServerShutDown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	p, log := start(t, t.Context(), "serve", file)
	pid := waitFor(file)
	if err := p.Stop(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(log)
	if err != nil || string(text) != "shut down in order\n" || lives(pid) {
		t.Errorf("log %q (%v), process alive %t", text, err, lives(pid))
	}
	if err := p.Err(); err != nil {
		t.Errorf("Err after Stop: %v", err)
	}
}

// Workers that ignore SIGTERM, or moved to a session of their own as Ray's do,
// would hold the cards' memory and spoil the next side.
func TestStopLeavesNoWorker(t *testing.T) {
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "group"), filepath.Join(dir, "session"), filepath.Join(dir, "leader")}
	p, _ := start(t, t.Context(), slices.Concat([]string{"workers"}, files)...)
	waitFor(files[2])
	if err := p.Stop(50 * time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if pid := waitFor(file); pid == 0 || lives(pid) {
			t.Errorf("%s: process %d still lives", filepath.Base(file), pid)
		}
	}
}

// A start script ends at once and well; the server that it left behind runs until
// the side is over.
func TestStopEndsWhatAScriptLeftBehind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	p, _ := start(t, t.Context(), "background", file)
	<-p.Exited()
	pid := waitFor(file)
	if err := p.Err(); err != nil || !lives(pid) {
		t.Fatalf("Err = %v, server lives %t", err, lives(pid))
	}
	if err := p.Stop(0); err != nil || lives(pid) {
		t.Errorf("Stop = %v, server lives %t", err, lives(pid))
	}
}

// A command that switched something and ended is no failure, and there is
// nothing to stop, twice.
func TestCommandThatOnlySwitches(t *testing.T) {
	p, _ := start(t, t.Context(), "say", "0", "restarted")
	<-p.Exited()
	for range 2 {
		if err := p.Stop(time.Minute); err != nil || p.Err() != nil {
			t.Errorf("Stop = %v, Err = %v", err, p.Err())
		}
	}
}

func TestErrSaysHowTheCommandEnded(t *testing.T) {
	long := strings.Repeat("é", 150)
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"status and last lines", []string{"say", "2", "1", "2", "3", "4", "5", "6", "7", "OSError: \x1b[31mport 8000\x1b[0m", "in use"}, "ended with exit status 2; the end of LOG:\n" +
			"  2\n  3\n  4\n  5\n  6\n  7\n  OSError:  [31mport 8000 [0m\n  in use"},
		{"long line", []string{"say", "1", long}, "ended with exit status 1; the end of LOG:\n  " + long[:200] + "…"},
		{"key", []string{"say", "1", "args: {'api_key': ['s3cret=1']}", "port 8000 in use", "GET /?key=s3cret%3d1", `{"key":"s3cret\u003d1"}`, "--api-key", "s3cret=1"}, "ended with exit status 1; the end of LOG:\n" +
			"  not shown: it repeats a credential\n  port 8000 in use\n" + strings.Repeat("  not shown: it repeats a credential\n", 2) + "  --api-key\n  not shown: it repeats a credential"},
		{"key of the environment", []string{"say", "1", "token s3cret&#45;of-the-host"}, "ended with exit status 1; the end of LOG:\n  not shown: it repeats a credential"},
		{"nothing printed", []string{"say", "1"}, "ended with exit status 1 and printed nothing"},
		{"signal", []string{"die"}, "ended with signal: killed and printed nothing"},
	}
	t.Setenv("HF_TOKEN", "s3cret-of-the-host")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, log := start(t, t.Context(), tt.args...)
			<-p.Exited()
			want := "side a: its command " + strings.ReplaceAll(tt.want, "LOG", log)
			if err := p.Err(); err == nil || err.Error() != want {
				t.Errorf("Err:\n%v\nwant:\n%s", err, want)
			}
		})
	}
}

// The same log serves every repeat of a side: the lines of the repeat before are
// neither lost nor shown as this one's.
func TestLogIsAppendedTo(t *testing.T) {
	log := filepath.Join(t.TempDir(), "server.log")
	for i, want := range []string{"  first", "  second"} {
		p, err := Start(t.Context(), process.NewSubreaper(), Side{Name: "a", Argv: program("say", "1", []string{"first", "second"}[i])}, log)
		if err != nil {
			t.Fatal(err)
		}
		<-p.Exited()
		if err := p.Err(); err == nil || !strings.HasSuffix(err.Error(), ":\n"+want) {
			t.Errorf("Err: %v", err)
		}
		if err := p.Stop(0); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(log)
	info, _ := os.Stat(log)
	if string(text) != "first\nsecond\n" || err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("log %q with mode %s, %v", text, info.Mode(), err)
	}
}

// The end of the context is a hurry: nothing may be left when the program ends.
func TestContextKillsAll(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	ctx, cancel := context.WithCancel(t.Context())
	p, _ := start(t, ctx, "stubborn", file)
	pid := waitFor(file)
	cancel()
	<-p.Exited()
	expectGone(t, pid)
	if err := p.Err(); err != nil {
		t.Errorf("Err after the context's end: %v", err)
	}
	if _, err := Start(ctx, process.NewSubreaper(), Side{Name: "a", Argv: program("say", "0")}, filepath.Join(t.TempDir(), "log")); err == nil {
		t.Error("a context that was over started a command")
	}
}

// Killed with SIGKILL, the load generator cannot stop the server; the kernel does.
func TestServerDoesNotOutliveUs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	argv := program("parent", file)
	parent := exec.Command(argv[0], argv[1:]...)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	pid := waitFor(file)
	if !lives(pid) {
		t.Fatal("the server did not start")
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	expectGone(t, pid)
}

func TestStartRefuses(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, program, log, want string
	}{
		{"no program", filepath.Join(dir, "none"), filepath.Join(dir, "log"), "side a: looking up " + dir + "/none: "},
		{"no interpreter", script, filepath.Join(dir, "log"), "side a: starting " + script + ": its interpreter: no such file"},
		{"no folder", program()[0], filepath.Join(dir, "no", "log"), "side a: opening its log: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Start(t.Context(), process.NewSubreaper(), Side{Name: "a", Argv: []string{tt.program}}, tt.log)
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("Start: %v, want %s…", err, tt.want)
			}
		})
	}
}

// The report says what was compared: the binding that the kernel really enforces,
// not the one that somebody meant to give.
func TestBinding(t *testing.T) {
	cpu := strconv.Itoa(firstCPU(t))
	tests := []struct {
		argv   []string
		cpus   string
		policy string
	}{
		{argv: []string{"taskset", "-c", cpu}, cpus: cpu, policy: "default"},
		{argv: []string{"numactl", "--physcpubind=" + cpu, "--membind=0"}, cpus: cpu, policy: "bind:0"},
	}
	for _, tt := range tests {
		t.Run(tt.argv[0], func(t *testing.T) {
			if _, err := exec.LookPath(tt.argv[0]); err != nil {
				t.Skip(err)
			}
			if err := exec.Command(tt.argv[0], append(tt.argv[1:], program("say", "0")...)...).Run(); err != nil {
				t.Skipf("this machine does not let %s do it: %v", tt.argv[0], err)
			}
			file := filepath.Join(t.TempDir(), "pid")
			p, err := Start(t.Context(), process.NewSubreaper(), Side{Name: "a", Argv: slices.Concat(tt.argv, program("serve", file))}, filepath.Join(t.TempDir(), "log"))
			if err != nil {
				t.Fatal(err)
			}
			waitFor(file)
			b, err := p.Binding()
			if err != nil || b.CPUs != tt.cpus || b.Mems == "" || b.Policy != tt.policy && b.Policy != "" {
				t.Errorf("Binding = %+v, %v, want CPU %s, some nodes, policy %s", b, err, tt.cpus, tt.policy)
			}
			if err := p.Stop(20 * time.Second); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Binding(); err == nil || !strings.Contains(err.Error(), "has ended") {
				t.Errorf("Binding after the end: %v", err)
			}
		})
	}
}

func firstCPU(t *testing.T) int {
	t.Helper()
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	cpu := 0
	for !allowed.IsSet(cpu) {
		cpu++
	}
	return cpu
}

func TestReadPolicy(t *testing.T) {
	tests := []struct{ text, want string }{
		{"55e5f7e02000 bind:0 file=/usr/bin/python3.12 mapped=2 N0=2 kernelpagesize_kB=4\n", "bind:0"},
		{"00400000 interleave:0-3 file=/usr/bin/x", "interleave:0-3"},
		{"00400000 prefer", ""},
		{"", ""},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), "numa_maps")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := readPolicy(path); got != tt.want {
			t.Errorf("policy of %q is %q, want %q", tt.text, got, tt.want)
		}
	}
}
