package live

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/schollz/progressbar/v3"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// The columns of the bar, and of what stands around it: percent and brackets.
const (
	barWidth = 4
	barFrame = 12
)

// How often a line is drawn anew on a terminal, and written elsewhere.
const (
	drawEvery  = 200 * time.Millisecond
	writeEvery = 10 * time.Second
)

// Line tells of a step in one line: on a terminal drawn over itself, elsewhere
// written every 10 s.
type Line struct {
	out     io.Writer
	width   int // columns of the terminal, 0 for none
	stop    chan struct{}
	stopped sync.WaitGroup
	step    int // from 1
	steps   int

	mu   sync.Mutex
	ttft *hdrhistogram.Histogram // µs, of the step
	last int64                   // when the last request until now was over, Unix nanoseconds
}

// NewLine writes to out, which is a terminal of so many columns, or none if width
// is 0.
func NewLine(out io.Writer, width int) *Line {
	return &Line{out: out, width: width}
}

// RunStarted takes how many steps there will be.
func (l *Line) RunStarted(r runlog.Run) { l.step, l.steps = 0, len(r.Steps) }

// StepStarted begins a line.
func (l *Line) StepStarted(s runlog.Step, meter *load.Meter) {
	l.step++
	l.mu.Lock()
	l.ttft, l.last = hdrhistogram.New(1, time.Hour.Microseconds(), 3), 0
	l.mu.Unlock()
	l.stop = make(chan struct{})
	l.stopped.Go(func() { l.follow(s, meter) })
}

// RequestDone takes a request that is over.
func (l *Line) RequestDone(r *runlog.Request) {
	if r.Never {
		return
	}
	ttft, ok := openai.TTFT(&r.Trace)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = max(l.last, r.Trace.Started.Add(r.Trace.End).UnixNano())
	if !ok {
		return
	}
	_ = l.ttft.RecordValue(min(ttft, time.Hour).Microseconds()) // fails beyond an hour only
}

// StepEnded ends the line.
func (l *Line) StepEnded(runlog.StepEnd) {
	close(l.stop)
	l.stopped.Wait()
}

func (l *Line) follow(s runlog.Step, meter *load.Meter) {
	draw, every := l.writer()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			draw(l.state(s, meter, false), false)
		case <-l.stop:
			draw(l.state(s, meter, true), true)
			return
		}
	}
}

// writer is how a state is shown, and how often.
func (l *Line) writer() (func(st state, last bool), time.Duration) {
	place := ""
	if l.steps > 1 {
		place = fmt.Sprintf("step %d of %d, ", l.step, l.steps)
	}
	if l.width == 0 {
		return func(st state, _ bool) { fmt.Fprintf(l.out, "%s%s: %s\n", place, st.name, st) }, writeEvery
	}
	const parts = 1000 // of the whole step, whatever bounds it
	room := max(0, l.width-barWidth-barFrame)
	bar := progressbar.NewOptions(parts,
		progressbar.OptionSetWriter(l.out),
		progressbar.OptionSetWidth(barWidth),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionShowDescriptionAtLineEnd(),
	)
	return func(st state, last bool) {
		bar.Describe(st.fitting(place, room))
		_ = bar.Set(int(parts * st.progress())) // a terminal that is gone is no reason to stop
		if last {
			_ = bar.Exit()
			fmt.Fprintln(l.out)
		}
	}, drawEvery
}

func (l *Line) state(s runlog.Step, meter *load.Meter, ended bool) state {
	st := state{
		name: s.Title(), requests: s.Requests, duration: s.Duration, ended: ended,
		attempted: meter.Attempted.Load(), queued: meter.Queued.Load(), inFlight: meter.InFlight.Load(),
		succeeded: meter.Succeeded.Load(), failed: meter.Failed.Load(), canceled: meter.Canceled.Load(),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if first := meter.FirstSent.Load(); first > 0 {
		until := time.Now().UnixNano()
		if ended {
			until = l.last
		}
		st.elapsed = time.Duration(max(0, until-first))
	}
	if st.timed = l.ttft.TotalCount() > 0; st.timed {
		st.p50 = time.Duration(l.ttft.ValueAtQuantile(50)) * time.Microsecond
		st.p99 = time.Duration(l.ttft.ValueAtQuantile(99)) * time.Microsecond
	}
	return st
}

// state is what a line tells.
type state struct {
	name     string
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

// fitting is the line in so many columns: in words, in few words, or cut.
func (s state) fitting(place string, columns int) string {
	brief := s.brief()
	for _, text := range []string{place + s.name + ": " + s.String(), s.name + ": " + s.String(), place + s.name + ": " + brief, s.name + ": " + brief, brief} {
		if utf8.RuneCountInString(text) <= columns {
			return text
		}
	}
	return string([]rune(brief)[:columns])
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
	if left, ok := s.left(); ok && left >= time.Second {
		parts = append(parts, left.Round(time.Second).String()+" left")
	}
	return strings.Join(parts, ", ")
}

// brief is the same in few words, what matters most first.
func (s state) brief() string {
	text := fmt.Sprintf("%s, %.3g/s, %d on, %d failed", s.done(), s.rate(), s.inFlight, s.failed)
	if s.timed {
		text += fmt.Sprintf(", TTFT %s/%s", short(s.p50), short(s.p99))
	}
	if left, ok := s.left(); ok && left >= time.Second {
		text += ", " + left.Round(time.Second).String() + " left"
	}
	return text
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
