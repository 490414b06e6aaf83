// Package listening finds the processes that serve a TCP port of this machine,
// by joining procfs's socket tables with the processes' open files.
package listening

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// What one Find looks at, at most. A listening socket is opened early and the
// kernel lists the lowest file descriptors first, so what is cut off matters little.
const (
	maxProcesses = 1 << 17
	maxFiles     = 1 << 16  // of one process
	maxTable     = 16 << 20 // bytes of a socket table; listening sockets come first in it
	maxStat      = 4 << 10  // bytes of a process's stat file
)

// Find returns, for each port, the processes that hold a listening TCP socket
// of it and all that descend from these, by ascending PID: a server's workers
// are the children of the process that listens. A port that nobody listens on,
// or only processes that we may not look at, is missing from the result.
//
// root is the proc file system. The sockets are those of this process's own
// network namespace, the PIDs those of root's PID namespace. Without root's
// privileges only one's own processes can be looked at. The error says that no
// socket table, or not the list of processes, could be read.
func Find(root string, ports []int) (map[int][]int, error) {
	sockets, err := listeners(root, ports)
	if err != nil || len(sockets) == 0 {
		return nil, err
	}
	pids, err := processes(root)
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	owners := make(map[int]map[int]bool) // port, PID
	for _, pid := range pids {
		for _, inode := range openSockets(root, pid) {
			port, ok := sockets[inode]
			if !ok {
				continue
			}
			if owners[port] == nil {
				owners[port] = make(map[int]bool)
			}
			owners[port][pid] = true
		}
	}
	if len(owners) == 0 {
		return nil, nil
	}
	children := make(map[int][]int)
	for _, pid := range pids {
		if parent, ok := parentOf(root, pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	found := make(map[int][]int, len(owners))
	for port, set := range owners {
		addDescendants(set, children)
		found[port] = slices.Sorted(maps.Keys(set))
	}
	return found, nil
}

// listeners returns the ports of listening sockets by inode, in IPv4 and IPv6.
func listeners(root string, ports []int) (map[uint64]int, error) {
	wanted := make(map[int]bool, len(ports))
	for _, p := range ports {
		wanted[p] = true
	}
	sockets := make(map[uint64]int)
	var errs []error
	for _, name := range []string{"tcp", "tcp6"} {
		f, err := os.Open(filepath.Join(root, "net", name))
		if err == nil {
			err = parseSockets(io.LimitReader(f, maxTable), wanted, sockets)
			f.Close()
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	// A kernel without IPv6 has one table only.
	if len(errs) == 2 {
		return nil, fmt.Errorf("reading socket tables: %w", errors.Join(errs...))
	}
	return sockets, nil
}

// processes returns the PIDs below root, in no order.
func processes(root string) ([]int, error) {
	var pids []int
	err := names(root, maxProcesses, func(name string) {
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	})
	return pids, err
}

// openSockets returns the inodes of the sockets that a process has open, none
// where we may not look.
func openSockets(root string, pid int) []uint64 {
	dir := filepath.Join(root, strconv.Itoa(pid), "fd")
	var inodes []uint64
	_ = names(dir, maxFiles, func(name string) {
		target, err := os.Readlink(filepath.Join(dir, name))
		if err != nil {
			return // closed in the meantime
		}
		if inode, ok := socketInode(target); ok {
			inodes = append(inodes, inode)
		}
	})
	return inodes
}

// names calls each with the names in a folder, at most as many as given.
func names(dir string, most int, each func(name string)) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	for most > 0 {
		batch, err := d.Readdirnames(min(most, 1024))
		for _, name := range batch {
			each(name)
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

// parentOf returns the PID of a process's parent.
func parentOf(root string, pid int) (int, bool) {
	f, err := os.Open(filepath.Join(root, strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxStat))
	if err != nil {
		return 0, false
	}
	return parseParent(string(text))
}

// addDescendants adds to set everything below its members.
func addDescendants(set map[int]bool, children map[int][]int) {
	for queue := slices.Collect(maps.Keys(set)); len(queue) > 0; queue = queue[1:] {
		for _, pid := range children[queue[0]] {
			if !set[pid] {
				set[pid] = true
				queue = append(queue, pid)
			}
		}
	}
}
