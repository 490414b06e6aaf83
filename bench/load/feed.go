package load

import (
	"context"
	"errors"
	"io"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
)

// readAhead is how many prompts are made before they are needed: enough for a
// dataset to pause for some milliseconds, few enough to be held in memory.
const readAhead = 64

// item is a prompt with its place in the step.
type item struct {
	seq    int
	prompt dataset.Prompt
}

// feed reads prompts ahead, so that a request that is due has not to wait for
// one.
type feed struct {
	items chan item
	first chan bool // says once whether there is a prompt at all
	// err is why there are no more, nil at the limit. It is to be read when items
	// is closed, or first was false.
	err error
}

func newFeed() *feed {
	return &feed{items: make(chan item, readAhead), first: make(chan bool, 1)}
}

// fill reads until the limit (0 for none), the source's end or that of ctx, which
// is no error.
func (f *feed) fill(ctx context.Context, source dataset.Source, limit int) {
	defer close(f.items)
	for seq := 0; limit == 0 || seq < limit; seq++ {
		p, err := source.Next(ctx)
		if err != nil && ctx.Err() == nil {
			f.err = err
		}
		if seq == 0 {
			f.first <- err == nil
		}
		if err != nil {
			return
		}
		select {
		case f.items <- item{seq, p}:
		case <-ctx.Done():
			return
		}
	}
}

// next waits for a prompt. What was read is given out even when ctx is done.
func (f *feed) next(ctx context.Context) (item, bool) {
	select {
	case i, ok := <-f.items:
		return i, ok
	default:
	}
	select {
	case i, ok := <-f.items:
		return i, ok
	case <-ctx.Done():
		return item{}, false
	}
}

// failure is why the source could not be read on, nil at a proper end.
func (f *feed) failure() error {
	if errors.Is(f.err, io.EOF) {
		return nil
	}
	return f.err
}
