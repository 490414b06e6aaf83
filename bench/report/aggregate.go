package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// aggregate reads every log twice: first for when requests were in flight, which
// the windows are made of, then for the figures, one step of all logs after the
// other, so that the samples of one step alone are in memory.
func aggregate(opts Options, logs []source) (*Report, error) {
	ps, err := percentiles(opts.Percentiles, opts.Chosen)
	if err != nil {
		return nil, err
	}
	opts.MaxExact = cmp.Or(max(0, opts.MaxExact), defaultMaxExact)
	outlines := make([]*outline, len(logs))
	r := &Report{Complete: true}
	for i, log := range logs {
		if outlines[i], err = survey(log); err != nil {
			return nil, err
		}
		r.Runs = append(r.Runs, outlines[i].run)
		r.Complete = r.Complete && outlines[i].complete
		r.Damaged += outlines[i].damaged
	}
	if err := joinable(outlines); err != nil {
		return nil, err
	}
	if opts.AsRun {
		r.ObjectivesDiffer = opts.adopt(r.Runs)
	}
	opts.limits = limitsOf(r.Runs)
	if opts.Percentiles, err = percentiles(ps, slices.Concat(opts.Chosen, percentilesOf(opts.limits))); err != nil {
		return nil, err
	}
	if len(opts.Chosen) == 0 {
		opts.Chosen = []float64{usualPercentile}
	}
	r.Objectives, r.Chosen = opts.Goodput, opts.Chosen
	steps, err := join(outlines)
	if err != nil {
		return nil, err
	}
	r.NotRun = notRun(outlines[0].run, steps)
	if r.Steps, err = figuresOf(opts, outlines, steps); err != nil {
		return nil, err
	}
	r.Capacity = capacityOf(r)
	return r, nil
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
		in, err := o.open()
		if err != nil {
			return nil, fmt.Errorf("reading a second time: %w", err)
		}
		defer in.Close()
		if o.again, err = newCursor(in, o.records); err != nil {
			return nil, fmt.Errorf("reading %s: %w", o.name, err)
		}
	}
	names := map[string]bool{}
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
		reported[i].Name = unique(j.step.Name(), names)
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
