package result

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	median          = 50
	usualPercentile = 99 // where none was asked for
)

// Options say how a report is made.
type Options struct {
	// Percentiles are those that were asked for, each above 0 and below 100; those of the
	// run or else 99 when empty. Tables show them beside 50 and 90.
	Percentiles []float64
	// Goodput is what each good request meets, what the run had when empty.
	Goodput runlog.Objectives

	objectives []openai.Objective // of the search that chose the steps, or those that each step is judged by
	isSearch   bool
	computed   []float64 // percentiles: those asked for, of objectives and of evalscope
}

// withDefaults fills in what was not given from the runs, the first one where they differ.
func (o Options) withDefaults(runs []runlog.Run) Options {
	first := runs[0]
	if len(o.Percentiles) == 0 {
		o.Percentiles = first.Percentiles
	}
	if len(o.Percentiles) == 0 {
		o.Percentiles = []float64{usualPercentile}
	}
	if len(o.Goodput) == 0 {
		o.Goodput = first.Objectives
	}
	o.objectives = first.SLO
	if (len(runs) == 1 || first.Machines > 0) && first.Capacity != nil {
		o.objectives, o.isSearch = first.Capacity.Objectives, true
	}
	all := slices.Concat([]float64{median, 66, 75, 80, 90, 95, 98, usualPercentile}, o.Percentiles)
	for _, objective := range o.objectives {
		all = append(all, objective.Percentile)
	}
	all = slices.DeleteFunc(all, func(p float64) bool { return !(p > 0 && p < 100) }) // objectives of all requests, damage
	slices.SortFunc(all, cmp.Compare[float64])
	o.computed = slices.Compact(all)
	return o
}

// Read makes the report of the logs at paths, which [runlog.Find] understands: of one run, or of several that are one
// load together. It fails when a log cannot be read, when nothing is to be reported, and when they are not one load.
func Read(opts Options, paths ...string) (*Report, error) {
	files, err := runlog.Find(paths...)
	if err != nil {
		return nil, err
	}
	all := reading{last: map[int]*part{}}
	for _, file := range files {
		damaged, err := runlog.Read(file, all.take)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		all.report.Damaged += damaged
	}
	return all.end(opts)
}

// NewReport is [Read] of records that are at hand: a run's, then those of its steps.
func NewReport(opts Options, records []runlog.Record) (*Report, error) {
	all := reading{last: map[int]*part{}}
	for _, rec := range records {
		if err := all.take(rec); err != nil {
			return nil, err
		}
	}
	return all.end(opts)
}

// reading is what is read of the logs of one load.
type reading struct {
	report Report
	steps  []*stepData   // in the order of their index
	last   map[int]*part // by rank, of the step that began last
	ended  int           // logs that have an end
}

// advice ends the errors of logs that are not one load.
const advice = "give one run, or several that were one load; accelbench compare sets others side by side"

// take adds a record to those of its log, which begins with a run, or says why it is not one load with those before it.
func (a *reading) take(rec runlog.Record) error {
	last := a.last[rec.Rank]
	isOpen := func(step int) bool { // else the line that began it could not be read
		return last != nil && last.step.Index == step
	}
	switch {
	case rec.Run != nil:
		for _, other := range a.report.Runs {
			switch run := rec.Run; {
			case other.ID == run.ID:
				return errors.New("the same run was read before: give it once")
			case other.Machines != run.Machines || other.Machines > 0 && other.Rank == run.Rank:
				return fmt.Errorf("it is machine %d of %d, but the log of %s is %d of %d: %s", run.Rank, run.Machines, other.Host, other.Rank, other.Machines, advice)
			case other.Side != run.Side || other.Model != run.Model || other.URL != run.URL || other.API != run.API:
				return fmt.Errorf("it is of %s, but the log of %s is of %s: %s", endpointText(run), other.Host, endpointText(&other), advice)
			}
		}
		a.report.Runs = append(a.report.Runs, *rec.Run)
		a.last[rec.Rank] = &part{run: *rec.Run, step: runlog.Step{Index: -1}}
	case rec.Step != nil && last != nil:
		begun, err := a.begin(last.run, *rec.Step)
		a.last[rec.Rank] = begun
		return err
	case rec.RunEnd != nil:
		a.ended++
	case rec.Request != nil && isOpen(rec.Request.Step):
		last.request(rec.Request)
	case rec.Sample != nil && isOpen(rec.Sample.Step):
		last.sample(rec.Sample)
	case rec.StepEnd != nil && isOpen(rec.StepEnd.Step):
		last.end = rec.StepEnd
	}
	return nil
}

func endpointText(run *runlog.Run) string {
	text := fmt.Sprintf("%s at %s, API %s", run.Model, run.URL, run.API)
	if run.Side != "" {
		text += ", side " + run.Side
	}
	return text
}

func (a *reading) begin(run runlog.Run, s runlog.Step) (*part, error) {
	const maxSteps = 1 << 20
	if s.Index < 0 || s.Index > maxSteps || min(s.Rate, s.Burstiness, float64(s.RampUp), float64(s.Concurrency)) < 0 {
		return nil, fmt.Errorf("step %d is damaged", s.Index)
	}
	i, found := slices.BinarySearchFunc(a.steps, s.Index, func(d *stepData, index int) int { return d.Index - index })
	if !found {
		a.steps = slices.Insert(a.steps, i, &stepData{Step: Step{FailedAs: map[openai.Reason]string{}, Checks: Checks{TokensBy: map[openai.TokenSource]int{}}}})
	} else if first, own := a.steps[i].parts[0].step.Label(false).Short, s.Label(false).Short; first != own {
		return nil, fmt.Errorf("step %d is %s, and %s in the first log: %s", s.Index, own, first, advice)
	}
	return a.steps[i].begin(run, s), nil
}

// checkOverlap says which machines did not put on the step together: at the same time for half of the shorter one's.
func (d *stepData) checkOverlap() error {
	const minOverlap = 0.5
	if d.parts[0].run.Machines > 0 { // which began at one instant
		return nil
	}
	for i, p := range d.parts {
		for _, q := range d.parts[:i] {
			both := span{max(p.sending.from, q.sending.from), min(p.sending.to, q.sending.to)}
			shorter := min(p.sending.seconds(), q.sending.seconds())
			if shorter > 0 && both.seconds() < minOverlap*shorter {
				return fmt.Errorf("step %s: %s sent from %s and %s from %s, so they were not one load: put it on by --lead, or give each a report",
					d.Step.Step.Label(false).Short, q.run.Host, q.step.Started.Format(time.DateTime), p.run.Host, p.step.Started.Format(time.DateTime))
			}
		}
	}
	return nil
}

func (a *reading) end(opts Options) (*Report, error) {
	if len(a.steps) == 0 {
		return nil, errors.New("the run ended before the first step began")
	}
	r := &a.report
	opts = opts.withDefaults(r.Runs)
	r.Objectives, r.Percentiles = opts.Goodput, opts.Percentiles
	for i, d := range a.steps {
		if err := d.checkOverlap(); err != nil {
			return nil, err
		}
		r.Steps = append(r.Steps, d.report(opts))
		a.steps[i] = nil // its memory is for the next step
	}
	r.Complete = a.ended+len(r.Steps[len(r.Steps)-1].Lost) >= len(r.Runs)
	planned, began := r.Runs[0].Steps, r.Steps[len(r.Steps)-1].Index+1
	r.NotRun = slices.Clone(planned[min(began, len(planned)):])
	return r, nil
}
