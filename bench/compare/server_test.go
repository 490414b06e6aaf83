//go:build linux

package compare

import (
	"fmt"
	"net/http"
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
	case "workers": // workers PIDFILE1 PIDFILE2 PIDFILE: one in the group, one in a session of its own
		spawn(nil, "stubborn", args[0])
		spawn(&syscall.SysProcAttr{Setsid: true}, "stubborn", args[1])
		waitFor(args[0])
		waitFor(args[1])
		return act("serve", args[2:])
	case "models": // models ADDRESS: an endpoint
		return serveModels(args[0])
	}
	return 99
}

func serveModels(address string) int {
	fmt.Println(http.ListenAndServe(address, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"m","object":"model"}]}`))
	})))
	return 1
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

func start(t *testing.T, args ...string) (*process.Child, string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "server.log")
	p, err := startServer(process.NewSubreaper(), program(args...), log)
	noError(t, err)
	t.Cleanup(func() {
		if err := stop(p, 0); err != nil {
			t.Error(err)
		}
	})
	return p, log
}

func lives(pid int) bool {
	st, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(st), ") Z ")
}

// A server that shuts down in order within its grace is not killed, whatever
// status it gives, and its log is kept.
func TestStopLetsAServerShutDown(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	p, log := start(t, "serve", file)
	pid := waitFor(file)
	noError(t, stop(p, 20*time.Second))
	text, err := os.ReadFile(log)
	info, _ := os.Stat(log)
	if err != nil || string(text) != "shut down in order\n" || lives(pid) || info.Mode().Perm() != 0o600 {
		t.Errorf("log %q (%v), process alive %t", text, err, lives(pid))
	}
}

// Workers that ignore SIGTERM, or moved to a session of their own as Ray's do,
// would hold the cards' memory and spoil the next side.
func TestStopLeavesNoWorker(t *testing.T) {
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "group"), filepath.Join(dir, "session"), filepath.Join(dir, "leader")}
	p, _ := start(t, slices.Concat([]string{"workers"}, files)...)
	waitFor(files[2])
	noError(t, stop(p, 50*time.Millisecond))
	for _, file := range files {
		if pid := waitFor(file); pid == 0 || lives(pid) {
			t.Errorf("%s: process %d still lives", filepath.Base(file), pid)
		}
	}
}

// A user reads what the server printed last.
func TestLogEnd(t *testing.T) {
	p, log := start(t, "say", "2", "first", "1", "2", "3", "4", "5", "6", "7", "8")
	<-p.Exited()
	want := "the end of " + log + ":\n  1\n  2\n  3\n  4\n  5\n  6\n  7\n  8"
	if got := logEnd(log); got != want {
		t.Errorf("%s\nwant:\n%s", got, want)
	}
}
