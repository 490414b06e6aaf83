package container

import (
	"fmt"
	"os"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// maxCgroup is the most that is read of a cgroup file, in bytes: a dozen hierarchies, each
// with a path of a page.
const maxCgroup = 64 << 10

// Reader finds out where processes run.
type Reader struct {
	Procfs  process.FS
	PodLogs string // the folder of the kubelet's log folders, usually /var/log/pods
}

// Process is a process of a vendor's list that runs in a container or pod.
type Process struct {
	Vendor, PID string
	Place       Place
	Start       uint64 // that of its list
}

// Snapshot is where the listed processes run.
type Snapshot struct {
	Processes []Process // only those in a container or pod, in the order of the lists
	Warnings  model.Warnings
}

// Read returns where the listed processes run. One that has ended, or whose number is used
// again, is left out. The error is a *failure.Error: unsupported where the numbers of
// Procfs cannot be those of the host, which the vendors' drivers know; not_found and
// permission where Procfs cannot be read.
func (r Reader) Read(listed []Listed) (Snapshot, error) {
	if err := r.check(); err != nil {
		return Snapshot{}, err
	}
	var s Snapshot
	all, wanted := map[string]Process{}, map[string]bool{}
	for _, l := range listed {
		p, known := all[l.PID] // one process may be on cards of two vendors
		if !known {
			var err error
			if p, err = r.idsBy(l.PID, r.readCgroup); err != nil {
				s.Warnings.Add("process %s: %v", l.PID, err)
			}
			all[l.PID] = p
		}
		if p.Place != (Place{}) && p.Start == l.Start {
			p.Vendor, p.PID = l.Vendor, l.PID
			s.Processes = append(s.Processes, p)
			if p.Place.PodUID != "" {
				wanted[p.Place.PodUID] = true
			}
		}
	}
	names := podNames(r.PodLogs, wanted, &s.Warnings)
	for i := range s.Processes {
		s.Processes[i].Place.name(names)
	}
	return s, nil
}

// ID returns the pod and container of a process of Procfs, without their names; zero where
// it is in none, or gone, or not to be told.
func (r Reader) ID(pid int) Place {
	p, _ := r.idsBy(strconv.Itoa(pid), r.readCgroup)
	return p.Place
}

func (p *Place) name(names map[string]podName) {
	if n, ok := names[p.PodUID]; ok {
		p.Namespace, p.Pod, p.Container = n.namespace, n.pod, n.container
	}
}

// idsBy reads the cgroup of the process that has the number before and after. Names are not
// filled in, nor the vendor.
func (r Reader) idsBy(pid string, read func(pid int) ([]byte, error)) (Process, error) {
	n, _ := strconv.Atoi(pid)
	if n <= 0 || strconv.Itoa(n) != pid { // no number that a process can have
		return Process{}, nil
	}
	var text []byte
	st, same, err := r.Procfs.Between(n, func() (err error) {
		text, err = read(n)
		return err
	})
	switch {
	case !same:
		return Process{}, nil
	case err != nil:
		return Process{}, fmt.Errorf("reading its cgroup: %w", err)
	}
	m := Parse(text)
	if m.State == Refused {
		return Process{}, fmt.Errorf("its cgroup is not believed: %s", m.Why)
	}
	return Process{Place: Place{PodUID: m.PodUID, ContainerID: m.ContainerID}, Start: st.Start}, nil
}

func (r Reader) readCgroup(pid int) ([]byte, error) {
	return r.Procfs.Read(pid, "cgroup", maxCgroup)
}

// check reports why the numbers of Procfs are not those of the host's processes, or why
// they cannot be looked up.
func (r Reader) check() error {
	if info, err := os.Stat(string(r.Procfs)); err != nil {
		return failure.New(failure.NotFound, "reading processes below %q: %w", r.Procfs, failure.Cause(err))
	} else if !info.IsDir() {
		return failure.New(failure.NotFound, "reading processes below %q: not a folder", r.Procfs)
	}
	if err := r.Procfs.CheckHostPIDs(); err != nil {
		return failure.New(failure.Unsupported, "%w: process numbers of the tools mean other processes there, or none", err)
	}
	if _, ok := r.Procfs.Stat(1); !ok {
		return failure.New(failure.Permission, "%s hides the processes of other users", r.Procfs)
	}
	return nil
}
