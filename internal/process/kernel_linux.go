package process

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attributes gives a program a session of its own, which is a group of its own too and
// which Ctrl-C does not reach, and SIGTERM when we die: a server takes its workers along.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
}

// adoptOrphans makes us the parent of those of our descendants that lose theirs.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// hasChildren reports whether we have any child, dead ones included. Without one nothing
// is left of any program, and no other process has to be looked at.
func hasChildren() bool {
	return !errors.Is(unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil), unix.ECHILD)
}

// sinceBoot is how long the machine is up, suspended or not.
func sinceBoot() (time.Duration, bool) {
	var boot unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot)
	return time.Duration(boot.Nano()), err == nil
}
