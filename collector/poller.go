package collector

import (
	"context"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
)

// result is what one poll of a source gives.
type result[T any] struct {
	value    T
	taken    time.Time      // when it was read
	warnings model.Warnings // what cannot be read of it
	// conflicts are what was read and cannot be true: shown and logged, and no warning.
	conflicts model.Warnings
}

// poller asks one source at a steady pace, whoever scrapes and however often.
type poller[T any] struct {
	interval time.Duration
	maxAge   time.Duration
	health   *health
	read     func(ctx context.Context) (result[T], error) // asks the source, never twice at a time
	// between uses the time between two polls. It returns a newer value as soon as there is one, else nil when the time has
	// come. Nil for nobody.
	between func(ctx context.Context, until time.Time) *T

	mu    sync.Mutex // a scrape waits for it: held for assignments alone
	value *T
	taken time.Time
}

func newPoller[T any](h *health, o Options, read func(context.Context) (result[T], error)) *poller[T] {
	return &poller[T]{interval: o.Interval, maxAge: 3*o.Interval + o.Timeout, health: h, read: read}
}

// run polls at once and then every interval until ctx ends. A poll that takes
// longer than the interval costs those it missed.
func (p *poller[T]) run(ctx context.Context) {
	for next := time.Now(); ctx.Err() == nil; {
		p.poll(ctx)
		next = next.Add(p.interval)
		if late := time.Since(next); late > 0 {
			next = next.Add(late.Truncate(p.interval) + p.interval)
		}
		for p.between != nil {
			newer := p.between(ctx, next)
			if newer == nil {
				break
			}
			p.store(*newer, p.lastTaken())
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(next)):
		}
	}
}

func (p *poller[T]) poll(ctx context.Context) {
	start := time.Now()
	r, err := p.read(ctx)
	if err != nil && ctx.Err() != nil {
		return // shutting down is no failure of the tool
	}
	if err == nil { // else the known warnings hold
		p.store(r.value, r.taken)
		p.health.setWarnings("", r.warnings)
		p.health.setConflicts(r.conflicts)
	}
	p.health.polled(start, err)
}

// store makes a value what scrapes see.
func (p *poller[T]) store(value T, taken time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.value, p.taken = &value, taken
}

// fresh returns the last value, nil where it is older than three intervals and a
// timeout: what a hung tool said long ago is not the state of a card.
func (p *poller[T]) fresh() *T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.taken) > p.maxAge {
		return nil
	}
	return p.value
}

// lastTaken is when the last value was read, zero for never.
func (p *poller[T]) lastTaken() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}
