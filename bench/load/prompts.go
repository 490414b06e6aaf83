package load

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	// usualReadAhead is how many prompts are made before they are needed, the first of
	// them before the clock starts, so that no request is late for want of one.
	usualReadAhead = 1024
	leastReadAhead = 16
	readAheadBytes = 64 << 20 // long prompts must not fill the memory
)

// promptQueue reads prompts ahead.
type promptQueue struct {
	jobs chan job
	// ready is closed when all that is read ahead was read, or there is no more.
	ready chan struct{}
	// err is why there are no more, nil at the limit. It is to be read when jobs is
	// closed.
	err error
}

func newPromptQueue(ahead int) *promptQueue {
	return &promptQueue{jobs: make(chan job, cmp.Or(ahead, usualReadAhead)), ready: make(chan struct{})}
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
		if seq+1 == cap(q.jobs) {
			ready()
		}
	}
}

// next waits for a prompt.
func (q *promptQueue) next(ctx context.Context) (job, bool) {
	select {
	case j, ok := <-q.jobs:
		return j, ok
	case <-ctx.Done():
		return job{}, false
	}
}

// failure is why the source could not be read on, nil at a proper end.
func (q *promptQueue) failure() error {
	if errors.Is(q.err, io.EOF) {
		return nil
	}
	return q.err
}

// readAheadFor is how many prompts such as p may be held ready.
func readAheadFor(p *dataset.Prompt) int {
	size := len(p.Text) + 4*len(p.Tokens)
	for _, m := range p.Messages {
		size += len(m.Content)
	}
	return min(usualReadAhead, max(leastReadAhead, readAheadBytes/max(1, size)))
}

// addCount adds what a data set counted for one more prompt.
func addCount(sum *runlog.DatasetCount, c runlog.DatasetCount) {
	sum.Prompts += c.Prompts
	sum.Passes += c.Passes
	sum.TooLong += c.TooLong
	sum.Skipped += c.Skipped
	sum.Estimated += c.Estimated
}
