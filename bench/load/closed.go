package load

import (
	"sync"
	"time"
)

// closedLoop lets every user send until the sending ends. A user has no way to
// end before: whatever becomes of a request, it goes on with the next.
func (s *run) closedLoop() {
	var users sync.WaitGroup
	for n := range s.users() {
		share := float64(n) / float64(s.step.Concurrency)
		first := s.start.Add(time.Duration(share * float64(s.step.RampUp)))
		sleepUntil(s.sending, first)
		if s.sending.Err() != nil {
			break
		}
		users.Go(func() { s.user(first) })
	}
	users.Wait()
}

// users is how many can have anything to send: each takes a request when it starts.
func (s *run) users() int {
	if s.step.Requests > 0 {
		return min(s.step.Concurrency, s.step.Requests)
	}
	return s.step.Concurrency
}

// user sends one request after the other from the given instant on.
func (s *run) user(first time.Time) {
	for free := first; s.sending.Err() == nil; {
		i, ok := s.feed.next(s.sending)
		if !ok {
			if s.sending.Err() == nil {
				s.exhausted()
			}
			return
		}
		s.account.attempt()
		job := Job{Seq: i.seq, Prompt: i.prompt, Planned: free}
		queued, ok := s.queue(free)
		if !ok {
			s.unsent(job)
			return
		}
		free = s.request(job, queued)
	}
}

// queue waits for a place under the bound on concurrency, first come, first
// served, and returns for how long. It is false when the sending ended before.
func (s *run) queue(since time.Time) (time.Duration, bool) {
	if s.slots == nil {
		return 0, true
	}
	select {
	case s.slots <- struct{}{}:
		return 0, true
	default:
	}
	s.meter.Queued.Add(1)
	defer s.meter.Queued.Add(-1)
	select {
	case s.slots <- struct{}{}:
		return time.Since(since), true
	case <-s.sending.Done():
		return 0, false
	}
}
