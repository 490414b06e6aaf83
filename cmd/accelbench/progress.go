package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// How often a line is drawn anew on a terminal, and written elsewhere.
const (
	drawEvery  = 200 * time.Millisecond
	writeEvery = 10 * time.Second
)

// progressLine shows a step in one line: on a terminal drawn over itself, elsewhere written
// every 10 s.
type progressLine struct {
	out     io.Writer
	width   int // columns of the terminal, 0 for none
	steps   int // in all, 0 where they are chosen as the run goes
	number  int // of the present step, from 1
	step    runlog.Step
	meter   *load.Meter
	stop    chan struct{}
	stopped sync.WaitGroup
}

// newProgressLine returns one that writes to out, which is a terminal of so many columns, or none if width
// is 0.
func newProgressLine(out io.Writer, width int) *progressLine {
	return &progressLine{out: out, width: width}
}

// RunStarted takes how many steps there will be.
func (l *progressLine) RunStarted(r runlog.Run) { l.number, l.steps = 0, len(r.Steps) }

// StepStarted begins a line.
func (l *progressLine) StepStarted(s runlog.Step, meter *load.Meter) {
	l.number++
	l.step, l.meter, l.stop = s, meter, make(chan struct{})
	l.stopped.Go(l.follow)
}

// RequestDone is without effect: the meter counts.
func (l *progressLine) RequestDone(*runlog.Request) {}

// StepEnded ends the line.
func (l *progressLine) StepEnded(runlog.StepEnd) {
	close(l.stop)
	l.stopped.Wait()
}

func (l *progressLine) follow() {
	every := writeEvery
	if l.width > 0 {
		every = drawEvery
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.print("")
		case <-l.stop:
			l.print("\n")
			return
		}
	}
}

// print writes a line, or draws it over the last one, cut where the terminal would wrap
// it, and puts end after it.
func (l *progressLine) print(end string) {
	if l.width == 0 {
		fmt.Fprintln(l.out, l.text())
		return
	}
	room := l.width - 1
	fmt.Fprintf(l.out, "\r%-*.*s%s", room, room, l.text(), end)
}

// text says how the step stands.
func (l *progressLine) text() string {
	m, name := l.meter, l.step.Title()
	if l.steps > 1 {
		name = fmt.Sprintf("step %d of %d, %s", l.number, l.steps, name)
	}
	first := m.FirstSent.Load()
	if first == 0 {
		return name + ": making prompts"
	}
	succeeded, failed := m.Succeeded.Load(), m.Failed.Load()
	elapsed := time.Since(time.Unix(0, first)).Seconds()
	done := fmt.Sprint(succeeded + failed + m.Canceled.Load())
	if l.step.Requests > 0 {
		done += fmt.Sprintf("/%d", l.step.Requests)
	}
	limit := ""
	if l.step.Duration > 0 {
		limit = "/" + l.step.Duration.String()
	}
	return fmt.Sprintf("%s: %s requests, %.0fs%s, %.3g/s, %d failed, %d in flight, %d queued", name, done, elapsed, limit,
		float64(succeeded)/max(elapsed, 1e-3), failed, m.InFlight.Load(), m.Queued.Load())
}
