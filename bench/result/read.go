package result

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

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
	overs  []time.Time // the last instant known of each run
	steps  []*stepData // in the order of their index
}

// logReading is what is read of one of them.
type logReading struct {
	*reading
	run      runlog.Run
	step     *stepData // that began last, nil before the first
	part     *part     // of this log
	over     time.Time // the last instant known
	complete bool
}

// read adds a log.
func (a *reading) read(file string) error {
	in, err := runlog.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	l := &logReading{reading: a, run: in.Run(), over: in.Run().Started}
	if err := a.joinable(l.run); err != nil {
		return err
	}
	a.report.Runs, a.files = append(a.report.Runs, l.run), append(a.files, file)
	for err == nil {
		var rec runlog.Record
		if rec, err = in.Next(); err == nil {
			err = l.take(rec)
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	if l.step == nil {
		return errors.New("its run ended before the first step began")
	}
	a.overs = append(a.overs, l.over)
	a.report.Damaged += in.Damaged()
	a.report.Complete = a.report.Complete && l.complete
	return nil
}

// take adds a record. One whose step could not be read is left out.
func (l *logReading) take(rec runlog.Record) (err error) {
	of := func(step int) bool { return l.step != nil && step == l.part.step.Index }
	switch {
	case rec.RunEnd != nil:
		l.complete = true
	case rec.Step != nil:
		l.step, l.part, err = l.begin(l.run, *rec.Step)
	case rec.Request != nil && !of(rec.Request.Step):
		l.report.Damaged++
	case rec.Request != nil:
		l.step.request(l.part, rec.Request)
		if over := rec.Request.Trace.Started.Add(rec.Request.Trace.End); over.After(l.over) {
			l.over = over
		}
	case rec.Sample != nil && of(rec.Sample.Step):
		l.step.sample(l.part, rec.Sample)
	case rec.StepEnd != nil && of(rec.StepEnd.Step):
		l.part.end = rec.StepEnd
	}
	return err
}

// begin begins a step of a log.
func (a *reading) begin(run runlog.Run, s runlog.Step) (*stepData, *part, error) {
	i, found := slices.BinarySearchFunc(a.steps, s.Index, func(d *stepData, index int) int { return d.step.Index - index })
	if !found {
		a.steps = slices.Insert(a.steps, i, newStepData())
	}
	d := a.steps[i]
	if found && !sameLevel(d.parts[0].step, s) {
		return nil, nil, fmt.Errorf("step %d is %s, and %s in %s: %s", s.Index, s.Name(), d.parts[0].step.Name(), a.files[0], advice)
	}
	return d, d.begin(run, s), nil
}

func sameLevel(a, b runlog.Step) bool {
	return a.Arrival == b.Arrival && a.Concurrency == b.Concurrency && a.MaxConcurrency == b.MaxConcurrency &&
		a.Rate == b.Rate && a.Burstiness == b.Burstiness && a.Repeat == b.Repeat
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

// together fails when a run began after another was over.
func (a *reading) together() error {
	for i, over := range a.overs {
		for k, run := range a.report.Runs {
			if run.Started.After(over) {
				return fmt.Errorf("%s and %s are not one load: one was over at %s, the other began at %s: %s",
					a.files[i], a.files[k], over.UTC().Format(time.RFC3339), run.Started.UTC().Format(time.RFC3339), advice)
			}
		}
	}
	return nil
}

// end makes the report of all that was read.
func (a *reading) end(opts Options) (*Report, error) {
	r := &a.report
	if err := a.together(); err != nil {
		return nil, err
	}
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
	r.NotRun = notRun(r.Runs[0], r.Steps)
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

// notRun are the steps that a run had planned and that come after all that began.
func notRun(r runlog.Run, steps []Step) []string {
	taken := map[string]bool{}
	var left []string
	for i, name := range r.Steps {
		if name = unique(name, taken); i > steps[len(steps)-1].Index {
			left = append(left, name)
		}
	}
	return left
}
