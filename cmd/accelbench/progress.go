package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// watched has put put load on, and shows it while it goes.
func (s *runFlags) watched(ctx context.Context, stderr io.Writer, put func(...load.Watcher) (load.Result, error)) (load.Result, error) {
	var watchers []load.Watcher
	if !s.out.quiet {
		watchers = append(watchers, newProgressLine(stderr))
	}
	if s.out.webAddress != "" {
		m := newRunMetrics()
		stop, err := serveMetrics(ctx, m, s.out.webAddress)
		if err != nil {
			return load.Result{}, err
		}
		defer stop()
		watchers = append(watchers, m)
	}
	result, err := put(watchers...)
	printNotes(stderr, result.Notes)
	return result, err
}

// progressLine shows a step in one line: on a terminal drawn over itself each second,
// elsewhere written every 10 s.
type progressLine struct {
	out      io.Writer
	terminal bool
	step     runlog.Step
	meter    *load.Meter
	stop     chan struct{}
	stopped  sync.WaitGroup
}

func newProgressLine(out io.Writer) *progressLine {
	f, ok := out.(*os.File)
	return &progressLine{out: out, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// RunStarted is without effect.
func (l *progressLine) RunStarted(runlog.Run) {}

// StepStarted begins a line.
func (l *progressLine) StepStarted(s runlog.Step, meter *load.Meter) {
	l.step, l.meter, l.stop = s, meter, make(chan struct{})
	l.stopped.Go(l.follow)
}

// RequestDone is without effect: the meter counts.
func (l *progressLine) RequestDone(*runlog.Request) {}

// StepEnded ends the line.
func (l *progressLine) StepEnded(runlog.StepEnd) {
	close(l.stop)
	l.stopped.Wait()
	l.print("\n")
}

func (l *progressLine) follow() {
	every := 10 * time.Second
	if l.terminal {
		every = time.Second
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.print("")
		case <-l.stop:
			return
		}
	}
}

// print writes a line, or draws it over the last one, and puts end after that.
func (l *progressLine) print(end string) {
	if l.terminal {
		fmt.Fprintf(l.out, "\r\x1b[K%s%s", l.text(), end)
		return
	}
	fmt.Fprintln(l.out, l.text())
}

// text says how the step stands.
func (l *progressLine) text() string {
	m, name := l.meter, l.step.Name()
	first := m.FirstSent.Load()
	if first == 0 {
		return fmt.Sprintf("step %s: making prompts", name)
	}
	succeeded, failed := m.Succeeded.Load(), m.Failed.Load()
	elapsed := time.Since(time.Unix(0, first)).Seconds()
	return fmt.Sprintf("step %s: %d requests, %.0fs, %.3g/s, %d failed, %d in flight, %d queued", name, succeeded+failed, elapsed,
		float64(succeeded)/max(elapsed, 1e-3), failed, m.InFlight.Load(), m.Queued.Load())
}
