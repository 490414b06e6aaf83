package load

import (
	"context"
	"time"
)

// sleepUntil returns at the given instant, or when ctx is done. It may be a
// millisecond late in an idle process: on Linux, Go waits in epoll_wait, which
// counts in milliseconds.
func sleepUntil(ctx context.Context, at time.Time) {
	d := time.Until(at)
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// timerError is how early a fine timer takes over to make up for that.
const timerError = 1200 * time.Microsecond

// until returns at the given instant, some 10 µs late where the system allows.
func (t fineTimer) until(at time.Time) {
	for last := time.Now(); ; {
		d := at.Sub(last)
		if d <= 0 {
			return
		}
		t.sleep(d)
		now := time.Now()
		if now.Equal(last) {
			time.Sleep(d) // a clock that stands still is that of a test (testing/synctest)
			now = time.Now()
		}
		last = now
	}
}
