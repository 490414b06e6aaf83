//go:build unix

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// checkFiles says when a step needs more connections than this process may have
// files: its requests would fail, and the server be blamed.
func checkFiles(connections int) error {
	const others = 40 // files beside connections
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("reading the limit of open files: %w", err)
	}
	if need := uint64(connections + others); need > limit.Cur {
		return fmt.Errorf("%d requests in flight need more files than the %d this process may open: ulimit -n %d", connections, limit.Cur, need)
	}
	return nil
}
