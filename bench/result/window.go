package result

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// minSteadyRequests is how many requests a steady window holds at least.
const minSteadyRequests = 10

// span is a Window in nanoseconds since 1970.
type span struct{ from, to int64 }

func (s span) holds(at int64) bool { return at >= s.from && at <= s.to }

// add widens s to hold an instant. The zero span holds none.
func (s *span) add(at int64) {
	if *s == (span{}) {
		*s = span{at, at}
	}
	s.from, s.to = min(s.from, at), max(s.to, at)
}

// join widens s to hold another.
func (s *span) join(o span) {
	if o != (span{}) {
		s.add(o.from)
		s.add(o.to)
	}
}

func (s span) seconds() float64 { return time.Duration(s.to - s.from).Seconds() }

func (s span) clamp(at int64) int64 { return min(max(at, s.from), s.to) }

func (s span) window() Window {
	if s == (span{}) {
		return Window{}
	}
	return Window{From: time.Unix(0, s.from).UTC(), To: time.Unix(0, s.to).UTC()}
}

// curve is how many requests were in flight at each instant: the instants at
// which they were sent and over, each sorted. It takes 16 bytes a request.
type curve struct{ starts, ends []int64 }

func (c *curve) add(start, end int64) {
	c.starts, c.ends = append(c.starts, start), append(c.ends, end)
}

func (c *curve) join(o curve) {
	c.starts, c.ends = append(c.starts, o.starts...), append(c.ends, o.ends...)
}

func (c *curve) sort() {
	slices.Sort(c.starts)
	slices.Sort(c.ends)
}

// whole is from the first request sent to the last one over.
func (c *curve) whole() span {
	if len(c.starts) == 0 {
		return span{}
	}
	return span{c.starts[0], c.ends[len(c.ends)-1]}
}

// sent is the number of requests sent inside w.
func (c *curve) sent(w span) int {
	_, n := c.within(w)
	return n
}

// within are the requests sent inside w: the index of the first, and how many.
func (c *curve) within(w span) (first, n int) {
	first, _ = slices.BinarySearch(c.starts, w.from)
	to, _ := slices.BinarySearch(c.starts, w.to+1)
	return first, to - first
}

// over is the number of requests that ended inside w.
func (c *curve) over(w span) int {
	from, _ := slices.BinarySearch(c.ends, w.from)
	to, _ := slices.BinarySearch(c.ends, w.to+1)
	return to - from
}

// sending is from the first to the last request sent inside w, and how many.
func (c *curve) sending(w span) (span, int) {
	first, n := c.within(w)
	if n == 0 {
		return span{}, 0
	}
	return span{c.starts[first], c.starts[first+n-1]}, n
}

// each calls f with every instant at which a request is sent, and how many are
// in flight then, until it returns false. A request that is over at the instant at
// which another is sent makes room for it.
func (c *curve) each(f func(at int64, inFlight int) bool) {
	ended := 0
	for i, at := range c.starts {
		for ended < len(c.ends) && c.ends[ended] <= at {
			ended++
		}
		if !f(at, i+1-ended) {
			return
		}
	}
}

// reached is the first instant with so many in flight.
func (c *curve) reached(level int) (instant int64, ok bool) {
	c.each(func(at int64, n int) bool {
		instant, ok = at, n >= level
		return !ok
	})
	return instant, ok
}

// peak is the most in flight at any instant of w.
func (c *curve) peak(w span) int {
	started, _ := slices.BinarySearch(c.starts, w.from)
	ended, _ := slices.BinarySearch(c.ends, w.from+1)
	most := max(0, started-ended) // those that were in flight when w began
	c.each(func(at int64, n int) bool {
		if at >= w.from && at <= w.to {
			most = max(most, n)
		}
		return at <= w.to
	})
	return most
}

// mean is how many were in flight on the mean of w: the time that all requests
// spent in flight inside it, over its length.
func (c *curve) mean(w span) float64 {
	if w.to <= w.from {
		return 0
	}
	var inFlight float64
	for i := range c.starts {
		inFlight += float64(w.clamp(c.ends[i]) - w.clamp(c.starts[i]))
	}
	return inFlight / float64(w.to-w.from)
}

// unsteady is why a step has no steady part; the zero value is of one that has.
type unsteady struct {
	why string // a clause
	// requests is how many it would take, as far as the step tells; 0 where their
	// number is not why. full is true where all users had started.
	requests int
	full     bool
}

// steady is the part of a step without ramp and drain, or why there is none. warm
// is when an open loop is over its start, 0 for never; last is when the last request
// was sent, of several machines by the first that had none left.
func steady(s runlog.Step, c *curve, warm, last int64) (span, unsteady) {
	w, least := span{to: last}, minSteadyRequests
	switch users := s.Level(); {
	case len(c.starts) == 0:
		return span{}, unsteady{why: "no request was sent"}
	case users > 0:
		least = max(least, users)
		from, ok := c.reached(users)
		if !ok {
			why := fmt.Sprintf("never more than %d of %d requests were in flight at once", c.peak(c.whole()), users)
			return span{}, c.neverAtLevel(s, least, why)
		}
		w.from = from
	case s.Arrival == runlog.ArrivalBurst:
		return span{}, unsteady{why: "all requests were sent at once"}
	case warm == 0:
		return span{}, unsteady{why: "no request succeeded"}
	default:
		w.from = warm
	}
	if w.to <= w.from {
		return span{}, unsteady{why: "the last request was sent before the load was at its level for any time", requests: len(c.starts) + least}
	}
	if n := c.sent(w); n < least {
		return span{}, unsteady{
			why:      fmt.Sprintf("only %d requests were sent while the load was at its level, and it takes %d", n, least),
			requests: len(c.starts) - n + least,
		}
	}
	return w, unsteady{}
}

// neverAtLevel estimates how many requests it takes until all users have started and
// each has sent another one. The users start one after the other, so that what they
// send beside their first requests grows with the square of the time.
func (c *curve) neverAtLevel(s runlog.Step, least int, why string) unsteady {
	sending, sent := c.sending(c.whole())
	users, ramp, took := float64(s.Level()), s.RampUp.Seconds(), sending.seconds()
	if sent > s.Level() && took >= ramp {
		return unsteady{why: why, full: true}
	}
	further := 0.0 // beside the users' first ones
	if took > 0 && took < ramp {
		share := took / ramp
		further = max(0, float64(sent)-users*share) / (share * share)
	}
	return unsteady{why: why, requests: int(math.Ceil(users+further)) + least}
}

// remedy is what to do for a steady part, after a semicolon; empty where the step does
// not tell.
func (u unsteady) remedy(s *Step, o Options) string {
	switch {
	case u.full:
		return "; answers end sooner than users can send, so use longer answers (--max-tokens) or fewer users"
	case u.requests == 0 || s.Stop != runlog.StopRequests && s.Stop != runlog.StopDuration:
		return ""
	}
	text := "; use a longer " + o.durationFlag()
	if s.Stop == runlog.StopRequests {
		text = fmt.Sprintf("; use at least %d %s", (u.requests+s.Machines-1)/s.Machines, o.requestsFlag())
		if s.Machines > 1 {
			text += " on each machine"
		}
	}
	if s.RampUp > 0 {
		text += ", or a shorter --ramp-up"
	}
	return text
}
