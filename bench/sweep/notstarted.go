package sweep

import (
	"context"
	"errors"
	"fmt"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/side"
)

// notStartedError is that a side's server could not be started. The other sides can be
// measured nevertheless.
type notStartedError struct {
	error
	// reason is the error in one line, without what the command printed: that may hold
	// keys, and the reason is kept where others may read it.
	reason string
}

func notStarted(err error) error {
	reason := "it could not be run"
	if ended, ok := errors.AsType[*side.EndedError](err); ok {
		reason = "its command ended with " + ended.How
	}
	return &notStartedError{err, reason}
}

// afterStop is the error of a turn whose command was stopped. What could not be stopped is
// in the way of the other sides too, so that none is given up for it alone.
func afterStop(err, stopped error) error {
	switch {
	case stopped == nil:
		return err
	case err == nil:
		return stopped
	}
	return fmt.Errorf("%s; %w", err.Error(), stopped)
}

// givesUp reports whether a turn ended so that its side is given up and the others go on.
// Without the first side there is nothing to hold the others against, and with it alone
// nothing to hold against it.
func (s *Sides) givesUp(ctx context.Context, err error, turn side.Turn, all Result) bool {
	_, failed := errors.AsType[*notStartedError](err)
	return failed && ctx.Err() == nil && turn.Side > 0 && len(s.Sides)-len(all.NotStarted) > 2
}

// giveUp keeps why in a log of that turn, without steps.
func (s *Sides) giveUp(folder string, turn side.Turn, why error) error {
	one, run := s.Sides[turn.Side], s.Config.Run
	if err := describe(&run, s.Config.Steps); err != nil {
		return err
	}
	failed, _ := errors.AsType[*notStartedError](why)
	run.Side = one.Name
	run.Server = &runlog.Server{
		Command: one.String(), Binding: one.Binding, Recommended: one.Recommended,
		NotStarted: fmt.Sprintf("repeat %d: %s; what it printed is in %s/%[1]d.log", turn.Repeat+1, failed.reason, one.Name),
	}
	log, err := runlog.Create(runFolder(folder, one, turn.Repeat), run)
	if err != nil {
		return err
	}
	if err := log.Close(); err != nil {
		return err
	}
	if s.GivenUp != nil {
		s.GivenUp(one, why)
	}
	return nil
}
