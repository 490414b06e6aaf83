package live

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// The columns of the bar, which goes first where there are fewer, and of the percent
// and the brackets around it.
const (
	barMin   = 8
	barMax   = 40
	barFrame = len("100% [] ")
)

// drawing draws the states of a step over one another on a terminal.
type drawing struct {
	out     io.Writer
	columns int

	begun bool
	form  int // of the forms of a line; never back to a longer one, so that words do not come and go
	bar   int // columns, 0 for none
	drawn int // columns of the last line
}

// forms are a state as text, the longest first.
func forms(place string, s state) []string {
	name := s.name + ": "
	return []string{
		place + name + s.text(full), name + s.text(full), place + name + s.text(brief), name + s.text(brief), s.text(brief), s.text(least),
	}
}

// draw draws a state over the last one.
func (d *drawing) draw(place string, s state) {
	if !d.begun {
		d.begun = true
		d.fit(forms(place, s.longest()))
		widest := forms(place, s.longest())[d.form]
		if room := d.columns - barFrame - utf8.RuneCountInString(widest); d.form == 0 && room >= barMin {
			d.bar = min(room, barMax)
		}
	}
	all := forms(place, s)
	if d.bar > 0 && utf8.RuneCountInString(all[d.form]) > d.columns-barFrame-d.bar {
		d.bar = 0
	}
	d.fit(all)
	text := all[d.form]
	if d.bar > 0 {
		text = bar(s.progress(), d.bar) + " " + text
	}
	if n := utf8.RuneCountInString(text); n > d.columns {
		text = string([]rune(text)[:max(0, d.columns)])
	}
	width := utf8.RuneCountInString(text)
	fmt.Fprintf(d.out, "\r%s%s", text, strings.Repeat(" ", max(0, d.drawn-width)))
	d.drawn = width
}

// fit goes on to the first form that has room, or to the last.
func (d *drawing) fit(all []string) {
	for d.form < len(all)-1 && utf8.RuneCountInString(all[d.form]) > d.columns {
		d.form++
	}
}

// bar is a share from 0 to 1 in percent and as a bar of so many columns.
func bar(share float64, columns int) string {
	full := int(share * float64(columns))
	return fmt.Sprintf("%3d%% [%s%s]", int(share*100), strings.Repeat("#", full), strings.Repeat("-", columns-full))
}

// longest is the state with about the longest text that the step will have.
func (s state) longest() state {
	const many, slow = 9999, 999 * time.Millisecond
	s.attempted, s.succeeded = many, many
	if s.requests > 0 {
		s.succeeded = int64(s.requests)
	}
	s.inFlight = int64(s.level)
	if s.level == 0 {
		s.inFlight = many
	}
	s.elapsed, s.requests = 5*time.Minute, 2*s.requests // so that some time is left
	if s.duration > 0 {
		s.elapsed = s.duration / 2
	}
	s.timed, s.p50, s.p99 = true, slow, slow
	return s
}
