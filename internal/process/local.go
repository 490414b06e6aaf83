package process

import (
	"context"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// keepAddresses is how long those of a name are kept; after a failure it is asked for again in a tenth of that.
const keepAddresses = 5 * time.Minute

// LocalHosts tells this machine's host names from others. It is of one goroutine.
type LocalHosts struct {
	// Lookup is [net.Resolver.LookupNetIP], which asks a name server for names only.
	Lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

	known map[string]*addresses // by host, of the last call
}

// addresses are those of a host, none where they are not known.
type addresses struct {
	addrs []netip.Addr
	until time.Time
}

// Among reports of each host, as in a URL, whether a connection to it ends on this machine:
// localhost and what is below it, this machine's own name, and a loopback, unspecified or
// interface address. Any other name is when all its addresses are: such names are looked up
// side by side, and again after 5 minutes, or 30 s where that failed. An empty host is
// local, as it is for net.Dial.
func (l *LocalHosts) Among(ctx context.Context, hosts []string) map[string]bool {
	known := map[string]*addresses{}
	var lookups sync.WaitGroup
	for _, host := range hosts {
		switch last := l.known[host]; {
		case known[host] != nil:
		case last != nil && time.Now().Before(last.until):
			known[host] = last
		default:
			now := new(addresses)
			known[host] = now
			lookups.Go(func() { *now = l.addressesOf(ctx, host) })
		}
	}
	lookups.Wait()
	l.known = known
	local := map[string]bool{}
	for host, a := range known {
		local[host] = areLocal(a.addrs)
	}
	return local
}

func (l *LocalHosts) addressesOf(ctx context.Context, host string) addresses {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	self, err := os.Hostname()
	if name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") || err == nil && name == strings.ToLower(self) {
		host = "::1"
	}
	addrs, err := l.Lookup(ctx, "ip", host)
	if err != nil {
		return addresses{nil, time.Now().Add(keepAddresses / 10)}
	}
	return addresses{addrs, time.Now().Add(keepAddresses)}
}

// areLocal reports whether every address is this machine's.
func areLocal(addrs []netip.Addr) bool {
	own, _ := net.InterfaceAddrs() // none when they cannot be read
	for _, addr := range addrs {
		addr = addr.Unmap().WithZone("")
		isOwn := func(a net.Addr) bool { return strings.HasPrefix(a.String(), addr.String()+"/") }
		if !addr.IsLoopback() && !addr.IsUnspecified() && !slices.ContainsFunc(own, isOwn) {
			return false
		}
	}
	return len(addrs) > 0
}
