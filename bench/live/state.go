package live

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// state is what a line tells.
type state struct {
	name     string
	level    int // requests that are to be in flight, 0 where that is not set
	requests int
	duration time.Duration
	// elapsed is since the first request was sent, of a step that has ended to the last
	// one over: the whole step of a report.
	elapsed time.Duration

	attempted, queued, inFlight, succeeded, failed, canceled int64

	ended    bool // nothing more will come
	timed    bool // p50 and p99 of the TTFT are known
	p50, p99 time.Duration
}

func (s state) over() int64 { return s.succeeded + s.failed + s.canceled }

// progress is the share of the step that is done, 0 to 1, by whichever limit
// comes first; 0 for a step without any.
func (s state) progress() float64 {
	var done float64
	if s.requests > 0 {
		done = float64(s.over()) / float64(s.requests)
	}
	if s.duration > 0 {
		done = max(done, s.elapsed.Seconds()/s.duration.Seconds())
	}
	return min(done, 1)
}

// left is the time the step will take yet, if it goes on as it went.
func (s state) left() (time.Duration, bool) {
	p := s.progress()
	if p == 0 || s.ended {
		return 0, false
	}
	return time.Duration(float64(s.elapsed) * (1 - p) / p), true
}

// detail is how much a line says.
type detail int

const (
	full detail = iota
	brief
	least // what matters most
)

// String is the line without the step's name.
func (s state) String() string { return s.text(full) }

func (s state) text(d detail) string {
	if s.attempted == 0 && !s.ended && d != least {
		return "making prompts"
	}
	rate, active := "%.3g/s", "%d active"
	if d == full {
		rate, active = "%.2f req/s", "%d in flight"
	}
	var parts []string
	add := func(shown bool, format string, args ...any) {
		if shown {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	left, known := s.left()
	add(true, "%s", s.done())
	add(true, rate, s.rate())
	add(d != least, active, s.inFlight)
	add(d == full && s.queued > 0, "%d queued", s.queued)
	add(true, "%d failed", s.failed)
	add(d == full && s.canceled > 0, "%d canceled", s.canceled)
	add(d == full && s.timed, "TTFT p50 %s p99 %s", short(s.p50), short(s.p99))
	add(d == brief && s.timed, "TTFT p50 %s", short(s.p50))
	add(known && left >= time.Second, "%s left", rough(left))
	return strings.Join(parts, ", ")
}

func (s state) done() string {
	if s.requests > 0 {
		return fmt.Sprintf("%d/%d", s.over(), s.requests)
	}
	return strconv.FormatInt(s.over(), 10)
}

// rate is the successful requests a second.
func (s state) rate() float64 {
	if s.elapsed <= 0 {
		return 0
	}
	return float64(s.succeeded) / s.elapsed.Seconds()
}

// rough writes a duration from 1 s on in whole seconds, minutes or hours, with two
// digits at least where it is not of seconds.
func rough(d time.Duration) string {
	switch {
	case d >= 10*time.Hour:
		return fmt.Sprintf("%.0fh", d.Hours())
	case d >= 10*time.Minute:
		return fmt.Sprintf("%.0fm", d.Minutes())
	}
	return fmt.Sprintf("%.0fs", d.Seconds())
}

// short writes a duration with three digits at most.
func short(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0fs", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return fmt.Sprintf("%.0fms", float64(d)/float64(time.Millisecond))
}
