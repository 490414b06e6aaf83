package listening

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
)

// IsLocal reports whether a connection to host, as in a URL, ends on this
// machine: localhost and what is below it, this machine's own name, and a
// loopback, unspecified or interface address. Any other name is looked up, and
// is this machine's when all its addresses are; only that can take time or
// return an error. An empty host is local, as it is for net.Dial.
func IsLocal(ctx context.Context, host string) (bool, error) {
	lookUp := func(ctx context.Context, name string) ([]netip.Addr, error) {
		return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	}
	self, err := os.Hostname()
	if err != nil {
		self = ""
	}
	return isLocal(ctx, host, self, ownAddresses, lookUp)
}

func isLocal(ctx context.Context, host, self string,
	own func() map[netip.Addr]bool, lookUp func(context.Context, string) ([]netip.Addr, error),
) (bool, error) {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") || name == strings.ToLower(self) {
		return true, nil
	}
	literal := strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if addr, err := netip.ParseAddr(literal); err == nil {
		return all([]netip.Addr{addr}, own), nil
	}
	addrs, err := lookUp(ctx, host)
	if err != nil {
		return false, fmt.Errorf("looking up %q: %w", host, err)
	}
	return len(addrs) > 0 && all(addrs, own), nil
}

// all reports whether every address is this machine's.
func all(addrs []netip.Addr, own func() map[netip.Addr]bool) bool {
	var mine map[netip.Addr]bool
	for _, addr := range addrs {
		addr = addr.Unmap().WithZone("")
		if addr.IsLoopback() || addr.IsUnspecified() {
			continue
		}
		if mine == nil {
			mine = own()
		}
		if !mine[addr] {
			return false
		}
	}
	return true
}

// ownAddresses returns the addresses of all interfaces, none when they cannot be read.
func ownAddresses() map[netip.Addr]bool {
	mine := make(map[netip.Addr]bool)
	nets, err := net.InterfaceAddrs()
	if err != nil {
		return mine
	}
	for _, n := range nets {
		if prefix, err := netip.ParsePrefix(n.String()); err == nil {
			mine[prefix.Addr().Unmap().WithZone("")] = true
		}
	}
	return mine
}
