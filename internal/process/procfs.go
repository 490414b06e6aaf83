package process

import (
	"errors"
	"io"
	"iter"
	"os"
	"strconv"
	"strings"
)

// What is read of a proc file system at most. The kernel lists the lowest file
// descriptors first, and a server's sockets are among these.
const (
	maxProcesses = 1 << 17
	maxFiles     = 1 << 16 // of one process
	maxStat      = 4 << 10 // bytes of a process's stat file
)

// FS is the mount point of a proc file system.
type FS string

// Stat is one process as its stat file shows it.
type Stat struct {
	PID, Parent int
	Group       int // process group
	Session     int
	Threads     int
	Kernel      bool   // a thread of the kernel
	State       byte   // such as R, S, D, and Z for one that is dead and not reaped
	Start       uint64 // clock ticks after boot
}

// dead reports whether the process only waits to be reaped. One whose other threads
// are still ending is not there yet: they hold its memory.
func (s Stat) dead() bool {
	return s.State == 'X' || s.State == 'Z' && s.Threads <= 1
}

// Processes returns all processes, in no order, without those that cannot be read
// because they ended meanwhile.
func (fs FS) Processes() ([]Stat, error) {
	var all []Stat
	err := names(string(fs), maxProcesses, func(name string) bool {
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
			if st, ok := fs.Stat(pid); ok {
				all = append(all, st)
			}
		}
		return true
	})
	return all, err
}

// Stat reads one process; it reports false when there is none of that number.
func (fs FS) Stat(pid int) (Stat, bool) {
	f, err := os.Open(fs.path(pid, "stat"))
	if err != nil {
		return Stat{}, false
	}
	defer f.Close()
	var text [maxStat]byte
	n, err := f.Read(text[:]) // procfs hands out all of it at once
	if err != nil {
		return Stat{}, false
	}
	st, ok := parseStat(string(text[:n]))
	st.PID = pid
	return st, ok
}

// Files are what the open files of a process point at, such as socket:[1234], and
// nothing where we may not look.
func (fs FS) Files(pid int) iter.Seq[string] {
	return func(yield func(string) bool) {
		dir := fs.path(pid, "fd")
		_ = names(dir, maxFiles, func(name string) bool {
			target, err := os.Readlink(dir + "/" + name)
			return err != nil || yield(target) // an error: closed meanwhile
		})
	}
}

func (fs FS) path(pid int, name string) string {
	return string(fs) + "/" + strconv.Itoa(pid) + "/" + name
}

// parseStat reads a stat file but for the number. The name in there is in brackets
// and may itself hold blanks and brackets.
func parseStat(text string) (Stat, bool) {
	end := strings.LastIndexByte(text, ')')
	f := strings.Fields(text[end+1:])
	if end < 0 || len(f) < 20 {
		return Stat{}, false
	}
	st := Stat{State: f[0][0]}
	var err error
	number := func(field string) int {
		n, e := strconv.ParseInt(field, 10, 32)
		err = errors.Join(err, e)
		return int(n)
	}
	st.Parent, st.Group, st.Session, st.Threads = number(f[1]), number(f[2]), number(f[3]), number(f[17])
	const kernelThread = 0x00200000 // PF_KTHREAD of the kernel, which no program can have
	flags, eFlags := strconv.ParseUint(f[6], 10, 32)
	st.Kernel = flags&kernelThread != 0
	start, eStart := strconv.ParseUint(f[19], 10, 64)
	st.Start = start
	return st, errors.Join(err, eFlags, eStart) == nil
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

// names calls each with the names in a folder, at most as many as given, until it
// returns false.
func names(dir string, most int, each func(name string) bool) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	for most > 0 {
		batch, err := d.Readdirnames(min(most, 1024))
		for _, name := range batch {
			if !each(name) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		most -= len(batch)
	}
	return nil
}
