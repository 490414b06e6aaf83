package result

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Read makes the report of the logs at paths, which [runlog.Find] understands:
// of one run, or of several that put load on the same endpoint at the same time
// and are one load together. It fails when a log cannot be read, when there is nothing
// to report, and when several logs are not one load.
func Read(opts Options, paths ...string) (*Report, error) {
	files, err := runlog.Find(paths...)
	if err != nil {
		return nil, err
	}
	all := &reading{report: Report{Complete: true}}
	for _, file := range files {
		if err := all.read(file); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
	}
	return all.end(opts)
}

// reading is what is read of the logs of one load.
type reading struct {
	report Report
	files  []string
	steps  []*stepData // in the order of their index
}

// read adds a log.
func (a *reading) read(file string) error {
	in, err := runlog.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := a.joinable(in.Run()); err != nil {
		return err
	}
	a.report.Runs, a.files = append(a.report.Runs, in.Run()), append(a.files, file)
	complete := false
	var last *part // of the step that began last
	for err == nil {
		var rec runlog.Record
		rec, err = in.Next()
		switch {
		case rec.Step != nil:
			last, err = a.begin(in.Run(), *rec.Step)
		case last != nil:
			last.take(rec)
			complete = complete || rec.RunEnd != nil
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	if last == nil {
		return errors.New("its run ended before the first step began")
	}
	a.report.Damaged += in.Damaged()
	a.report.Complete = a.report.Complete && complete
	return nil
}

// begin begins a step of a log.
func (a *reading) begin(run runlog.Run, s runlog.Step) (*part, error) {
	i, found := slices.BinarySearchFunc(a.steps, s.Index, func(d *stepData, index int) int { return d.step.Index - index })
	if !found {
		a.steps = slices.Insert(a.steps, i, newStepData())
	} else if first := a.steps[i].parts[0].step; first.Name() != s.Name() {
		return nil, fmt.Errorf("step %d is %s, and %s in %s: %s", s.Index, s.Name(), first.Name(), a.files[0], advice)
	}
	return a.steps[i].begin(run, s), nil
}

// advice ends the errors of logs that are not one load.
const advice = "give one run, or several that were one load; accelbench compare sets others side by side"

// joinable says why a run is not one load with those before it, nil when it is.
func (a *reading) joinable(run runlog.Run) error {
	for i, other := range a.report.Runs {
		switch {
		case other.ID == run.ID:
			return fmt.Errorf("%s holds the same run: give it once", a.files[i])
		case other.Side != run.Side || other.Model != run.Model || other.URL != run.URL || other.API != run.API:
			return fmt.Errorf("it is of %s %s (%s), and %s of %s %s (%s): %s",
				run.Model, run.URL, run.Side, a.files[i], other.Model, other.URL, other.Side, advice)
		}
	}
	return nil
}

// end makes the report of all that was read.
func (a *reading) end(opts Options) (*Report, error) {
	r := &a.report
	opts, err := opts.settled(r.Runs)
	if err != nil {
		return nil, err
	}
	r.Objectives, r.Chosen = opts.Goodput, opts.Chosen
	names := map[string]bool{}
	for i, d := range a.steps {
		s := d.report(opts)
		s.Name = unique(s.Step.Name(), names)
		r.Steps = append(r.Steps, s)
		a.steps[i] = nil // its memory is for the next step
	}
	planned, began := r.Runs[0].Steps, r.Steps[len(r.Steps)-1].Index+1
	r.NotRun = slices.Clone(planned[min(began, len(planned)):])
	r.Capacity = newCapacity(r)
	return r, nil
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
