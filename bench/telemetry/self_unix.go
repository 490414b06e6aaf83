//go:build unix

package telemetry

import (
	"syscall"
	"time"
)

// cpuTime is the CPU time of this process, user's and system's.
func cpuTime() (time.Duration, bool) {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0, false
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano()), true
}
