package load

import "sync"

// turns bounds the requests in flight. Those that wait come in the order in which they
// joined, which golang.org/x/sync/semaphore grants only to goroutines that have run.
type turns struct {
	mu      sync.Mutex
	free    int
	waiting []chan struct{}
}

// join takes a place, or queues for one: the channel is closed when it has come, and
// nil where one was free. Who no longer waits loses the place, which matters to nobody
// once the sending has ended.
func (t *turns) join() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.free > 0 {
		t.free--
		return nil
	}
	turn := make(chan struct{})
	t.waiting = append(t.waiting, turn)
	return turn
}

// leave gives a place back.
func (t *turns) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 {
		t.free++
		return
	}
	close(t.waiting[0])
	t.waiting = t.waiting[1:]
}
