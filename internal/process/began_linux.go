package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// ticks is how many the kernel counts a second in what it tells programs.
const ticks = 100

// Began returns when the process began, or up to a tick earlier, zero where that is not known.
func (s Stat) Began() time.Time {
	var boot unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) != nil {
		return time.Time{}
	}
	age := time.Duration(boot.Nano()) - time.Duration(s.Start)*(time.Second/ticks)
	return time.Now().Add(-age)
}
