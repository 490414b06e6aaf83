package process

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

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

// adoptOrphans makes us the parent of those of our descendants that lose theirs.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// hasChildren reports whether we have any child, dead ones included. Where we have
// none, nothing of a tree is left, and that is told without a look at every process.
func hasChildren() bool {
	return !errors.Is(unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil), unix.ECHILD)
}

// survey gets to know all that is in the tree but the leader, reaps what came to us
// and is dead, whosever it was, and reports whether there was anything of the tree.
// What was dead counts: it may have forked what the survey was too late for. Under mu.
func (t *Tree) survey() (found bool) {
	all, err := FS("/proc").Processes()
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) // with no /proc at all, daemons are not found
	}
	members := t.subreaper.members(t, all)
	t.known = make(map[Process]Stat, len(members))
	for _, st := range members {
		t.known[Process{st.PID, st.Start}] = st
	}
	self := statOf(all, os.Getpid())
	for _, st := range all {
		if st.dead() && st.Parent == self.PID && st.Session != self.Session && !t.subreaper.isLeader(st.PID) {
			_, _ = unix.Wait4(st.PID, nil, unix.WNOHANG, nil)
		}
	}
	return len(t.known) > 0
}

// How long, and among how many of the newest processes, what forks is chased before
// others have their turn.
const (
	chaseTime   = 20 * time.Millisecond
	chaseNumber = 1024
)

// chase kills what forks and ends faster than a survey gets to it: it looks at the
// numbers that were given out since its last look only. Under mu.
func (t *Tree) chase() {
	self, ok := FS("/proc").Stat(os.Getpid())
	last := newest()
	for end := time.Now().Add(chaseTime); ok && time.Now().Before(end); {
		now := newest()
		for pid := now; pid >= last && pid > now-chaseNumber; pid-- {
			if st, ok := FS("/proc").Stat(pid); ok && !st.dead() && t.includes(st, self) {
				Process{st.PID, st.Start}.Signal(syscall.SIGKILL)
			}
		}
		last = now
	}
}

// includes reports whether the process is in the tree but not in the leader's group,
// which is killed as a whole. Under mu.
func (t *Tree) includes(st, self Stat) bool {
	const generations = 8
	inGroup := st.Group == t.pid
	for range generations {
		if st.Parent == self.PID {
			return !inGroup && t.subreaper.owns(t, st, self.Session)
		}
		st, _ = FS("/proc").Stat(st.Parent)
	}
	return false
}

// newest is the number that was given out last, 0 where the kernel does not tell.
func newest() int {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text[bytes.LastIndexByte(text, ' ')+1:])))
	return pid
}

// reapOrphans reaps what came to us without a parent as soon as it is dead: a script
// that waits for a server to be gone waits for that too.
func (t *Tree) reapOrphans() {
	dead := make(chan os.Signal, 1)
	signal.Notify(dead, syscall.SIGCHLD)
	defer signal.Stop(dead)
	for {
		t.subreaper.mu.Lock()
		if !isClosed(t.over) {
			t.survey()
		}
		t.subreaper.mu.Unlock()
		select {
		case <-dead:
		case <-t.over:
			return
		}
	}
}
