package result

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// Window is a span of time: all of a step from the first request sent to the last one ended, or its steady part, from
// when the load had reached its level until the last request was sent; docs/design.md says when that is. A steady
// part holds at least 10 requests and one for each user. Conversations in their thinking time are in flight.
type Window struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Duration is the window's length.
func (w Window) Duration() time.Duration { return w.To.Sub(w.From) }

// span is a Window in nanoseconds since 1970.
type span struct{ from, to int64 }

func (s span) holds(at int64) bool { return at >= s.from && at <= s.to }

func (s span) clamp(at int64) int64 { return min(max(at, s.from), s.to) }

func (s span) seconds() float64 { return time.Duration(s.to - s.from).Seconds() }

// rate is n a second, 0 of no time.
func (s span) rate(n float64) float64 {
	if s.to <= s.from {
		return 0
	}
	return n / s.seconds()
}

// unit is what the load is made of: a request, or a conversation from the start of its
// first turn to the end of its last one. Instants are nanoseconds since 1970.
type unit struct {
	due, start, end int64
	queued          int64
	answered        bool // it succeeded, or ended because it took too long
}

// arrival is when it would have been sent, had it not had to wait for its turn.
func (u unit) arrival() int64 { return u.start - u.queued }

// late is how long after it was due it was sent.
func (u unit) late() int64 { return max(0, u.start-u.due) }

func (u unit) sentAt() int64 { return u.start }

// noun is what a unit of the load is called.
func (d *stepData) noun() string {
	if d.conversations > 0 {
		return "conversations"
	}
	return "requests"
}

// sentIn are the requests or units sent inside of a window, of those in the order in which they were sent.
func sentIn[T interface{ sentAt() int64 }](w span, all []T) []T {
	from := sort.Search(len(all), func(i int) bool { return all[i].sentAt() >= w.from })
	to := sort.Search(len(all), func(i int) bool { return all[i].sentAt() > w.to })
	return all[from:max(from, to)]
}

// concurrency is how many units were in flight on the mean of a window: the time that all
// of them spent in flight inside of it, over its length.
func concurrency(w span, units []unit) float64 {
	inFlight := 0.0
	for _, u := range units {
		inFlight += span{w.clamp(u.start), w.clamp(u.end)}.seconds()
	}
	return w.rate(inFlight)
}

// curve is how many units were in flight at each instant.
type curve []change

// change is one unit more in flight, or one less.
type change struct {
	at int64
	by int
}

// newCurve counts a unit that ended at the instant at which another is sent as ended first: it makes room for it.
func newCurve(units []unit) curve {
	var c curve
	for _, u := range units {
		c = append(c, change{u.start, 1}, change{u.end, -1})
	}
	slices.SortFunc(c, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	return c
}

// whole is from the first request sent to the last one over.
func (c curve) whole() span {
	if len(c) == 0 {
		return span{}
	}
	return span{c[0].at, c[len(c)-1].at}
}

// reached is the first instant with so many in flight.
func (c curve) reached(level int) (instant int64, ok bool) {
	inFlight := 0
	for _, e := range c {
		inFlight += e.by
		if inFlight >= level {
			return e.at, true
		}
	}
	return 0, false
}

// peak is the most in flight at any instant of a window.
func (c curve) peak(w span) int {
	inFlight, most := 0, 0
	for _, e := range c {
		if e.at > w.to {
			break
		}
		inFlight += e.by
		if e.at <= w.from {
			most = 0 // until the window has begun
		}
		most = max(most, inFlight)
	}
	return most
}
