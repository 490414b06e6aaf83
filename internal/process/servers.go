package process

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/procfs"
)

// searchAgain is after how long descriptors are read again although nothing shows a change: a
// process may have been handed a socket.
const searchAgain = 5 * time.Minute

// searchMissing is that time where a port has no holder: one may have been missed, or may not be read yet.
const searchMissing = 30 * time.Second

// Server is the processes behind a port, by ascending PID.
type Server struct {
	Listeners []int // hold a listening TCP socket of the port
	Processes []int // these and all that descend from them, as a server's workers do
}

// ServerFinder finds the processes that serve ports. It is of one goroutine.
type ServerFinder struct {
	FS FS

	// Of the last search through the descriptors of all processes.
	searched time.Time
	sockets  map[string]int            // ports of listening sockets, by what an open file of theirs points at
	holders  map[int][]procfs.ProcStat // by port
}

// Find returns, for each port, the processes that serve it. A port is missing where nobody
// listens, or only processes that we may not look at: those of other users need root. The
// sockets are those of our own network namespace, the PIDs those of the proc file system.
// It fails where no socket table, or not the list of processes, could be read.
//
// The descriptors of all processes, which are many, are read when other sockets listen, when
// a process that held one has ended, and every five minutes, or half a minute while a port has no
// process.
func (f *ServerFinder) Find(ports []int) (map[int]Server, error) {
	root, err := procfs.NewFS(string(f.FS))
	if err != nil {
		return nil, err
	}
	sockets, err := listeners(root, ports)
	if err != nil || len(sockets) == 0 {
		return nil, err
	}
	all, err := f.FS.Processes()
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	hasEnded := func(holder procfs.ProcStat) bool {
		return !slices.ContainsFunc(all, func(st procfs.ProcStat) bool { return st.PID == holder.PID && st.Starttime == holder.Starttime })
	}
	held, wait := slices.Concat(slices.Collect(maps.Values(f.holders))...), searchAgain
	for _, port := range sockets {
		if f.holders[port] == nil {
			wait = searchMissing
		}
	}
	if !maps.Equal(sockets, f.sockets) || slices.ContainsFunc(held, hasEnded) || time.Since(f.searched) > wait {
		f.searched, f.sockets, f.holders = time.Now(), sockets, holdersOf(root, sockets, all)
	}
	found := map[int]Server{}
	for port, holders := range f.holders {
		pids := map[int]bool{}
		for _, holder := range holders {
			pids[holder.PID] = true
		}
		listeners := slices.Sorted(maps.Keys(pids))
		AddDescendants(pids, all)
		found[port] = Server{Listeners: listeners, Processes: slices.Sorted(maps.Keys(pids))}
	}
	return found, nil
}

// holdersOf returns the processes that hold sockets, by port.
func holdersOf(root procfs.FS, sockets map[string]int, all []procfs.ProcStat) map[int][]procfs.ProcStat {
	holders := map[int][]procfs.ProcStat{}
	for _, st := range all {
		proc, err := root.Proc(st.PID)
		if err != nil {
			continue
		}
		targets, _ := proc.FileDescriptorTargets() // none where we may not look
		for _, target := range targets {
			if port, ok := sockets[target]; ok {
				holders[port] = append(holders[port], st)
			}
		}
	}
	return holders
}

// listeners returns the ports of listening sockets, in IPv4 and IPv6, by what an open file
// of theirs points at, such as socket:[1234].
func listeners(root procfs.FS, ports []int) (map[string]int, error) {
	const listening = 0x0A
	// Netlink, which the library recommends, knows the sockets of this network namespace and not of another procfs.
	ipv4, err4 := root.NetTCP()     //nolint:staticcheck // see above
	ipv6, err6 := root.NetTCP6()    //nolint:staticcheck // see above
	if err4 != nil && err6 != nil { // a kernel without IPv6 has one table only
		return nil, fmt.Errorf("reading socket tables: %w", errors.Join(err4, err6))
	}
	sockets := map[string]int{}
	for _, socket := range slices.Concat(ipv4, ipv6) {
		if socket.St == listening && slices.Contains(ports, int(socket.LocalPort)) {
			sockets[fmt.Sprintf("socket:[%d]", socket.Inode)] = int(socket.LocalPort)
		}
	}
	return sockets, nil
}
