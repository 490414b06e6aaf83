package process

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/procfs"
)

// Server is the processes behind a port, by ascending PID.
type Server struct {
	Listeners []int // hold a listening TCP socket of the port
	Processes []int // these and all that descend from them, as a server's workers do
}

// Servers returns, for each port, the processes that serve it. A port that nobody listens
// on, or only processes that we may not look at, which takes root's privileges for those of
// others, is missing. The sockets are those of our own network namespace, the PIDs those of
// the proc file system. The error says that no socket table, or not the list of processes,
// could be read.
func (fs FS) Servers(ports []int) (map[int]Server, error) {
	root, err := procfs.NewFS(string(fs))
	if err != nil {
		return nil, err
	}
	sockets, err := listeners(root, ports)
	if err != nil || len(sockets) == 0 {
		return nil, err
	}
	all, err := fs.Processes()
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	found := map[int]Server{}
	for port, pids := range ownersOf(root, sockets, all) {
		listeners := slices.Sorted(maps.Keys(pids))
		AddDescendants(pids, all)
		found[port] = Server{Listeners: listeners, Processes: slices.Sorted(maps.Keys(pids))}
	}
	return found, nil
}

// ownersOf returns the PIDs that hold sockets, by port.
func ownersOf(root procfs.FS, sockets map[string]int, all []Stat) map[int]map[int]bool {
	owners := map[int]map[int]bool{}
	for _, st := range all {
		proc, err := root.Proc(st.PID)
		if err != nil {
			continue
		}
		targets, _ := proc.FileDescriptorTargets() // none where we may not look
		for _, target := range targets {
			port, ok := sockets[target]
			if !ok {
				continue
			}
			if owners[port] == nil {
				owners[port] = map[int]bool{}
			}
			owners[port][st.PID] = true
		}
	}
	return owners
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
