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

// String is the line without the step's name.
func (s state) String() string {
	if s.attempted == 0 && !s.ended {
		return "making prompts"
	}
	parts := []string{s.done(), fmt.Sprintf("%.2f req/s", s.rate()), fmt.Sprintf("%d in flight", s.inFlight)}
	if s.queued > 0 {
		parts = append(parts, fmt.Sprintf("%d queued", s.queued))
	}
	parts = append(parts, fmt.Sprintf("%d failed", s.failed))
	if s.canceled > 0 {
		parts = append(parts, fmt.Sprintf("%d canceled", s.canceled))
	}
	if s.timed {
		parts = append(parts, fmt.Sprintf("TTFT p50 %s p99 %s", short(s.p50), short(s.p99)))
	}
	return s.withLeft(parts)
}

// brief is the same in fewer words.
func (s state) brief() string {
	if s.attempted == 0 && !s.ended {
		return "making prompts"
	}
	parts := []string{s.done(), fmt.Sprintf("%.3g/s", s.rate()), fmt.Sprintf("%d active", s.inFlight), fmt.Sprintf("%d failed", s.failed)}
	if s.timed {
		parts = append(parts, "TTFT p50 "+short(s.p50))
	}
	return s.withLeft(parts)
}

// briefest is what matters most.
func (s state) briefest() string {
	return s.withLeft([]string{s.done(), fmt.Sprintf("%.3g/s", s.rate()), fmt.Sprintf("%d failed", s.failed)})
}

// withLeft joins parts and the time that is left.
func (s state) withLeft(parts []string) string {
	if left, ok := s.left(); ok && left >= time.Second {
		parts = append(parts, rough(left)+" left")
	}
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
