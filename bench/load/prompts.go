package load

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
)

// readAhead is how many prompts are made before they are needed, the first of them before
// the clock starts, so that no request is late for want of one.
const readAhead = 512

// promptQueue reads prompts ahead.
type promptQueue struct {
	jobs chan job
	// ready is closed when all that is read ahead was read, or there is no more.
	ready chan struct{}
	// err is why there are no more, nil at the limit. It is to be read when jobs is
	// closed.
	err error
}

func newPromptQueue() *promptQueue {
	return &promptQueue{jobs: make(chan job, readAhead), ready: make(chan struct{})}
}

// fill reads until the limit (0 for none), the source's end or that of ctx, which
// is no error.
func (q *promptQueue) fill(ctx context.Context, source dataset.Source, limit int) {
	defer close(q.jobs)
	ready := sync.OnceFunc(func() { close(q.ready) })
	defer ready()
	for seq := 0; limit == 0 || seq < limit; seq++ {
		p, err := source.Next(ctx)
		if err != nil {
			if ctx.Err() == nil {
				q.err = err
			}
			return
		}
		select {
		case q.jobs <- job{seq: seq, prompt: p, count: source.Count()}:
		case <-ctx.Done():
			return
		}
		if seq+1 == readAhead {
			ready()
		}
	}
}

// failure is why the source could not be read on, nil at a proper end.
func (q *promptQueue) failure() error {
	if errors.Is(q.err, io.EOF) {
		return nil
	}
	return q.err
}
