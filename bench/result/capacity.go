package result

import (
	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// BindingBacklog is the [Capacity.Binding] where requests pile up although no figure is
// over its limit yet.
const BindingBacklog = "backlog"

// Capacity is how much load the server carries within its limits, from the steps of a
// run that searched for it: they are the trials of the answer.
type Capacity struct {
	capacity.Answer
	Variable string // [runlog.VariableConcurrency] or [runlog.VariableRequestRate]
	Limits   []runlog.Limit
	// Binding is the name of the limit that FailedAt misses by most, or
	// [BindingBacklog]; empty without a FailedAt.
	Binding string
}

// newCapacity is nil where nothing was searched for.
func newCapacity(r *Report) *Capacity {
	if len(r.Runs) != 1 || r.Runs[0].Capacity == nil {
		return nil
	}
	search := r.Runs[0].Capacity
	c := &Capacity{Variable: search.Variable, Limits: search.Objectives}
	var trials []capacity.Trial
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.EndsSearch() {
			break
		}
		verdict, _ := s.Verdict()
		trials = append(trials, capacity.Trial{Level: max(float64(s.Concurrency), s.Rate), Verdict: verdict})
	}
	c.Answer = NewRange(search).Answer(trials)
	if l := c.At(c.FailedAt); l != nil {
		c.Binding = BindingBacklog
		if most := r.Shown(l).Worst(); most != nil {
			c.Binding = most.Name
		}
	}
	return c
}

// NewRange is the range of a search as its log has it.
func NewRange(c *runlog.Capacity) capacity.Range {
	return capacity.Range{
		From: c.From, To: c.To, Whole: c.Variable == runlog.VariableConcurrency, Precision: c.Precision, Repeat: c.Repeat,
	}
}

// Shown is the step whose figures stand for a level: the last one with its verdict, or else
// the last.
func (r *Report) Shown(l *capacity.Level) *Step {
	shown := &r.Steps[l.Trials[len(l.Trials)-1]]
	for _, i := range l.Trials {
		if verdict, _ := r.Steps[i].Verdict(); verdict == l.Verdict {
			shown = &r.Steps[i]
		}
	}
	return shown
}

// EndsSearch reports whether a step of a search says that there is no other: it was cut
// short, the server could not be reached any more, or none of its requests got any text,
// as from a server that hangs.
func (s *Step) EndsSearch() bool {
	switch s.Stop {
	case "", runlog.StopInterrupted, runlog.StopUnreachable:
		return true
	}
	for reason := range s.Account.Failed {
		if reason != openai.ReasonTimeoutFirstToken && !reason.Unreached() {
			return false
		}
	}
	return s.Account.Succeeded == 0 && s.Account.Failures() > 0
}

// Verdict says whether a step met its limits, and of one that does not tell why not: a
// clause. Requests that pile up are a miss. A load generator that was the limit says
// nothing of the server, and a load that was short or not steady nothing of its level.
func (s *Step) Verdict() (v capacity.Verdict, why string) {
	const clientWas = "the load generator was the limit: "
	switch {
	case s.Overloaded():
		return capacity.Missed, ""
	case s.ClientLimit != "":
		return capacity.Void, clientWas + s.ClientLimit
	}
	void := ""
	for _, h := range s.Held {
		isSteady := s.Steady != nil && s.Short == ""
		switch {
		case !h.Known:
			void = "no request has a " + h.Label()
		case h.Excess() > 1 && (isSteady || h.Name == runlog.LimitFailures):
			return capacity.Missed, ""
		}
	}
	switch {
	case s.Steady == nil:
		return capacity.Void, "the load never was steady, as " + s.NotSteady
	case s.Short != "":
		return capacity.Void, clientWas + s.Short
	case void != "":
		return capacity.Void, void
	}
	return capacity.Met, ""
}

// Worst is the figure that a step misses its limit with by most, nil where it misses none.
func (s *Step) Worst() *Held {
	var worst *Held
	most := 1.0
	for i, h := range s.Held {
		if h.Known && h.Excess() > most {
			worst, most = &s.Held[i], h.Excess()
		}
	}
	return worst
}
