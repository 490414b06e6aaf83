package result

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// settled are the options with what the runs tell and nobody gave; differ is true where
// the runs had different objectives.
func (o Options) settled(runs []runlog.Run) (all Options, differ bool, err error) {
	if o.AsRun {
		differ = o.adopt(runs)
	}
	o.limits = limitsOf(runs)
	o.Percentiles, err = percentiles(o.Percentiles, slices.Concat(o.Chosen, percentilesOf(o.limits)))
	if len(o.Chosen) == 0 {
		o.Chosen = []float64{usualPercentile}
	}
	return o, differ, err
}

// adopt takes what is not given from the runs' heads, and reports whether their
// objectives differ, which are then none.
func (o *Options) adopt(runs []runlog.Run) (differ bool) {
	first := runs[0]
	if len(o.Chosen) == 0 {
		o.Chosen = first.Percentiles
	}
	if o.Goodput.Any() {
		return false
	}
	had := func(r runlog.Run) (all runlog.Objectives) {
		if r.Objectives != nil {
			all = *r.Objectives
		}
		return all
	}
	for _, r := range runs[1:] {
		if had(r) != had(first) {
			return true
		}
	}
	o.Goodput = Objectives(had(first))
	return false
}

// figuresOf reads the logs for the second time.
func figuresOf(opts Options, logs []*outline, steps []*joined) ([]Step, error) {
	for _, o := range logs {
		in, err := o.open(o.from.at)
		if err != nil {
			return nil, fmt.Errorf("reading a second time: %w", err)
		}
		defer in.Close()
		if o.again, err = newCursor(in, o.from, o.records); err != nil {
			return nil, fmt.Errorf("reading %s: %w", o.name, err)
		}
	}
	reported := make([]Step, len(steps))
	for i, j := range steps {
		g := newGather(opts, logs, j)
		for k, p := range j.parts {
			if err := g.read(k, p.log.again); err != nil {
				return nil, fmt.Errorf("reading %s: %w", p.log.name, err)
			}
			p.curve = curve{} // its memory is for the next step
		}
		reported[i] = g.report()
	}
	return reported, nil
}

// unique makes a name unlike those taken.
func unique(name string, taken map[string]bool) string {
	free := name
	for n := 2; taken[free]; n++ {
		free = name + " #" + strconv.Itoa(n)
	}
	taken[free] = true
	return free
}

// notRun are the steps that a run had planned and that come after all that began.
func notRun(r runlog.Run, steps []*joined) []string {
	begun, taken := 0, map[string]bool{}
	for _, j := range steps {
		begun = max(begun, j.step.Index+1)
	}
	var left []string
	for i, name := range r.Steps {
		if name = unique(name, taken); i >= begun {
			left = append(left, name)
		}
	}
	return left
}
