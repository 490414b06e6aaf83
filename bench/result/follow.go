package result

import (
	"cmp"
	"math"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Follower makes reports of logs that grow, each of which costs no more than what is
// new and one step. It keeps the steps that are over in every log, as another one has
// begun, and reads on from where the first of the others begins.
type Follower struct {
	opts  Options
	logs  []source
	from  []place // of each log, where the steps begin that are not in steps
	steps []Step
}

// Follow follows the logs at paths, as Read reads them.
func Follow(opts Options, paths ...string) (*Follower, error) {
	files, err := runlog.Find(paths...)
	if err != nil {
		return nil, err
	}
	logs := make([]source, len(files))
	for i, file := range files {
		logs[i] = source{name: file, open: func(at runlog.Position) (records, error) { return runlog.OpenAt(file, at) }}
	}
	return follow(opts, logs)
}

func follow(opts Options, logs []source) (*Follower, error) {
	ps, err := percentiles(opts.Percentiles, opts.Chosen)
	if err != nil {
		return nil, err
	}
	opts.Percentiles, opts.MaxExact = ps, cmp.Or(max(0, opts.MaxExact), defaultMaxExact)
	return &Follower{opts: opts, logs: logs, from: make([]place, len(logs))}, nil
}

// Report is of the logs as they are now, the same as Read makes of them. Reports share
// what their steps point to.
//
// It reads the logs twice: first for when requests were in flight, which the windows
// are made of, then for the figures, one step of all logs after the other, so that the
// samples of one step alone are in memory.
func (f *Follower) Report() (*Report, error) {
	outlines := make([]*outline, len(f.logs))
	r := &Report{Complete: true}
	var err error
	for i, log := range f.logs {
		if outlines[i], err = survey(log, f.from[i]); err != nil {
			return nil, err
		}
		r.Runs = append(r.Runs, outlines[i].run)
		r.Complete = r.Complete && outlines[i].complete
		r.Damaged += outlines[i].damaged
	}
	if len(f.steps) == 0 { // else they were one load already
		if err := joinable(outlines); err != nil {
			return nil, err
		}
	}
	opts, differ, err := f.opts.settled(r.Runs)
	if err != nil {
		return nil, err
	}
	r.Objectives, r.ObjectivesDiffer, r.Chosen = opts.Goodput, differ, opts.Chosen
	steps, err := join(outlines)
	if err != nil {
		return nil, err
	}
	r.NotRun = notRun(outlines[0].run, steps)
	further, err := figuresOf(opts, outlines, steps)
	if err != nil {
		return nil, err
	}
	r.Steps = slices.Concat(f.steps, further)
	names := map[string]bool{}
	for i := range r.Steps {
		r.Steps[i].Name = unique(r.Steps[i].Step.Name(), names)
	}
	r.Capacity = capacityOf(r)
	f.keep(outlines, r.Steps)
	return r, nil
}

// keep keeps the steps that are over in every log: nothing more can come of them.
func (f *Follower) keep(logs []*outline, steps []Step) {
	open := math.MaxInt // the first step that is not over
	for _, o := range logs {
		open = min(open, o.sections[len(o.sections)-1].step.Index)
	}
	for i, o := range logs {
		n := slices.IndexFunc(o.sections, func(s *section) bool { return s.step.Index >= open })
		f.from[i] = o.sections[n].begins
	}
	n := slices.IndexFunc(steps, func(s Step) bool { return s.Index >= open })
	f.steps = append(f.steps, steps[len(f.steps):n]...)
}
