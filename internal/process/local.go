package process

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// IsLocal reports whether a connection to host, as in a URL, ends on this
// machine: localhost and what is below it, this machine's own name, and a
// loopback, unspecified or interface address. Any other name is looked up, and
// is this machine's when all its addresses are; only that can take time or
// return an error. An empty host is local, as it is for net.Dial.
func IsLocal(ctx context.Context, host string) (bool, error) {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	self, err := os.Hostname()
	if name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") || err == nil && name == strings.ToLower(self) {
		return true, nil
	}
	if addr, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil {
		return areLocal([]netip.Addr{addr}), nil
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false, fmt.Errorf("looking up %q: %w", host, err)
	}
	return areLocal(addrs), nil
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
