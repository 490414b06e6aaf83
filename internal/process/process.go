// Package process knows processes, by the proc file system, and runs programs: each in a
// session of its own, and ended with all that it started. It is the one place that does so.
package process

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/procfs"

	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// FS is the mount point of a proc file system.
type FS string

// Processes returns all processes, in no order, without those that ended meanwhile.
func (fs FS) Processes() ([]procfs.ProcStat, error) {
	root, err := procfs.NewFS(string(fs))
	if err != nil {
		return nil, err
	}
	procs, err := root.AllProcs()
	if err != nil {
		return nil, err
	}
	all := make([]procfs.ProcStat, 0, len(procs))
	for _, proc := range procs {
		if st, err := proc.Stat(); err == nil {
			all = append(all, st)
		}
	}
	return all, nil
}

// Stat reads one process; it reports false when there is none of that number.
func (fs FS) Stat(pid int) (procfs.ProcStat, bool) {
	root, err := procfs.NewFS(string(fs))
	if err != nil {
		return procfs.ProcStat{}, false
	}
	proc, err := root.Proc(pid)
	if err != nil {
		return procfs.ProcStat{}, false
	}
	st, err := proc.Stat()
	return st, err == nil
}

// initialNamespace is what the kernel calls the PID namespace that it starts with, in
// every version that has such namespaces.
const initialNamespace = "pid:[4026531836]"

// CheckHostPIDs returns nil where this procfs has the host's PIDs, and else why it does
// not. Where we are in the host's PID namespace, a procfs that shows us is the host's.
// Seen from another namespace it is the one where kthreadd has its number: kernel threads
// are in no other.
func (fs FS) CheckHostPIDs() error {
	self := string(fs) + "/self"
	if _, err := os.Stat(self); err != nil {
		return fmt.Errorf("reading %s: %w", self, failure.Cause(err))
	}
	namespace, err := os.Readlink(self + "/ns/pid")
	if errors.Is(err, os.ErrNotExist) || namespace == initialNamespace {
		return nil // a kernel without namespaces has one only
	}
	const kthreadd, kernelThread = 2, 0x00200000 // PF_KTHREAD of the kernel, which no program can have
	if st, ok := fs.Stat(kthreadd); ok && st.Flags&kernelThread != 0 && st.PPID == 0 {
		return nil
	}
	return fmt.Errorf("%s has the PIDs of a container, not the host's", string(fs))
}

// Began returns when a process began, or up to a tick earlier, zero where that is not known.
func Began(st procfs.ProcStat) time.Time {
	const ticks = 100 // a second, in all that the kernel shows programs
	up, ok := sinceBoot()
	if !ok {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(st.Starttime)*(time.Second/ticks) - up)
}

// AddDescendants adds to set all that descend from its members.
func AddDescendants(set map[int]bool, all []procfs.ProcStat) {
	children := make(map[int][]int, len(all))
	for _, st := range all {
		children[st.PPID] = append(children[st.PPID], st.PID)
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
