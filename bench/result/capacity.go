package result

import (
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
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
	// Unfinished is true where the run ended before the search.
	Unfinished bool
}

// CapacityLevel is one level of load with all its runs.
type CapacityLevel struct {
	Level float64 `json:"level"`
	Met   *bool   `json:"met"`   // nil where it could not be judged
	Steps []int   `json:"steps"` // of [Report.Steps], in the order in which they were run
	// Why says of a level that could not be judged why not, in a clause.
	Why string `json:"not_judged,omitempty"`
	// Shown is the step whose figures stand for the level, the last one with its verdict.
	Shown int `json:"-"`
}

// newCapacity is nil where nothing was searched for.
func newCapacity(r *Report) *Capacity {
	if len(r.Runs) != 1 || r.Runs[0].Capacity == nil {
		return nil
	}
	run := r.Runs[0].Capacity
	c := &Capacity{Variable: run.Variable, Unfinished: !r.Complete}
	for _, l := range run.Objectives {
		c.Limits = append(c.Limits, Limit(l))
	}
	trials, steps := c.trials(r)
	c.Answer = NewRange(run).Answer(trials)
	c.AtLeast = c.AtLeast || c.Unfinished && c.Value > 0
	for _, l := range c.Answer.Levels {
		level := CapacityLevel{Level: l.Level}
		if l.Verdict != capacity.Void {
			level.Met = new(l.Verdict == capacity.Met)
		}
		for _, t := range l.Trials {
			level.Steps = append(level.Steps, steps[t])
			if trials[t].Verdict == l.Verdict {
				level.Shown = steps[t]
				_, level.Why = r.Steps[level.Shown].Verdict()
			}
		}
		c.Levels = append(c.Levels, level)
	}
	if l := c.At(c.FailedAt); l != nil {
		c.Binding = r.Steps[l.Shown].binding()
	}
	return c
}

// trials are what the steps say, and the number of the step of each; a step that ends the
// search is none.
func (c *Capacity) trials(r *Report) (trials []capacity.Trial, steps []int) {
	for i := range r.Steps {
		s := &r.Steps[i]
		if s.Account.Attempted == 0 || s.EndsSearch() {
			c.Unfinished = true
			continue
		}
		verdict, _ := s.Verdict()
		trials = append(trials, capacity.Trial{Level: c.level(s), Verdict: verdict})
		steps = append(steps, i)
	}
	return trials, steps
}

// NewRange is the range of a search as its log has it.
func NewRange(c *runlog.Capacity) capacity.Range {
	return capacity.Range{
		From: c.From, To: c.To, Whole: c.Variable == runlog.VariableConcurrency, Precision: c.Precision, Repeat: c.Repeat,
	}
}

// level is the load of a step as the search counts it.
func (c *Capacity) level(s *Step) float64 {
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

// EndsSearch reports whether a step of a search says that there is no other: it was cut
// short, the server could not be reached any more, or none of its requests got any text,
// as from a server that hangs.
func (s *Step) EndsSearch() bool {
	switch s.Stop {
	case "", runlog.StopInterrupted, runlog.StopUnreachable:
		return true
	}
	return s.Silent > 0 && s.Silent == s.Account.Succeeded+s.Account.Failures()
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
		case h.Missed() && (isSteady || h.Name == runlog.LimitFailures):
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

// binding is what a step misses by most.
func (s *Step) binding() string {
	name, most := BindingBacklog, 1.0
	for _, h := range s.Held {
		if h.Known && h.Excess() > most {
			name, most = h.Name, h.Excess()
		}
	}
	return name
}
