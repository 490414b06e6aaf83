package result

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
	f, err := Follow(opts, paths...)
	if err != nil {
		return nil, err
	}
	return f.Report()
}

// records are the lines of one log, after its first; [runlog.Reader] says how.
type records interface {
	Run() runlog.Run
	Next() (runlog.Record, error)
	Position() runlog.Position
	Damaged() int
	io.Closer
}

// source is a log that can be read more than once, from any of its records on.
type source struct {
	name string // for errors
	open func(at runlog.Position) (records, error)
}

// place is where a step begins in a log, and what the log told until there. The zero
// place is the log's beginning.
type place struct {
	at    runlog.Position
	index int  // of the step
	lost  int  // lines that could not be read, or belong to no step
	ended bool // the log's last line was read
}

// cursor walks through a log step by step.
type cursor struct {
	in   records
	most int          // records to read, no matter how many have come since
	read int          // records read
	next *runlog.Step // whose records come next, nil at the end
	here place        // where next begins
	// stray counts lines that were lost before in began, and requests that belong to
	// no step: the line of their step could not be read.
	stray int
	ended bool // the log's last line was read
}

// newCursor stands before the step that begins at from, which in was opened at, or
// before the first of the log.
func newCursor(in records, from place, most int) (*cursor, error) {
	c := &cursor{in: in, most: most, stray: from.lost, ended: from.ended}
	if err := c.walk(-1, func(runlog.Record) {}); err != nil {
		return nil, err
	}
	if from != (place{}) && c.here != from {
		return nil, errChanged
	}
	return c, nil
}

// lost are the lines so far that are in no step.
func (c *cursor) lost() int { return c.in.Damaged() + c.stray }

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
			c.here = place{at: c.in.Position(), index: c.next.Index, lost: c.lost(), ended: c.ended}
			return nil
		case rec.RunEnd != nil:
			c.ended = true
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
