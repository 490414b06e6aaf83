package load

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// timerError is how late Go's timers may be in an idle process: on Linux it waits in
// epoll_wait, which counts in milliseconds.
const timerError = 1200 * time.Microsecond

// sleepUntil returns at the given instant, some 0.1 ms late, or when ctx is done.
func sleepUntil(ctx context.Context, at time.Time) {
	if d := time.Until(at) - timerError; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
	}
	for now := time.Now(); now.Before(at); {
		left := unix.NsecToTimeval(at.Sub(now).Nanoseconds() + 999)
		_, _ = unix.Select(0, nil, nil, nil, &left) // a signal ends it early
		last := now
		if now = time.Now(); now.Equal(last) {
			time.Sleep(at.Sub(now)) // a clock that stands still is that of a test (testing/synctest)
			now = time.Now()
		}
	}
}
