// Package processtest makes proc file systems, and programs, for tests.
package processtest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Procfs is the folder of a made-up proc file system.
type Procfs string

// Process is what a proc file system shows of a process.
type Process struct {
	Name       string // python3 where none is given
	Kernel     bool   // a thread of the kernel
	Parent     int
	Start      int      // clock ticks after boot
	Cgroup     string   // its path in cgroup v2
	CPUs, Mems string   // lists of those that it may use
	Files      []string // what its open files point at, such as socket:[1234]
}

// Host makes that of a host, looked at from the host, with these processes by PID beside
// init and kthreadd.
func Host(t testing.TB, all map[int]Process) Procfs {
	t.Helper()
	p := Procfs(t.TempDir())
	p.link(t, "self/ns/pid", "pid:[4026531836]")
	p.Add(t, 1, Process{Name: "systemd", Cgroup: "/init.scope"})
	p.Add(t, 2, Process{Name: "kthreadd", Kernel: true, Cgroup: "/"})
	for pid, process := range all {
		p.Add(t, pid, process)
	}
	return p
}

// FromContainer shows the procfs as seen from a PID namespace other than the host's. With
// kthreadd, process 2, it is still the host's; without it, it is the container's own.
func (p Procfs) FromContainer(t testing.TB) {
	t.Helper()
	p.link(t, "self/ns/pid", "pid:[4026532801]")
}

// Add starts a process, and ends the one that has its number.
func (p Procfs) Add(t testing.TB, pid int, a Process) {
	t.Helper()
	p.End(t, pid)
	dir, name, flags := strconv.Itoa(pid), cmp.Or(a.Name, "python3"), 0x400000
	if a.Kernel {
		flags = 0x200000
	}
	p.Write(t, dir+"/stat", fmt.Sprintf("%d (%s) S %d %d %d 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1 0 %d%s\n",
		pid, name, a.Parent, pid, pid, flags, a.Start, strings.Repeat(" 0", 30)))
	p.Write(t, dir+"/cgroup", "0::"+a.Cgroup+"\n")
	p.Write(t, dir+"/status", "Name:\t"+name+"\nCpus_allowed_list:\t"+a.CPUs+"\nMems_allowed_list:\t"+a.Mems+"\nnonvoluntary_ctxt_switches:\t1\n")
	for fd, target := range a.Files {
		p.link(t, dir+"/fd/"+strconv.Itoa(fd), target)
	}
}

// End ends a process, if there is one.
func (p Procfs) End(t testing.TB, pid int) {
	t.Helper()
	if err := os.RemoveAll(p.Path(strconv.Itoa(pid))); err != nil {
		t.Fatal(err)
	}
}

// Path is that of a file, such as 4242/stat.
func (p Procfs) Path(name string) string { return filepath.Join(string(p), name) }

// Write writes a file, in place of one that is there.
func (p Procfs) Write(t testing.TB, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(p.Path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	WriteFile(t, p.Path(name), text, 0o644)
}

// Nodes makes the sysfs of a machine with two NUMA nodes of two CPUs each.
func Nodes(t testing.TB) (sysfs string) {
	t.Helper()
	p := Procfs(t.TempDir())
	for node, cpus := range []string{"0-1", "2-3"} {
		for name, text := range map[string]string{
			"cpulist":  cpus + "\n",
			"meminfo":  strings.ReplaceAll("Node # MemTotal:       8192 kB\nNode # MemFree:        1024 kB\nNode # MemUsed:        7168 kB\n", "#", strconv.Itoa(node)),
			"distance": []string{"10 21\n", "21 10\n"}[node],
			"numastat": "numa_hit 11\nnuma_miss 12\nnuma_foreign 13\ninterleave_hit 14\nlocal_node 15\nother_node 16\n",
		} {
			p.Write(t, fmt.Sprintf("devices/system/node/node%d/%s", node, name), text)
		}
	}
	return string(p)
}

// CardOnNode tells the NUMA node of a PCI device in a sysfs.
func CardOnNode(t testing.TB, sysfs, busID string, node int) {
	t.Helper()
	Procfs(sysfs).Write(t, "bus/pci/devices/"+busID+"/numa_node", strconv.Itoa(node)+"\n")
}

// link makes a link, in place of one that is there.
func (p Procfs) link(t testing.TB, name, target string) {
	t.Helper()
	_ = os.Remove(p.Path(name))
	if err := os.MkdirAll(filepath.Dir(p.Path(name)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, p.Path(name)); err != nil {
		t.Fatal(err)
	}
}

// WriteFile writes a file while nothing is forked, so that it can be run at once: of a
// child that inherits it open its execution would fail with "text file busy".
func WriteFile(t testing.TB, path, text string, mode os.FileMode) string {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}
