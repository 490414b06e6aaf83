package command

import (
	"errors"
	"os"
	"syscall"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// process is one process for all time: a number alone is used again.
type process struct {
	pid   int
	start uint64 // clock ticks after boot
}

// awaitExit waits for the end of our child without reaping it, and returns
// false where that cannot be done.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

// group returns the processes of a group, dead ones that nobody reaped included.
func group(pgid int) []process {
	var found []process
	for _, st := range processes() {
		if st.PGRP == pgid {
			found = append(found, process{pid: st.PID, start: st.Starttime})
		}
	}
	return found
}

// strays returns what is in the leader's session or descends from it, but is
// not in its group: a job of its own, as timeout(1) makes one, or another session.
func strays(leader int) []process {
	if leader <= 1 {
		return nil // everything descends from these
	}
	all := processes()
	children := make(map[int][]int, len(all))
	for _, st := range all {
		children[st.PPID] = append(children[st.PPID], st.PID)
	}
	below := map[int]bool{leader: true}
	for queue := []int{leader}; len(queue) > 0; queue = queue[1:] {
		for _, pid := range children[queue[0]] {
			if !below[pid] {
				below[pid] = true
				queue = append(queue, pid)
			}
		}
	}
	var found []process
	for _, st := range all {
		if st.PID != os.Getpid() && st.PGRP != leader && (st.Session == leader || below[st.PID]) {
			found = append(found, process{pid: st.PID, start: st.Starttime})
		}
	}
	return found
}

// processes reads all of /proc, and leaves out what cannot be read.
func processes() []procfs.ProcStat {
	all, err := procfs.AllProcs()
	if err != nil {
		return nil
	}
	var found []procfs.ProcStat
	for _, p := range all {
		if st, err := p.Stat(); err == nil {
			found = append(found, st)
		}
	}
	return found
}

// stat reads the process's state, false when it is gone or another has its number.
func (p process) stat() (procfs.ProcStat, bool) {
	proc, err := procfs.NewProc(p.pid)
	if err != nil {
		return procfs.ProcStat{}, false
	}
	st, err := proc.Stat()
	return st, err == nil && st.Starttime == p.start
}

// alive tells whether the process still runs. A dead one that became our own
// child, because we are the first process of a container, is reaped.
func (p process) alive() bool {
	st, ok := p.stat()
	if !ok {
		return false
	}
	if st.State != "Z" && st.State != "X" {
		return true
	}
	if st.PPID == os.Getpid() {
		_, _ = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
	}
	return false
}

func (p process) signal(sig syscall.Signal) {
	// FindProcess holds on to the process where the kernel can, so that the
	// number cannot change hands between the look and the signal.
	proc, err := os.FindProcess(p.pid)
	if err != nil {
		return
	}
	defer func() { _ = proc.Release() }()
	if _, ok := p.stat(); ok {
		_ = proc.Signal(sig)
	}
}
