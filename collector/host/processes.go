package host

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// ProcessReader reads where the processes that one vendor's tool lists run. It is of one goroutine.
type ProcessReader struct {
	Sysfs  string     // usually /sys
	Procfs process.FS // usually /proc
	// PodLogs is the folder of the kubelet's log folders, usually /var/log/pods. It need not
	// be there.
	PodLogs string
	// Containers turns on containers and pods, Placement turns on CPUs and memory nodes.
	Containers, Placement bool
	// MapsTimeout is how long numa_maps are waited for, with Placement; 0 leaves them alone.
	MapsTimeout time.Duration
	// Timeout is how long the other files of processes, and pods, are waited for.
	Timeout time.Duration

	files bounded[Placements]
	maps  bounded[nodeMemory]
}

// Placements are where the listed processes run.
type Placements struct {
	// Err is why no process could be read, a *failure.Error: unsupported where the numbers
	// of Procfs are not those of the host, which the vendors' drivers know; not_found and
	// permission where Procfs cannot be read; timeout.
	Err      error
	Warnings model.Warnings // of containers

	sysfs          string
	numa           NUMA
	withPlacement  bool
	withContainers bool
	processes      map[string]listedProcess // by PID
	memory         nodeMemory
}

type listedProcess struct {
	pid         int
	start       uint64 // clock ticks after boot
	cpus, nodes []int  // that it may use; nil where not known
	container   model.Container
}

// Read reads the files of the listed processes. It is called at once after the tool's list,
// so that a number has least time to become another process's; toolStart is when the tool was
// started. NUMA nodes do not wait for the files of processes, one of which may hang.
func (r *ProcessReader) Read(listed []model.Process, toolStart time.Time) Placements {
	numa, err := ReadNUMA(r.Sysfs)
	withPlacement := r.Placement && err == nil // otherwise the collector numa says why
	if !r.Containers && !withPlacement {
		return Placements{sysfs: r.Sysfs, numa: numa}
	}
	found, inTime := r.files.read(r.Timeout, func() Placements { return r.readAll(listed, toolStart) })
	if !inTime {
		found.Err = failure.Errorf(failure.Timeout, "reading the files of processes: not done within %s", r.Timeout)
	}
	found.sysfs, found.numa, found.withPlacement, found.withContainers = r.Sysfs, numa, withPlacement, r.Containers
	if withPlacement && r.MapsTimeout > 0 && found.Err == nil {
		processes := found.processes
		found.memory, inTime = r.maps.read(r.MapsTimeout, func() nodeMemory { return r.sumAll(processes) })
		if !inTime {
			found.memory.warnings.Add("the memory of the processes by node is not known: the kernel does not answer within %s", r.MapsTimeout)
		}
	}
	return found
}

// readAll reads all listed processes, and the names of their pods.
func (r *ProcessReader) readAll(listed []model.Process, toolStart time.Time) Placements {
	found := Placements{processes: map[string]listedProcess{}}
	if found.Err = checkProcfs(r.Procfs); found.Err != nil {
		return found
	}
	seen := map[string]bool{}
	for _, p := range listed {
		if seen[p.PID] {
			continue
		}
		seen[p.PID] = true
		if one, ok := r.readProcess(p.PID, toolStart, &found.Warnings); ok {
			found.processes[p.PID] = one
		}
	}
	r.addPodNames(&found)
	return found
}

// readProcess reads a process that began before the tool was asked; a younger one has the
// number of one that has ended. It reports false where there is none, or another one at the
// end.
func (r *ProcessReader) readProcess(printed string, toolStart time.Time, w *model.Warnings) (p listedProcess, ok bool) {
	pid, _ := strconv.Atoi(printed)
	before, ok := r.Procfs.Stat(pid)
	if !ok || strconv.Itoa(pid) != printed || process.Began(before).After(toolStart) {
		return listedProcess{}, false
	}
	p = listedProcess{pid: pid, start: before.Starttime}
	var err error
	if r.Containers {
		p.container, err = ReadContainer(r.Procfs, pid)
	}
	if r.Placement {
		// One that cannot be read is counted as not known.
		if text, err := os.ReadFile(processFile(r.Procfs, pid, "status")); err == nil {
			p.cpus, p.nodes, _ = ParseAllowed(string(text))
		}
	}
	if !r.isStill(p) {
		return listedProcess{}, false
	}
	if err != nil {
		w.Add("process %d: %v", pid, err)
	}
	return p, true
}

// isStill reports whether the process has not ended.
func (r *ProcessReader) isStill(p listedProcess) bool {
	now, ok := r.Procfs.Stat(p.pid)
	return ok && now.Starttime == p.start
}

// ReadContainer reads the ids of the pod and container that a process is in, zero where it is in none.
func ReadContainer(procfs process.FS, pid int) (model.Container, error) {
	text, err := os.ReadFile(processFile(procfs, pid, "cgroup"))
	if err != nil {
		return model.Container{}, fmt.Errorf("reading its cgroup: %w", failure.Cause(err))
	}
	c, err := parseCgroup(string(text))
	if err != nil {
		return model.Container{}, fmt.Errorf("its cgroup is not trusted: %w", err)
	}
	return c, nil
}

func processFile(procfs process.FS, pid int, name string) string {
	return filepath.Join(string(procfs), strconv.Itoa(pid), name)
}

// addPodNames adds the names of the pods that processes were found in.
func (r *ProcessReader) addPodNames(found *Placements) {
	wanted := map[string]bool{}
	for _, p := range found.processes {
		if p.container.PodUID != "" {
			wanted[p.container.PodUID] = true
		}
	}
	names := podNames(r.PodLogs, wanted, &found.Warnings)
	for pid, p := range found.processes {
		pod := names[p.container.PodUID]
		p.container.Namespace, p.container.Pod, p.container.Name = pod.Namespace, pod.Pod, pod.Name
		found.processes[pid] = p
	}
}

// checkProcfs returns why the numbers in there are not those of the host's processes, or why
// they cannot be read.
func checkProcfs(procfs process.FS) error {
	if _, err := os.Stat(string(procfs)); err != nil {
		return failure.Errorf(failure.NotFound, "reading processes below %q: %w", procfs, failure.Cause(err))
	}
	if err := procfs.CheckHostPIDs(); err != nil {
		return failure.Errorf(failure.Unsupported, "%w: the PIDs that the tools print are not those of its processes", err)
	}
	if _, ok := procfs.Stat(1); !ok {
		return failure.Errorf(failure.Permission, "%s hides the processes of other users", procfs)
	}
	return nil
}
