package result

import (
	"fmt"
	"math"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// outline is what has to be known of a log before figures can be made of it.
type outline struct {
	source
	from     place // what is before it is not looked at
	run      runlog.Run
	sections []*section
	complete bool
	records  int
	damaged  int     // of the whole log
	again    *cursor // reads it for the second time
}

// section is one step in one log.
type section struct {
	log     *outline
	begins  place
	step    runlog.Step
	end     *runlog.StepEnd // nil when the run was killed
	account Account         // of the lines
	curve   curve
	// sending is from the first request sent to the last, planned the span in which
	// they were due; both are zero without any. done is when the first successful one
	// was over, over when the last was.
	sending, planned span
	done, over       int64
	plan             [planSize]int64 // when the first requests were due, by their number; 0 where not known
}

// survey reads a log for the first time.
func survey(log source, from place) (*outline, error) {
	in, err := log.open(from.at)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	o := &outline{source: log, from: from, run: in.Run()}
	c, err := newCursor(in, from, math.MaxInt)
	for err == nil && c.next != nil {
		s := &section{log: o, begins: c.here, step: *c.next}
		o.sections = append(o.sections, s)
		err = c.step(s.take)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", log.name, err)
	}
	if len(o.sections) == 0 {
		return nil, fmt.Errorf("reading %s: its run ended before the first step began", log.name)
	}
	o.complete, o.records, o.damaged = c.ended, c.read, c.lost()
	return o, nil
}

func (s *section) take(rec runlog.Record) {
	switch {
	case rec.StepEnd != nil:
		s.end = rec.StepEnd
	case rec.Request != nil:
		s.request(rec.Request)
	}
}

func (s *section) request(r *runlog.Request) {
	s.account.add(&r.Trace)
	if r.Seq >= 0 && r.Seq < planSize && !r.Trace.Planned.IsZero() {
		s.plan[r.Seq] = r.Trace.Planned.UnixNano()
	}
	if !wasSent(r) {
		return
	}
	start, end := instants(r)
	s.curve.add(start, end)
	s.sending.add(start)
	s.planned.add(planned(&r.Trace).UnixNano())
	s.over = max(s.over, end)
	if r.Trace.Failure == nil && s.done == 0 {
		s.done = end // a log has requests in the order in which they ended
	}
}

// wasSent reports whether r has instants.
func wasSent(r *runlog.Request) bool { return !r.Never && !r.Trace.Started.IsZero() }

// instants are when r was sent and when it was over.
func instants(r *runlog.Request) (start, end int64) {
	start = r.Trace.Started.UnixNano()
	return start, start + int64(max(0, r.Trace.End))
}

// planned is when a request was due.
func planned(t *openai.Trace) time.Time {
	if t.Planned.IsZero() {
		return t.Started
	}
	return t.Planned
}

// add counts one request.
func (a *Account) add(t *openai.Trace) {
	one := Account{Attempted: 1}
	switch {
	case t.Failure == nil:
		one.Succeeded = 1
	case t.Failure.Reason == openai.ReasonCanceled:
		one.Canceled = 1
	default:
		one.Failed = map[openai.Reason]int{t.Failure.Reason: 1}
	}
	a.join(one)
}

// join adds the account of another log.
func (a *Account) join(b Account) {
	a.Attempted += b.Attempted
	a.Succeeded += b.Succeeded
	a.Canceled += b.Canceled
	if a.Failed == nil && len(b.Failed) > 0 {
		a.Failed = map[openai.Reason]int{}
	}
	for why, n := range b.Failed {
		a.Failed[why] += n
	}
}
