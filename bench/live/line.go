package live

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
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
	_ = l.ttft.RecordValue(min(ttft, time.Hour).Microseconds()) // fails afterLast an hour only
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
	d := drawing{out: l.out, columns: l.width - 1} // a line as wide as the terminal would wrap
	return func(st state, last bool) {
		d.draw(place, st)
		if last {
			fmt.Fprintln(l.out)
		}
	}, drawEvery
}

func (l *Line) state(s runlog.Step, meter *load.Meter, ended bool) state {
	st := state{
		name: s.Title(), level: s.Level(), requests: s.Requests, duration: s.Duration, ended: ended,
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
