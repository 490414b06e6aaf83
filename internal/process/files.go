package process

import (
	"math"

	"golang.org/x/sys/unix"
)

// MaxFiles is how many files this process may have open, sockets and pipes among them.
func MaxFiles() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt32 // the kernel knows this limit, so not met
	}
	return int(min(limit.Cur, math.MaxInt32))
}
