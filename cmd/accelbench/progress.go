package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// progressLine writes every 5 s, and at its end, how a step stands.
type progressLine struct {
	out     io.Writer
	isTalk  bool // of conversations
	step    runlog.Step
	meter   *load.Meter
	stop    chan struct{}
	stopped sync.WaitGroup
}

// RunStarted says what may take a while before the first step.
func (l *progressLine) RunStarted(r runlog.Run) {
	kind := dataset.Kind(r.Dataset)
	l.isTalk = kind == dataset.MultiTurn
	if r.DatasetPath != "" && (kind == dataset.MultiTurn || kind == dataset.ShareGPT) {
		fmt.Fprintln(l.out, "accelbench: making prompts from recorded conversations")
	}
}

// StepStarted begins to write.
func (l *progressLine) StepStarted(s runlog.Step, meter *load.Meter) {
	l.step, l.meter, l.stop = s, meter, make(chan struct{})
	l.stopped.Go(func() {
		ticker := time.NewTicker(5 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				fmt.Fprintln(l.out, l.text())
			case <-l.stop:
				return
			}
		}
	})
}

// RequestDone is without effect: the meter counts.
func (l *progressLine) RequestDone(*runlog.Request) {}

// StepEnded writes the last line.
func (l *progressLine) StepEnded(runlog.StepEnd) {
	close(l.stop)
	l.stopped.Wait()
	fmt.Fprintln(l.out, l.text())
}

// text says how the step stands.
func (l *progressLine) text() string {
	m, name := l.meter, l.step.Title(l.isTalk)
	first := m.FirstSent.Load()
	if first == 0 {
		return fmt.Sprintf("%s: making prompts", name)
	}
	succeeded, failed := m.Succeeded.Load(), m.Failed.Load()
	elapsed := time.Since(time.Unix(0, first)).Seconds()
	return fmt.Sprintf("%s: %d requests, %.0fs, %.3g/s, %d failed, %d in flight, %d queued", name, succeeded+failed, elapsed,
		float64(succeeded)/max(elapsed, 1e-3), failed, m.InFlight.Load(), m.Queued.Load())
}
