package sweep

import (
	"context"
	"fmt"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// warmUpUsers is how many requests of a warm-up are in flight where the step has
// no such number.
const warmUpUsers = 64

// warmUp sends the requests that a step asks for before it, as many at once as the
// step itself, and keeps nothing of them: they are in no log and in no figure. That
// they fail does not end the run: what ails the server, the step itself will show.
func (r *run) warmUp(ctx context.Context, s runlog.Step) error {
	if s.Warmups == 0 {
		return nil
	}
	source, err := dataset.Open(r.warmUpDataset(s))
	if err != nil {
		return err
	}
	defer source.Close()
	var first *openai.Failure
	failed := 0
	runner := load.Runner{
		Send: func(ctx context.Context, j load.Job) *openai.Trace {
			q := r.request(s, j)
			q.RequestID = "" // those with a prefix are the step's
			return r.client.Stream(ctx, q)
		},
		Done: func(q *runlog.Request) error {
			if f := q.Trace.Failure; f != nil {
				if failed++; failed == 1 {
					first = f
				}
			}
			return nil
		},
	}
	_, err = runner.Run(ctx, load.Plan{Step: warmUpStep(s), ReadAhead: r.readAhead}, source)
	switch {
	case ctx.Err() != nil: // which the step tells
		return nil
	case err != nil:
		return fmt.Errorf("warming up: %w", err)
	case failed > 0:
		r.note("%d of the %d requests before step %s, to warm up, failed; at first: %v", failed, s.Warmups, s.Name(), first)
	}
	return nil
}

// warmUpStep is the load of the warm-up before s.
func warmUpStep(s runlog.Step) runlog.Step {
	users := s.Concurrency
	if s.MaxConcurrency > 0 && (users == 0 || users > s.MaxConcurrency) {
		users = s.MaxConcurrency
	}
	if users == 0 {
		users = warmUpUsers
	}
	return runlog.Step{
		Index: s.Index, Arrival: runlog.ArrivalClosed, Concurrency: min(users, s.Warmups), Requests: s.Warmups, Timeout: s.Timeout,
	}
}

// warmUpDataset is where the prompts of a warm-up come from: the step's own, but
// with nonces that it has not, so that the server gets none of the measured prompts
// into its cache.
func (r *run) warmUpDataset(s runlog.Step) dataset.Config {
	d := r.dataset(s)
	d.RunID += "-warm-up"
	d.ReusePrompts = false
	return d
}
