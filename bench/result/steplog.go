package result

import (
	"io"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// StepLog is what one load generator logged of one step.
type StepLog struct {
	Run      runlog.Run
	Step     runlog.Step
	Requests []runlog.Request // in the order in which they were over
	Samples  []runlog.Sample
	End      *runlog.StepEnd // nil where the run was killed
}

// NewStep makes the figures of a step from the logs of all load generators that took
// part in it. Without logs it is the zero Step.
func NewStep(opts Options, logs ...StepLog) Step {
	sources := make([]source, len(logs))
	for i, l := range logs {
		sources[i] = source{name: l.Run.Host, open: func(at runlog.Position) (records, error) {
			return &memoryReader{run: l.Run, records: l.records(), next: int(at.Offset)}, nil
		}}
	}
	f, err := follow(opts, sources)
	if err != nil {
		return Step{}
	}
	r, err := f.Report()
	if err != nil || len(r.Steps) == 0 {
		return Step{}
	}
	return r.Steps[0]
}

func (l *StepLog) records() []runlog.Record {
	all := []runlog.Record{{Step: &l.Step}}
	for i := range l.Requests {
		all = append(all, runlog.Record{Request: &l.Requests[i]})
	}
	for i := range l.Samples {
		all = append(all, runlog.Record{Sample: &l.Samples[i]})
	}
	if l.End != nil {
		all = append(all, runlog.Record{StepEnd: l.End})
	}
	return slices.Concat(all, []runlog.Record{{RunEnd: &runlog.RunEnd{}}})
}

// memoryReader reads the records of a [StepLog].
type memoryReader struct {
	run     runlog.Run
	records []runlog.Record
	next    int
}

func (r *memoryReader) Run() runlog.Run           { return r.run }
func (r *memoryReader) Damaged() int              { return 0 }
func (r *memoryReader) Close() error              { return nil }
func (r *memoryReader) Position() runlog.Position { return runlog.Position{Offset: int64(r.next - 1)} }

func (r *memoryReader) Next() (runlog.Record, error) {
	if r.next == len(r.records) {
		return runlog.Record{}, io.EOF
	}
	r.next++
	return r.records[r.next-1], nil
}
