package load

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// readAhead is how many prompts are made before they are needed, the first of them
// before the clock starts: a prompt that the server has to tokenize takes a round
// trip or several, and must not make requests late.
const readAhead = 1024

// item is a prompt with its place in the step.
type item struct {
	seq    int
	prompt dataset.Prompt
}

// feed reads prompts ahead, so that a request that is due has not to wait for
// one.
type feed struct {
	items chan item
	ahead int // prompts
	// ready says once, when all that is read ahead was read or there is no more,
	// whether there is a prompt at all.
	ready chan bool
	// err is why there are no more, nil at the limit. It is to be read when items
	// is closed, or ready was false.
	err error
	// counted is what the source told of the prompts read, and passes the number of
	// the prompt at which it was begun again, each time. To be read as err.
	counted runlog.DatasetCount
	passes  []int
}

func newFeed(ahead int) *feed {
	ahead = cmp.Or(ahead, readAhead)
	return &feed{items: make(chan item, ahead), ahead: ahead, ready: make(chan bool, 1)}
}

// fill reads until the limit (0 for none), the source's end or that of ctx, which
// is no error.
func (f *feed) fill(ctx context.Context, source dataset.Source, limit int) {
	defer close(f.items)
	ahead := f.ahead
	if limit > 0 {
		ahead = min(ahead, limit)
	}
	for seq := 0; limit == 0 || seq < limit; seq++ {
		p, err := source.Next(ctx)
		f.count(source.Count(), seq)
		if err != nil {
			if ctx.Err() == nil {
				f.err = err
			}
			if seq < ahead {
				f.ready <- seq > 0
			}
			return
		}
		select {
		case f.items <- item{seq, p}:
		case <-ctx.Done():
			return
		}
		if seq+1 == ahead {
			f.ready <- true
		}
	}
}

// count takes what the source counted up to the prompt seq.
func (f *feed) count(c runlog.DatasetCount, seq int) {
	a := &f.counted
	a.BadLine += c.BadLine
	a.TooLong += c.TooLong
	a.Skipped += c.Skipped
	a.FirstBad = append(a.FirstBad, c.FirstBad...) // the source bounds them
	a.EstimatedWhy = cmp.Or(a.EstimatedWhy, c.EstimatedWhy)
	for range c.Passes {
		f.passes = append(f.passes, seq)
	}
}

// took is the count for a step that sent so many prompts: what was read ahead and not
// sent is in no pass of it.
func (f *feed) took(sent int) runlog.DatasetCount {
	c := f.counted
	c.Prompts = sent
	c.Passes, _ = slices.BinarySearch(f.passes, sent)
	return c
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
