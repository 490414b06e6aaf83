package live

import (
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// phase is what a step is doing.
type phase string

const (
	ramp  phase = "ramp"
	level phase = "steady"
	drain phase = "drain"
)

// counts are what happened in a part of the steady time.
type counts struct {
	time     time.Duration
	requests int
	tokens   float64
}

// steady follows the steady time of a step as a report defines it: from the instant
// at which the load is what it was to be, to the last request sent. What happens
// after the last request sent until now counts once another one is sent, so that
// the drain never does.
type steady struct {
	step  runlog.Step
	meter *load.Meter

	from           int64  // Unix nanoseconds, 0 while the load is on its way
	to             int64  // the time until here is counted
	counted        counts // counted and not yet settled
	afterLast      counts // after the last request sent, to count with the next
	afterLastUntil int64  // until when afterLast reaches
}

func newSteady(s runlog.Step, meter *load.Meter) steady { return steady{step: s, meter: meter} }

// begin finds out whether the load has come to its level. answered is when a
// successful request was over, 0 for none.
func (w *steady) begin(answered int64) {
	switch {
	case w.from > 0:
	case w.step.Level() > 0:
		w.from = w.meter.Reached.Load()
	case w.step.Arrival == runlog.ArrivalBurst: // comes and goes at once
	case answered > 0:
		w.from = max(answered, w.meter.FirstSent.Load()+int64(w.step.RampUp))
	}
}

// take counts a request that was sent and is over.
func (w *steady) take(t *openai.Trace) {
	start := t.Started.UnixNano()
	end := start + int64(t.End)
	if t.Failure != nil {
		return
	}
	w.begin(end)
	if w.from == 0 {
		return
	}
	w.advance()
	part := func(at int64) *counts {
		if at <= w.to {
			return &w.counted
		}
		w.afterLastUntil = max(w.afterLastUntil, at)
		return &w.afterLast
	}
	if end >= w.from {
		part(end).requests++
	}
	tokens, _ := openai.OutputTokens(t)
	for _, c := range t.Chunks {
		if at := start + int64(c.At); at >= w.from {
			part(at).tokens += float64(tokens) / float64(len(t.Chunks))
		}
	}
}

// advance takes the time to the last request sent until now.
func (w *steady) advance() {
	last := w.meter.LastSent.Load()
	if w.from == 0 || last <= max(w.from, w.to) {
		return
	}
	w.counted.time += time.Duration(last - max(w.from, w.to))
	w.to = last
	if w.afterLastUntil <= last {
		w.counted.requests += w.afterLast.requests
		w.counted.tokens += w.afterLast.tokens
		w.afterLast = counts{}
	}
}

// settle returns what was counted since the last time.
func (w *steady) settle() counts {
	w.begin(0)
	w.advance()
	grown := w.counted
	w.counted = counts{}
	return grown
}

// phase is what the step is doing now.
func (w *steady) phase() phase {
	w.begin(0)
	switch {
	case w.meter.SendingOver.Load():
		return drain
	case w.from > 0 && w.from <= time.Now().UnixNano():
		return level
	}
	return ramp
}
