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

// Looker reads where the processes that one vendor's tool lists run. It is of one goroutine.
type Looker struct {
	Sysfs  string     // usually /sys
	Procfs process.FS // usually /proc
	// PodLogs is the folder of the kubelet's log folders, usually /var/log/pods. It need not
	// be there.
	PodLogs string
	// Containers and Placement enable a look at containers and pods, and at CPUs and memory
	// nodes.
	Containers, Placement bool
	// MapsTimeout is how long numa_maps are waited for, with Placement; 0 leaves them alone.
	MapsTimeout time.Duration

	maps chan nodeMemory // of a reading that has not ended, nil for none
}

// Look is what one look at the listed processes found.
type Look struct {
	// Err is why no process could be looked at, a *failure.Error: unsupported where the numbers
	// of Procfs are not those of the host, which the vendors' drivers know; not_found and
	// permission where Procfs cannot be read.
	Err      error
	Warnings model.Warnings // of containers

	sysfs         string
	numa          NUMA
	withPlacement bool
	processes     map[string]listedProcess // by PID
	memory        nodeMemory
}

// listedProcess is what the kernel shows of a process.
type listedProcess struct {
	pid         int
	start       uint64 // clock ticks after boot
	cpus, nodes []int  // that it may use; nil where not known
	container   model.Container
}

// Look reads the files of the listed processes. It is called at once after the tool's list,
// so that a number has least time to become another process's; asked is when the tool was
// started.
func (l *Looker) Look(listed []model.Process, asked time.Time) Look {
	found := Look{sysfs: l.Sysfs, processes: map[string]listedProcess{}}
	var err error
	found.numa, err = ReadNUMA(l.Sysfs)
	found.withPlacement = l.Placement && err == nil // otherwise the collector numa says why
	if !l.Containers && !found.withPlacement {
		return found
	}
	if found.Err = checkProcfs(l.Procfs); found.Err != nil {
		return found
	}
	seen := map[string]bool{}
	for _, p := range listed {
		if seen[p.PID] {
			continue
		}
		seen[p.PID] = true
		if one, ok := l.readProcess(p.PID, asked, &found.Warnings); ok {
			found.processes[p.PID] = one
		}
	}
	l.addPodNames(&found)
	if found.withPlacement && l.MapsTimeout > 0 {
		found.memory = l.readMaps(found.processes)
	}
	return found
}

// readProcess reads a process that began before the tool was asked; a younger one has the
// number of one that has ended. It reports false where there is none, or another one at the
// end.
func (l *Looker) readProcess(printed string, asked time.Time, w *model.Warnings) (p listedProcess, ok bool) {
	pid, _ := strconv.Atoi(printed)
	before, ok := l.Procfs.Stat(pid)
	if !ok || strconv.Itoa(pid) != printed || before.Began().After(asked) {
		return listedProcess{}, false
	}
	p = listedProcess{pid: pid, start: before.Start}
	var err error
	if l.Containers {
		p.container, err = readContainer(l.Procfs, pid)
	}
	if l.Placement {
		// One that cannot be read is counted as not known.
		if text, err := os.ReadFile(processFile(l.Procfs, pid, "status")); err == nil {
			p.cpus, p.nodes, _ = ParseAllowed(string(text))
		}
	}
	if !l.isStill(p) {
		return listedProcess{}, false
	}
	if err != nil {
		w.Add("process %d: %v", pid, err)
	}
	return p, true
}

// isStill reports whether the process has not ended.
func (l *Looker) isStill(p listedProcess) bool {
	now, ok := l.Procfs.Stat(p.pid)
	return ok && now.Start == p.start
}

// ContainerOf reads the ids of the pod and container that a process is in; zero
// where it is in none, or that is not known.
func ContainerOf(procfs process.FS, pid int) model.Container {
	c, _ := readContainer(procfs, pid)
	return c
}

func readContainer(procfs process.FS, pid int) (model.Container, error) {
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
func (l *Looker) addPodNames(found *Look) {
	wanted := map[string]bool{}
	for _, p := range found.processes {
		if p.container.PodUID != "" {
			wanted[p.container.PodUID] = true
		}
	}
	names := podNames(l.PodLogs, wanted, &found.Warnings)
	for pid, p := range found.processes {
		pod := names[p.container.PodUID]
		p.container.Namespace, p.container.Pod, p.container.Name = pod.Namespace, pod.Pod, pod.Name
		found.processes[pid] = p
	}
}

// checkProcfs returns why the numbers in there are not those of the host's processes, or why
// they cannot be looked up.
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
