package side

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"unsafe"

	"github.com/prometheus/procfs"
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

// awaitExit waits for the end of our child without reaping it, and says how it
// ended, nothing for status 0.
func awaitExit(pid int) string {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return "its end could not be seen: " + err.Error()
		}
		break
	}
	switch child := (*childInfo)(unsafe.Pointer(&info)); {
	case child.code == cldExited && child.status == 0:
		return ""
	case child.code == cldExited:
		return fmt.Sprintf("exit status %d", child.status)
	case child.code == cldDumped:
		return fmt.Sprintf("%s, core dumped", unix.SignalName(syscall.Signal(child.status)))
	default:
		return unix.SignalName(syscall.Signal(child.status))
	}
}

// adopt makes this program the parent of those of its descendants that lose theirs:
// a daemon is in a session of its own and would descend from nobody that is known
// here. Where the kernel does not let it, daemons are not found.
func adopt() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// adopted are those of all that came to this program so. They can be told from
// programs that it started itself by their session: the leader's, or one made since
// the leader started.
func adopted(all []procfs.ProcStat, leader int) []procfs.ProcStat {
	i := slices.IndexFunc(all, func(st procfs.ProcStat) bool { return st.PID == leader })
	session, err := unix.Getsid(0)
	if i < 0 || err != nil {
		return nil
	}
	since := all[i].Starttime
	var found []procfs.ProcStat
	for _, st := range all {
		if st.PPID == os.Getpid() && st.PID != leader && st.Session != session && st.Starttime >= since {
			found = append(found, st)
		}
	}
	return found
}

// reapAdopted lets go of those of the adopted that are dead.
func reapAdopted(leader int) {
	for _, st := range adopted(processes(), leader) {
		if isDead(st) {
			_, _ = unix.Wait4(st.PID, nil, unix.WNOHANG, nil)
		}
	}
}

// family counts the living processes in the leader's group, itself apart, and
// returns those that are in another group and in its session, descend from it, or
// were adopted: jobs, sessions of their own as Ray's workers are, and daemons.
func family(leader int) (members int, strays []stray) {
	if leader <= 1 {
		return 0, nil // everything descends from these
	}
	all := processes()
	children := make(map[int][]int, len(all))
	for _, st := range all {
		children[st.PPID] = append(children[st.PPID], st.PID)
	}
	queue, below := []int{leader}, map[int]bool{leader: true}
	for _, st := range adopted(all, leader) {
		queue, below[st.PID] = append(queue, st.PID), true
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, pid := range children[queue[0]] {
			if !below[pid] {
				below[pid] = true
				queue = append(queue, pid)
			}
		}
	}
	for _, st := range all {
		switch {
		case st.PID == leader || st.PID == os.Getpid() || isDead(st):
		case st.PGRP == leader:
			members++
		case st.Session == leader || below[st.PID]:
			strays = append(strays, stray{pid: st.PID, start: st.Starttime})
		}
	}
	return members, strays
}

// processes reads all of /proc and leaves out what cannot be read.
func processes() []procfs.ProcStat {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil
	}
	found := make([]procfs.ProcStat, 0, len(all))
	for _, p := range all {
		if st, err := p.Stat(); err == nil {
			found = append(found, st)
		}
	}
	return found
}

// isDead tells a process that only waits to be reaped. One whose other threads are
// still ending is not there yet: they hold its memory.
func isDead(st procfs.ProcStat) bool {
	return st.State == "X" || st.State == "Z" && st.NumThreads <= 1
}

// stray is one process for all time: a number alone is used again.
type stray struct {
	pid   int
	start uint64 // clock ticks after boot
}

func (s stray) alive() bool {
	proc, err := procfs.NewProc(s.pid)
	if err != nil {
		return false
	}
	st, err := proc.Stat()
	return err == nil && st.Starttime == s.start && !isDead(st)
}

func (s stray) signal(sig syscall.Signal) {
	// FindProcess holds on to the process where the kernel can, so that the
	// number cannot change hands between the look and the signal.
	proc, err := os.FindProcess(s.pid)
	if err != nil {
		return
	}
	defer func() { _ = proc.Release() }()
	if s.alive() {
		_ = proc.Signal(sig)
	}
}
