package process

import (
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hasProc says that processes can be listed.
const hasProc = true

func attributes() *syscall.SysProcAttr {
	// A session of its own is a group of its own too, and Ctrl-C does not reach
	// it. SIGTERM rather than SIGKILL, so that a server takes its workers along.
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
}

// childInfo is the kernel's siginfo_t for a child: after three numbers comes a
// union that is aligned as a pointer.
type childInfo struct {
	_, _, code int32
	_          [0]uintptr
	_, _       int32
	status     int32
}

// The codes of a child's end, from the kernel's siginfo.h.
const (
	cldExited = 1
	cldDumped = 3
)

// awaitExit waits for the end of our child without reaping it.
func awaitExit(cmd *exec.Cmd) Exit {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return Exit{Code: -1, Err: err}
		}
		break
	}
	child := (*childInfo)(unsafe.Pointer(&info))
	if child.code == cldExited {
		return Exit{Code: int(child.status)}
	}
	return Exit{Code: -1, Signal: syscall.Signal(child.status), CoreDumped: child.code == cldDumped}
}

func signalName(sig syscall.Signal) string { return unix.SignalName(sig) }

// adoptOrphans makes us the parent of those of our descendants that lose theirs: a
// daemon is in a session of its own and would descend from nobody that is known
// here. Where the kernel does not let us, daemons are not found.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// reapOrphans reaps what came to us without a parent as soon as it is dead: a script
// that waits for a server to be gone waits for that too.
func (t *Tree) reapOrphans() {
	dead := make(chan os.Signal, 1)
	signal.Notify(dead, syscall.SIGCHLD)
	defer signal.Stop(dead)
	for {
		t.mu.Lock()
		if !isClosed(t.over) {
			t.survey()
			t.anyAlive()
		}
		t.mu.Unlock()
		select {
		case <-dead:
		case <-t.over:
			return
		}
	}
}

func reap(pid int) { _, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) }
