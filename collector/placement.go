package collector

import (
	"errors"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/collector/numa"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// maxStatus is the most that is read of a process's status file, in bytes. The kernel
// prints some 1,500, and the numbers of all groups of its user.
const maxStatus = 64 << 10

// places finds what the processes on cards may use of the machine.
type places struct {
	procfs process.FS
	sysfs  string
}

// whereabouts are what was found for one table of processes.
type whereabouts struct {
	nodes   numa.Snapshot
	allowed map[string]numa.Allowed // by PID
	why     error                   // that nobody could be looked at, nil where it was tried
}

// look reads the files of the processes that a table lists, at once after it: so a number
// has least time to become another process's. It returns nil where there are no nodes, of
// which the numa collector says why.
func (p *places) look(listed []model.Process) *whereabouts {
	if p == nil {
		return nil
	}
	nodes, err := numa.Read(p.sysfs)
	if err != nil {
		return nil
	}
	w := &whereabouts{nodes: nodes, allowed: make(map[string]numa.Allowed)}
	if len(listed) == 0 {
		return w
	}
	if w.why = p.procfs.CheckHostPIDs(); w.why != nil {
		return w
	}
	seen := make(map[string]bool, len(listed))
	for _, l := range listed {
		if seen[l.PID] {
			continue
		}
		seen[l.PID] = true
		a, err := ofProcess(p.procfs, l.PID, func(pid int) (numa.Allowed, error) { return readAllowed(p.procfs, pid) })
		if err == nil {
			w.allowed[l.PID] = a
		}
	}
	return w
}

// tell adds to a snapshot what was found of its processes.
func (w *whereabouts) tell(s *model.Snapshot) {
	if w == nil {
		return
	}
	s.Placements = w.nodes.Place(s.Devices, s.Processes, w.allowed)
	listed := make(map[string]bool, len(s.Processes))
	for _, p := range s.Processes {
		listed[p.PID] = true
	}
	unplaced := len(listed) - len(s.Placements)
	s.Unplaced = &unplaced
	if w.why != nil && unplaced > 0 {
		s.Warnings.Add("where the processes may run is not known: %v", w.why)
	}
}

// errEnded is that a number is nobody's, or another process's than before.
var errEnded = errors.New("the process has ended")

// ofProcess reads something of a process, whose PID is as a tool prints it. A number that
// is given to another meanwhile has nothing to tell.
func ofProcess[T any](procfs process.FS, printed string, read func(pid int) (T, error)) (of T, err error) {
	pid, err := strconv.Atoi(printed)
	if err != nil || pid <= 0 {
		return of, errors.New("no PID")
	}
	var value T
	_, same, err := procfs.Between(pid, func() (err error) {
		value, err = read(pid)
		return err
	})
	switch {
	case !same:
		return of, errEnded
	case err != nil:
		return of, err
	}
	return value, nil
}

func readAllowed(procfs process.FS, pid int) (numa.Allowed, error) {
	text, err := procfs.Read(pid, "status", maxStatus)
	if err != nil {
		return numa.Allowed{}, err
	}
	return numa.ParseAllowed(string(text))
}
