package collector

import (
	"math"
	"slices"
	"time"
)

// backoffFactor times the duration of a call is the pause after it: a tool is busy for at most a fifth of the time.
const backoffFactor = 4

// schedule decides which question a tool is asked next. It has no clock: its caller says what time it is.
//
// Each question is asked once soon after the start, then at its interval, at a time of its own within it. After that
// first round the tool is left alone for a while between two calls, and the most overdue question is asked first: where calls are slow, all
// intervals stretch by themselves. What belongs to every poll is asked there, and its time costs the others nothing.
type schedule struct {
	questions      []*question   // in the order of precedence
	hung           time.Duration // time taken by calls that are asked again after retryTimedOut, with their backoff
	backoffUntil   time.Time
	firstRoundDone bool
}

// next returns the question to ask, and when; nil for none. Of those that are due together, it is the first.
func (s *schedule) next() (first *question, at time.Time) {
	for _, q := range s.questions {
		if !q.command.EveryPoll && (first == nil || q.due.Before(first.due)) {
			first = q
		}
	}
	if first == nil {
		return nil, at
	}
	at = first.due
	if s.backoffUntil.After(at) {
		at = s.backoffUntil
	}
	return first, at
}

// backOff says that the tool was busy from start until now.
func (s *schedule) backOff(start, now time.Time) {
	s.firstRoundDone = s.firstRoundDone || !slices.ContainsFunc(s.questions, func(q *question) bool { return !q.isDone })
	if s.firstRoundDone {
		s.backoffUntil = now.Add(backoffFactor * now.Sub(start))
	}
}

// done says that a question was asked from start until now. It is due again at its interval, or after retry where that
// is not 0.
func (s *schedule) done(q *question, start, now time.Time, retry time.Duration) {
	q.retry = retry
	if q.command.EveryPoll {
		q.due, q.isDone = now.Add(retry), true
		return
	}
	q.callAndBackoff = (1 + backoffFactor) * now.Sub(start)
	if retry == retryTimedOut {
		s.hung += q.callAndBackoff
	}
	q.due, q.isDone = q.nextDue(now), true
	s.backOff(start, now)
}

// isFresh reports whether an answer still holds: three intervals and a timeout after it was asked for, intervals as they
// are stretched now. The time until a retry is the first of the three, so that a sick card costs the readings of no other
// card that was answered about. Time in which calls hung does not count, up to five minutes: nothing else could be asked.
func (s *schedule) isFresh(q *question, a answerTime, round, timeout time.Duration) bool {
	every := max(q.command.Every, round)
	return time.Since(a.start)-min(s.hung-a.hung, retryTimedOut) <= max(every, a.retry)+2*every+timeout
}

// roundLength is how long the tool takes to come back to a question, with the backoff: where that is more than the question's
// interval, it is what the interval has stretched to. A question that is due more rarely takes a part of that time only.
func (s *schedule) roundLength() time.Duration {
	const steps = 20 // each comes nearer to the length that its own questions fill
	length := math.Inf(1)
	for range steps {
		filled := 0.0
		for _, q := range s.questions {
			if q.callAndBackoff > 0 {
				filled += q.callAndBackoff.Seconds() * min(1, length/max(q.command.Every, q.retry).Seconds())
			}
		}
		length = filled
	}
	return time.Duration(length * float64(time.Second))
}
