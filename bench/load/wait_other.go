//go:build !linux

package load

import "time"

// fineTimer is Go's own.
type fineTimer struct{}

func newFineTimer() fineTimer { return fineTimer{} }

func (fineTimer) sleep(d time.Duration) { time.Sleep(d) }

func (fineTimer) close() {}
