package report

import (
	"errors"
	"fmt"
	"io"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Read makes the report of the logs at paths, which [runlog.Find] understands:
// of one run, or of several that put load on the same endpoint at the same time
// and are one load together. It reads every log twice, so that none can be a
// pipe, and keeps 16 bytes for each request and the samples that
// [Options.MaxExact] allows for one step.
//
// It fails when a log cannot be read, when there is nothing to report, and when
// several logs are not one load.
func Read(opts Options, paths ...string) (*Report, error) {
	files, err := runlog.Find(paths...)
	if err != nil {
		return nil, err
	}
	logs := make([]source, len(files))
	for i, file := range files {
		logs[i] = source{name: file, open: func() (records, error) { return runlog.Open(file) }}
	}
	return aggregate(opts, logs)
}

// records are the lines of one log, after its first; [runlog.Reader] says how.
type records interface {
	Run() runlog.Run
	Next() (runlog.Record, error)
	Damaged() int
	io.Closer
}

// source is a log that can be read more than once.
type source struct {
	name string // for errors
	open func() (records, error)
}

// cursor walks through a log step by step.
type cursor struct {
	in   records
	most int          // records to read, no matter how many have come since
	read int          // records read
	next *runlog.Step // whose records come next, nil at the end
	// stray counts requests that belong to no step: the line of their step could
	// not be read. ended is the log's last line.
	stray int
	ended *runlog.RunEnd
}

// newCursor stands before the first step of the log.
func newCursor(in records, most int) (*cursor, error) {
	c := &cursor{in: in, most: most}
	return c, c.walk(-1, func(runlog.Record) {})
}

// step calls f with every record of the step that comes next, until another one
// begins or the log ends.
func (c *cursor) step(f func(runlog.Record)) error { return c.walk(c.next.Index, f) }

func (c *cursor) walk(index int, f func(runlog.Record)) error {
	c.next = nil
	for c.read < c.most {
		rec, err := c.in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		c.read++
		switch {
		case rec.Step != nil:
			if rec.Step.Index <= index {
				return fmt.Errorf("step %d begins after step %d", rec.Step.Index, index)
			}
			c.next = rec.Step
			return nil
		case rec.RunEnd != nil:
			c.ended = rec.RunEnd
		case rec.Request != nil && rec.Request.Step != index:
			c.stray++
		case rec.Sample != nil && rec.Sample.Step != index, rec.StepEnd != nil && rec.StepEnd.Step != index:
			// of a step whose line could not be read
		default:
			f(rec)
		}
	}
	return nil
}
