// Package process knows processes, by the proc file system, and runs programs: each in a
// session of its own, and ended with all that it started. It is the one place that does so.
package process

import (
	"time"

	"github.com/prometheus/procfs"
)

// FS is the mount point of a proc file system.
type FS string

// Stat is one process as its stat file shows it.
type Stat struct {
	PID, Parent int
	Group       int // process group
	Session     int
	Kernel      bool   // a thread of the kernel
	State       string // such as R, S, D, and Z for one that is dead and not reaped
	Start       uint64 // clock ticks after boot
}

// Processes returns all processes, in no order, without those that ended meanwhile.
func (fs FS) Processes() ([]Stat, error) {
	root, err := procfs.NewFS(string(fs))
	if err != nil {
		return nil, err
	}
	procs, err := root.AllProcs()
	if err != nil {
		return nil, err
	}
	all := make([]Stat, 0, len(procs))
	for _, proc := range procs {
		if st, ok := readStat(proc); ok {
			all = append(all, st)
		}
	}
	return all, nil
}

// Stat reads one process; it reports false when there is none of that number.
func (fs FS) Stat(pid int) (Stat, bool) {
	root, err := procfs.NewFS(string(fs))
	if err != nil {
		return Stat{}, false
	}
	proc, err := root.Proc(pid)
	if err != nil {
		return Stat{}, false
	}
	return readStat(proc)
}

func readStat(proc procfs.Proc) (Stat, bool) {
	st, err := proc.Stat()
	if err != nil {
		return Stat{}, false
	}
	const kernelThread = 0x00200000 // PF_KTHREAD of the kernel, which no program can have
	return Stat{
		PID: st.PID, Parent: st.PPID, Group: st.PGRP, Session: st.Session,
		Kernel: st.Flags&kernelThread != 0, State: st.State, Start: st.Starttime,
	}, true
}

// Began returns when the process began, or up to a tick earlier, zero where that is not known.
func (s Stat) Began() time.Time {
	const ticks = 100 // a second, in all that the kernel shows programs
	up, ok := sinceBoot()
	if !ok {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(s.Start)*(time.Second/ticks) - up)
}

// AddDescendants adds to set all that descend from its members.
func AddDescendants(set map[int]bool, all []Stat) {
	children := make(map[int][]int, len(all))
	for _, st := range all {
		children[st.Parent] = append(children[st.Parent], st.PID)
	}
	queue := make([]int, 0, len(set))
	for pid := range set {
		queue = append(queue, pid)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, pid := range children[queue[0]] {
			if !set[pid] {
				set[pid] = true
				queue = append(queue, pid)
			}
		}
	}
}
