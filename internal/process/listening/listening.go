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

	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// maxTable is how many bytes of a socket table are read; listening sockets come
// first in it.
const maxTable = 16 << 20

// Server is the processes behind a port, by ascending PID.
type Server struct {
	Listeners []int // hold a listening TCP socket of the port
	Processes []int // these and all that descend from them, as a server's workers do
}

// Find returns, for each port, the processes that serve it. A port that nobody listens on, or only processes that we may not look at, which
// takes root's privileges for those of others, is missing. The sockets are those of
// our own network namespace, the PIDs those of proc's PID namespace. The error says
// that no socket table, or not the list of processes, could be read.
func Find(proc process.FS, ports []int) (map[int]Server, error) {
	sockets, err := listeners(string(proc), ports)
	if err != nil || len(sockets) == 0 {
		return nil, err
	}
	all, err := proc.Processes()
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	owners := make(map[int]map[int]bool) // port, PID
	for _, st := range all {
		for target := range proc.Files(st.PID) {
			port, ok := sockets[socketInode(target)]
			if !ok {
				continue
			}
			if owners[port] == nil {
				owners[port] = make(map[int]bool)
			}
			owners[port][st.PID] = true
		}
	}
	found := make(map[int]Server, len(owners))
	for port, pids := range owners {
		listeners := slices.Sorted(maps.Keys(pids))
		process.AddDescendants(pids, all)
		found[port] = Server{Listeners: listeners, Processes: slices.Sorted(maps.Keys(pids))}
	}
	return found, nil
}

// listeners returns the ports of listening sockets by inode, in IPv4 and IPv6.
func listeners(root string, ports []int) (map[uint64]int, error) {
	sockets := make(map[uint64]int)
	var errs []error
	for _, name := range []string{"tcp", "tcp6"} {
		f, err := os.Open(filepath.Join(root, "net", name))
		if err == nil {
			err = parseSockets(io.LimitReader(f, maxTable), ports, sockets)
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
