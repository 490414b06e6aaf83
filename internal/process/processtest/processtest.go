// Package processtest makes proc file systems, and programs, for tests.
package processtest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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
	p.lookFrom(t, "pid:[4026531836]")
	p.Add(t, 1, Process{Name: "systemd", Cgroup: "/init.scope"})
	p.Add(t, 2, Process{Name: "kthreadd", Kernel: true, Cgroup: "/"})
	for pid, process := range all {
		p.Add(t, pid, process)
	}
	return p
}

// FromContainer has it looked at from a PID namespace other than the host's. While it has
// kthreadd, which is number 2, it is still the host's, and else the container's own.
func (p Procfs) FromContainer(t testing.TB) {
	t.Helper()
	p.lookFrom(t, "pid:[4026532801]")
}

// lookFrom says which PID namespace we are in.
func (p Procfs) lookFrom(t testing.TB, namespace string) {
	t.Helper()
	must(t, os.RemoveAll(p.Path("self")))
	must(t, os.MkdirAll(p.Path("self/ns"), 0o755))
	must(t, os.Symlink(namespace, p.Path("self/ns/pid")))
}

// Add starts a process, and ends the one that has its number.
func (p Procfs) Add(t testing.TB, pid int, a Process) {
	t.Helper()
	p.End(t, pid)
	flags := 0x400000
	if a.Kernel {
		flags = 0x200000
	}
	dir, name := strconv.Itoa(pid), cmp.Or(a.Name, "python3")
	p.Write(t, dir+"/stat", fmt.Sprintf("%d (%s) S %d %d %d 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0\n", pid, name, a.Parent, pid, pid, flags, a.Start))
	p.Write(t, dir+"/cgroup", "0::"+a.Cgroup+"\n")
	p.Write(t, dir+"/status", "Name:\t"+name+"\nCpus_allowed_list:\t"+a.CPUs+"\nMems_allowed_list:\t"+a.Mems+"\nnonvoluntary_ctxt_switches:\t1\n")
	must(t, os.Mkdir(p.Path(dir+"/fd"), 0o755))
	for fd, target := range a.Files {
		must(t, os.Symlink(target, p.Path(dir+"/fd/"+strconv.Itoa(fd))))
	}
}

// End ends a process, if there is one.
func (p Procfs) End(t testing.TB, pid int) {
	t.Helper()
	must(t, os.RemoveAll(p.Path(strconv.Itoa(pid))))
}

// Path is that of a file, such as 4242/stat.
func (p Procfs) Path(name string) string { return filepath.Join(string(p), name) }

// Write writes a file, in place of one that is there.
func (p Procfs) Write(t testing.TB, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(p.Path(name)), 0o755))
	must(t, os.WriteFile(p.Path(name), []byte(text), 0o644))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
