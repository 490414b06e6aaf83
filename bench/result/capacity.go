package result

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/internal/words"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// BindingBacklog is the [Capacity.Binding] where requests pile up although no figure is
// over its limit yet.
const BindingBacklog = "backlog"

// Capacity is how much load the server carries within its limits, from the steps of a
// run that searched for it.
type Capacity struct {
	capacity.Answer
	Variable string // [runlog.VariableConcurrency] or [runlog.VariableRequestRate]
	Limits   []Limit
	// Binding is the name of the limit that FailedAt misses by most, or
	// [BindingBacklog]; empty without a FailedAt.
	Binding string
	// Levels are all that were run, ascending.
	Levels []CapacityLevel
	// Search and Trials are what [Capacity.Answer] is made of; a step that did not end
	// is no trial.
	Search capacity.Search
	Trials []capacity.Trial
	// Gone is true where the server did not answer any more at the end.
	Gone bool
}

// CapacityLevel is one level of load with all its runs.
type CapacityLevel struct {
	Level   float64
	Verdict capacity.Verdict // Void where it is not known
	Steps   []int            // of [Report.Steps], in the order in which they were run
	// Told is the step whose figures are told of the level, the middle one of those that
	// say what the level does; -1 where none does.
	Told int
	// Why says of a level that cannot be judged why not, in a clause.
	Why string
}

// capacityOf is nil where nothing was searched for.
func capacityOf(r *Report) *Capacity {
	if len(r.Runs) != 1 || r.Runs[0].Capacity == nil {
		return nil
	}
	run := r.Runs[0].Capacity
	c := &Capacity{Variable: run.Variable, Search: SearchOf(run)}
	for _, l := range run.Objectives {
		c.Limits = append(c.Limits, Limit(l))
	}
	var steps []int   // of the trials
	var whys []string // they are void, in a clause
	for i := range r.Steps {
		if s := &r.Steps[i]; s.Stop != "" && !s.endedBeforeItsTime() && s.Account.Attempted > 0 {
			steps = append(steps, i)
			o, why := s.outcome()
			o.Final = run.StepRequests > 0 && s.SteadyTakes > run.StepRequests // the next has no more of them
			c.Trials, whys = append(c.Trials, capacity.Trial{Level: c.LevelOf(s), Outcome: o}), append(whys, why)
		}
	}
	for i := c.goneFrom(r, steps); i < len(steps); i++ {
		c.Gone, c.Trials[i].Outcome, whys[i] = true, capacity.Outcome{}, "the server did not answer any more"
	}
	c.Answer = c.Search.Answer(c.Trials)
	for _, l := range c.Answer.Levels {
		c.Levels = append(c.Levels, c.level(r, l, steps, whys))
	}
	if l := c.At(c.FailedAt); l != nil {
		c.Binding = binding(&r.Steps[l.Told])
	}
	return c
}

// SearchOf is the search that a log tells of.
func SearchOf(c *runlog.Capacity) capacity.Search {
	return capacity.Search{
		From: c.From, To: c.To, Whole: c.Variable == runlog.VariableConcurrency, Precision: c.Precision, Repeat: c.Repeat,
	}
}

// endedBeforeItsTime reports whether a step says nothing of its level. It is at the end of
// its prompts where the server makes them, and hangs.
func (s *Step) endedBeforeItsTime() bool {
	return s.Stop == runlog.StopInterrupted || s.Stop == runlog.StopUnreachable || s.Stop == runlog.StopDataset && s.Silent > 0
}

// goneFrom is the first of the trials at the end in which the server did not answer any
// more, so that they say nothing of their levels; their number where there is none. One
// that reaches a server and gets no text may be too much for it, unless so much was not
// before.
func (c *Capacity) goneFrom(r *Report, steps []int) int {
	from := len(steps) - 1
	if from < 0 || !r.Steps[steps[from]].Unanswered() {
		return len(steps)
	}
	last := &r.Steps[steps[from]]
	for from > 0 && r.Steps[steps[from]].Unanswered() && r.Steps[steps[from-1]].Silent > 0 {
		from--
	}
	carried := func(t capacity.Trial) bool { return t.Verdict == capacity.Met && t.Level >= c.LevelOf(last) }
	if last.Unreached == last.Silent || slices.ContainsFunc(c.Trials[:from], carried) {
		return from
	}
	return len(steps)
}

// Unanswered reports whether no request of a step got any text.
func (s *Step) Unanswered() bool {
	return s.Silent > 0 && s.Silent == s.Account.Succeeded+s.Account.Failures()
}

// LevelOf is the load of a step as the search counts it.
func (c *Capacity) LevelOf(s *Step) float64 {
	if c.Variable == runlog.VariableConcurrency {
		return float64(s.Concurrency)
	}
	return s.Rate
}

// At is the level of that load, nil if it was not run, and for 0.
func (c *Capacity) At(level float64) *CapacityLevel {
	if i := slices.IndexFunc(c.Levels, func(l CapacityLevel) bool { return l.Level == level }); i >= 0 {
		return &c.Levels[i]
	}
	return nil
}

// Title is a level in words: "1 user", "37 users", "4.2 requests/s".
func (c *Capacity) Title(level float64) string {
	if c.Variable == runlog.VariableConcurrency {
		return words.Counted(int(level), "user")
	}
	return strconv.FormatFloat(level, 'g', -1, 64) + " requests/s"
}

// level is a level with the steps of its trials.
func (c *Capacity) level(r *Report, of capacity.Level, steps []int, whys []string) CapacityLevel {
	l := CapacityLevel{Level: of.Level, Verdict: of.Verdict, Told: -1}
	var told []*Step
	for _, i := range of.Trials {
		s := &r.Steps[steps[i]]
		l.Steps = append(l.Steps, steps[i])
		if c.Trials[i].Verdict == of.Verdict {
			told = append(told, s)
		}
		if of.Verdict == capacity.Void {
			l.Why = whys[i]
		}
	}
	slices.SortStableFunc(told, func(a, b *Step) int { return cmp.Compare(a.excess(), b.excess()) })
	if of.Verdict != capacity.Void {
		middle := told[(len(told)-1)/2]
		l.Told = slices.IndexFunc(l.Steps, func(n int) bool { return &r.Steps[n] == middle })
		l.Told = l.Steps[l.Told]
	}
	return l
}

// excess is the most of a step's figures over their limits.
func (s *Step) excess() float64 {
	most := 0.0
	for _, h := range s.Held {
		if h.Known {
			most = max(most, h.Excess())
		}
	}
	return most
}

// clientWas is why a step says nothing of the server.
const clientWas = "the load generator was the limit: "

// outcome says whether a step met its limits, and why it does not tell: a clause. A
// load generator that was the limit tells nothing of the server, a load that was short or
// not steady nothing of its level, unless it was the server that could not bear it.
func (s *Step) outcome() (o capacity.Outcome, why string) {
	missed := capacity.Outcome{Verdict: capacity.Missed}
	switch {
	case s.ClientLimit != "":
		return o, clientWas + s.ClientLimit
	case s.Unreached > 0:
		return o, "the server could not be reached at its end"
	case s.Lost > 0 && s.Lost == s.Account.Failures() && s.Account.Succeeded > 0: // as of a server that ends
		return o, "answers were cut at its end, and none before"
	case len(s.Held) == 0:
		return o, "no limit is known"
	case s.Overloaded() && s.Short == "":
		return missed, ""
	case s.Steady == nil || s.Short != "":
		for _, h := range s.Held { // who is refused is back at once, so that few are in flight
			if h.Name == runlog.LimitFailures && h.Known && h.Missed() {
				missed.Near = h.Near()
				return missed, ""
			}
		}
		if s.Steady == nil && !s.Overloaded() {
			return o, "the load never was steady, as " + s.NotSteady
		}
		return o, clientWas + s.Short
	}
	sure, near := false, false
	for _, h := range s.Held {
		if !h.Known {
			why = "no request has a " + h.Label()
			continue
		}
		sure = sure || h.Missed() && !h.Near()
		near = near || h.Near()
	}
	switch {
	case s.excess() > 1:
		o.Verdict, why = capacity.Missed, ""
	case why != "":
		return o, why
	default:
		o.Verdict = capacity.Met
	}
	o.Near = near && !sure
	return o, why
}

// binding is what a step misses.
func binding(s *Step) string {
	name, most := BindingBacklog, 1.0
	for _, h := range s.Held {
		if h.Known && h.Excess() > most {
			name, most = h.Name, h.Excess()
		}
	}
	return name
}

// changeNote says that the server is not what it was.
func (c *Capacity) changeNote() string {
	first, then := "met", "missed"
	if l := c.At(c.Changed); l != nil && l.Verdict == capacity.Met {
		first, then = then, first
	}
	return fmt.Sprintf("The server's capacity changed while it was measured: %s %s the objectives at first and %s them later. "+
		"The answer is of what came last: see that nothing else uses the server, and measure again.", c.Title(c.Changed), first, then)
}
