package collector

import (
	"math"
	"time"
)

// backoffFactor is how many times as long as a call a tool is left alone after it, so that it is busy for a fifth of the time.
const backoffFactor = 4

// schedule decides which question a tool is asked next. It has no clock: its caller says what time it is.
//
// Each question is asked once soon after the start, then at its interval, at a time of its own within it. After that
// first round the tool is left alone for a while between two calls, and the most overdue question is asked first: where calls are slow, all
// intervals stretch by themselves.
type schedule struct {
	slots          []*slot
	backoffUntil   time.Time
	firstRoundDone bool
}

// slot is the time table of one question.
type slot struct {
	key   questionKey
	every time.Duration
	phase float64 // 0 to 1: where in the interval it is asked after the first time

	due            time.Time
	asked          bool
	callAndBackoff time.Duration // how long the tool was taken by the last call, with the backoff after it
	retry          time.Duration // after the last call, 0 for the interval
}

// set replaces the questions. Those that are there already keep their times, others are due at once.
func (s *schedule) set(now time.Time, slots []*slot) {
	known := make(map[questionKey]*slot, len(s.slots))
	for _, old := range s.slots {
		known[old.key] = old
	}
	for _, x := range slots {
		if old := known[x.key]; old != nil && old.every == x.every {
			x.due, x.asked, x.callAndBackoff, x.retry = old.due, old.asked, old.callAndBackoff, old.retry
		} else {
			x.due = now
		}
	}
	s.slots = slots
}

// next returns the question to ask, and when; false for none. Of those that are due together, it is the first.
func (s *schedule) next() (key questionKey, at time.Time, ok bool) {
	var first *slot
	for _, x := range s.slots {
		if first == nil || x.due.Before(first.due) {
			first = x
		}
	}
	if first == nil {
		return key, at, false
	}
	s.firstRoundDone = s.firstRoundDone || first.asked
	at = first.due
	if s.backoffUntil.After(at) {
		at = s.backoffUntil
	}
	return first.key, at, true
}

// backOff says that the tool was busy from start until now. No question is done.
func (s *schedule) backOff(start, now time.Time) {
	if s.firstRoundDone {
		s.backoffUntil = now.Add(backoffFactor * now.Sub(start))
	}
}

// done says that a question was asked from start until now. It is due again at its interval, or after retry where that
// is not 0.
func (s *schedule) done(key questionKey, start, now time.Time, retry time.Duration) {
	for _, x := range s.slots {
		if x.key == key {
			x.callAndBackoff, x.retry = (1+backoffFactor)*now.Sub(start), retry
			x.due, x.asked = x.nextDue(now, retry), true
		}
	}
	s.backOff(start, now)
}

// nextDue is when a slot is due after now. What was missed is left out.
func (x *slot) nextDue(now time.Time, retry time.Duration) time.Time {
	switch {
	case retry > 0:
		return now.Add(retry)
	case !x.asked:
		return now.Add(time.Duration(x.phase * float64(x.every)))
	}
	if due := x.due.Add(x.every); due.After(now) {
		return due
	}
	return now.Add(x.every)
}

// makeDue makes a question due now.
func (s *schedule) makeDue(key questionKey, now time.Time) {
	for _, x := range s.slots {
		if x.key == key {
			x.due = now
		}
	}
}

// roundLength is how long the tool takes to come back to a question, with the backoff: where that is more than the question's
// interval, it is what the interval has stretched to. A question that is due more rarely takes a part of that time only.
func (s *schedule) roundLength() time.Duration {
	const steps = 20 // each comes nearer to the length that its own questions fill
	length := math.Inf(1)
	for range steps {
		filled := 0.0
		for _, x := range s.slots {
			filled += x.callAndBackoff.Seconds() * min(1, length/max(x.every, x.retry).Seconds())
		}
		length = filled
	}
	return time.Duration(length * float64(time.Second))
}
