package host

import "time"

// bounded runs a reading that the kernel or a dead mount may block for ever.
type bounded[T any] struct {
	unfinished chan T // of a reading that was given up, nil for none
}

// read returns what a function reads, false where that takes longer than the timeout. No
// other reading begins before one that was given up has ended.
func (b *bounded[T]) read(timeout time.Duration, read func() T) (found T, inTime bool) {
	if b.unfinished != nil {
		select {
		case <-b.unfinished: // of processes that were listed long ago
		default:
			return found, false
		}
	}
	done := make(chan T, 1)
	b.unfinished = done
	go func() { done <- read() }()
	select {
	case found = <-done:
		b.unfinished = nil
		return found, true
	case <-time.After(timeout):
		return found, false
	}
}
