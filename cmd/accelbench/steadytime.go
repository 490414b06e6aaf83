package main

import (
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// phase is what a step is doing.
type phase string

const (
	phaseRamp   phase = "ramp"
	phaseSteady phase = "steady"
	phaseDrain  phase = "drain"
)

// steadyTime follows the steady time of a step as a report defines it: from the instant
// at which the load is what it was to be, to the last request sent.
type steadyTime struct {
	step    runlog.Step
	meter   *load.Meter
	from    int64 // Unix nanoseconds, 0 while the load is on its way
	counted time.Duration
}

// begin finds out whether the load has come to its level. answered is when a
// successful request was over, 0 for none.
func (w *steadyTime) begin(answered int64) {
	switch {
	case w.from > 0:
	case w.step.Level() > 0:
		w.from = w.meter.Reached.Load()
	case w.step.Arrival == runlog.ArrivalBurst: // comes and goes at once
	case answered > 0:
		w.from = max(answered, w.meter.FirstSent.Load()+int64(w.step.RampUp))
	}
}

// end is where the steady time ends as far as is known: now, while requests are sent.
func (w *steadyTime) end() int64 {
	if w.meter.SendingOver.Load() {
		return w.meter.LastSent.Load()
	}
	return time.Now().UnixNano()
}

// take returns what a request that is over adds: whether it was over in the steady time,
// and how many of its output tokens came in it.
func (w *steadyTime) take(t *openai.Trace) (requests, tokens float64) {
	start := t.Started.UnixNano()
	over := start + int64(t.End)
	if t.Failure != nil {
		return 0, 0
	}
	w.begin(over)
	if w.from == 0 {
		return 0, 0
	}
	end := w.end()
	if over >= w.from && over <= end {
		requests = 1
	}
	all, _ := openai.OutputTokens(t)
	for _, c := range t.Chunks {
		if at := start + int64(c.At); at >= w.from && at <= end {
			tokens += float64(all) / float64(len(t.Chunks))
		}
	}
	return requests, tokens
}

// grown is the steady time since the last call.
func (w *steadyTime) grown() time.Duration {
	w.begin(0)
	if w.from == 0 {
		return 0
	}
	grown := max(0, time.Duration(w.end()-w.from)-w.counted)
	w.counted += grown
	return grown
}

// phase is what the step is doing now.
func (w *steadyTime) phase() phase {
	w.begin(0)
	switch {
	case w.meter.SendingOver.Load():
		return phaseDrain
	case w.from > 0 && w.from <= time.Now().UnixNano():
		return phaseSteady
	}
	return phaseRamp
}
