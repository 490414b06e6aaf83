package collector

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
)

// Status is the health of one collector, known from the moment it exists.
type Status struct {
	Collector   string
	Polled      bool // a poll has ended
	Success     bool // the last poll read the main table
	Duration    time.Duration
	LastSuccess time.Time
	Failures    map[failure.Reason]uint64 // every reason, also at 0
	Warnings    uint64
	Stuck       int    // children that outlived SIGKILL
	LastError   string // of the last poll, "" after a success
}

// source is what a poller polls. read publishes a value as soon as the main
// part of it is there, and may publish again; the warnings are those not yet
// told. It is never called twice at a time.
type source[T any] interface {
	read(ctx context.Context, publish func(value T, warnings []string)) error
	stuck() int
}

// poller asks one source at a steady pace, whoever scrapes and however often.
type poller[T any] struct {
	name     string
	interval time.Duration
	maxAge   time.Duration
	source   source[T]
	logger   log.Logger

	mu       sync.Mutex
	status   Status
	value    *T
	taken    time.Time
	warnings []string // those of the last poll, logged when they change
}

func newPoller[T any](name string, s source[T], o Options) *poller[T] {
	failures := make(map[failure.Reason]uint64)
	for _, r := range failure.Reasons() {
		failures[r] = 0
	}
	return &poller[T]{
		name:     name,
		interval: o.Interval,
		maxAge:   3*o.Interval + o.Timeout,
		source:   s,
		logger:   log.With(o.Logger, "collector", name),
		status:   Status{Collector: name, Failures: failures},
	}
}

// run polls at once and then every interval until ctx ends. A poll that takes
// longer than the interval costs the ticks it missed.
func (p *poller[T]) run(ctx context.Context) {
	ticker := time.NewTicker(p.interval)
	defer ticker.Stop()
	for {
		p.poll(ctx)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (p *poller[T]) poll(ctx context.Context) {
	start := time.Now()
	var warnings []string
	err := p.source.read(ctx, func(value T, w []string) {
		warnings = append(warnings, w...)
		p.published(start, value, len(w))
	})
	if ctx.Err() != nil {
		return // shutting down is no failure of the tool
	}
	if err != nil {
		p.failed(start, err)
	}
	p.logWarnings(warnings, err)
}

func (p *poller[T]) published(start time.Time, value T, warnings int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.value, p.taken = &value, time.Now()
	p.status.Warnings += uint64(warnings)
	p.ended(start, nil)
	p.status.LastSuccess = p.taken
}

func (p *poller[T]) failed(start time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended(start, err)
	p.status.Failures[failure.ReasonOf(err)]++
}

// ended logs a failure once, not at every poll that repeats it.
func (p *poller[T]) ended(start time.Time, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	switch {
	case err != nil && text != p.status.LastError:
		level.Error(p.logger).Log("msg", "collector failed", "reason", failure.ReasonOf(err), "err", err)
	case err == nil && p.status.LastError != "":
		level.Info(p.logger).Log("msg", "collector works again")
	}
	p.status.Polled, p.status.Success, p.status.LastError = true, err == nil, text
	p.status.Duration = time.Since(start)
}

func (p *poller[T]) logWarnings(warnings []string, err error) {
	if err != nil || slices.Equal(warnings, p.warnings) {
		return
	}
	p.warnings = warnings
	for _, w := range warnings {
		level.Warn(p.logger).Log("msg", "part of the output is left out", "why", w)
	}
}

// fresh returns the last value, unless it is older than three intervals and a
// timeout: what a hung tool said long ago is not the state of a card.
func (p *poller[T]) fresh() (*T, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.value == nil || time.Since(p.taken) > p.maxAge {
		return nil, false
	}
	return p.value, true
}

// Status returns a copy that the caller may keep.
func (p *poller[T]) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.status
	s.Failures = maps.Clone(s.Failures)
	s.Stuck = p.source.stuck()
	return s
}
