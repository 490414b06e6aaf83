package collector

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
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
	LeftOut     model.Warnings // those that hold now; not to be changed
	Stuck       int            // children that outlived SIGKILL
	LastError   string         // of the last poll, "" after a success
	LastReason  failure.Reason
	Hint        string // what to do about LastReason, "" after a success
}

// result is what a source publishes during a poll.
type result[T any] struct {
	value       T
	taken       time.Time      // when the main part of the value was read
	newWarnings int            // met since the result before
	warnings    model.Warnings // every one that holds now
}

// lasting counts what stays unread for hours, such as for want of rights, once when it comes: it
// is no new loss at every look. It is how many warnings the last look had.
type lasting int

// added is how many warnings more there are now than at the last look.
func (l *lasting) added(now model.Warnings) int {
	more := max(0, now.Count-int(*l))
	*l = lasting(now.Count)
	return more
}

// source is what a poller polls. read publishes a value as soon as the main part
// of it is there, and again when there is more. It is never called twice at a time.
type source[T any] interface {
	read(ctx context.Context, publish func(result[T])) error
	stuck() int
	// beside are the warnings that hold now of what is asked beside the results, and how many parts of all its answers so
	// far could not be read.
	beside() (now model.Warnings, leftOut uint64)
}

// poller asks one source at a steady pace, whoever scrapes and however often.
type poller[T any] struct {
	name     string
	interval time.Duration
	maxAge   time.Duration
	source   source[T]
	spare    func(ctx context.Context, until time.Time) // uses the time between two polls, nil for nobody
	told     func()                                     // is called after each result, nil for nobody
	logger   log.Logger

	first chan struct{} // closed when the first poll has ended, all that it asks with it

	mu     sync.Mutex // a scrape waits for it: held for assignments alone
	status Status
	value  *T
	taken  time.Time

	logged map[string]bool // the warnings of the last result; of the goroutine that polls
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
		first:    make(chan struct{}),
		status:   Status{Collector: name, Failures: failures},
	}
}

// run polls at once and then every interval until ctx ends. A poll that takes
// longer than the interval costs those it missed.
func (p *poller[T]) run(ctx context.Context) {
	ended := sync.OnceFunc(func() { close(p.first) })
	for next := time.Now(); ctx.Err() == nil; {
		p.poll(ctx)
		ended()
		next = next.Add(p.interval)
		if late := time.Since(next); late > 0 {
			next = next.Add(late.Truncate(p.interval) + p.interval)
		}
		if p.spare != nil {
			p.spare(ctx, next)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Until(next)):
		}
	}
}

func (p *poller[T]) poll(ctx context.Context) {
	start := time.Now()
	err := p.source.read(ctx, func(u result[T]) { p.published(start, u) })
	if ctx.Err() != nil {
		return // shutting down is no failure of the tool
	}
	if err != nil {
		p.failed(start, err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status.Duration = time.Since(start)
}

func (p *poller[T]) published(start time.Time, u result[T]) {
	if p.keep(start, u) {
		level.Info(p.logger).Log("msg", "collector works again")
	}
	p.logNew(u.warnings)
	if p.told != nil {
		p.told()
	}
}

// keep makes a result what scrapes see, and reports whether it ends a failure.
func (p *poller[T]) keep(start time.Time, u result[T]) (again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	again = p.status.LastError != ""
	p.value, p.taken = &u.value, u.taken
	p.status.Polled, p.status.Success, p.status.LastError, p.status.LastReason, p.status.Hint = true, true, "", "", ""
	p.status.LastSuccess, p.status.Duration = u.taken, time.Since(start)
	p.status.Warnings += uint64(u.newWarnings)
	p.status.LeftOut = u.warnings
	return again
}

// failed logs a failure once, not at every poll that repeats it.
func (p *poller[T]) failed(start time.Time, err error) {
	reason, text := failure.ReasonOf(err), err.Error()
	what := hint(p.name, reason)
	p.mu.Lock()
	isNew := text != p.status.LastError
	p.status.Polled, p.status.Success, p.status.Duration = true, false, time.Since(start)
	p.status.LastError, p.status.LastReason, p.status.Hint = text, reason, what
	p.status.Failures[reason]++
	p.mu.Unlock()
	if isNew {
		level.Error(p.logger).Log("msg", "collector failed", "reason", reason, "err", err, "hint", what)
	}
}

// logNew logs the warnings that were not there before, as far as they have a text.
func (p *poller[T]) logNew(known model.Warnings) {
	now := make(map[string]bool, len(known.Texts))
	isNew := false
	for _, w := range known.Texts {
		if !p.logged[w] && !now[w] {
			isNew = true
			level.Warn(p.logger).Log("msg", "part of the output is left out", "why", w)
		}
		now[w] = true
	}
	if isNew && known.Count > len(known.Texts) {
		level.Warn(p.logger).Log("msg", "more parts of the output are left out", "warnings", known.Count)
	}
	p.logged = now
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

// lastTaken is when the last value was read, zero for never.
func (p *poller[T]) lastTaken() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken
}

// Status returns a copy that the caller may keep.
func (p *poller[T]) Status() Status {
	stuck := p.source.stuck()
	warnings, leftOut := p.source.beside()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.status
	s.Failures = maps.Clone(s.Failures)
	s.Stuck = stuck
	s.LeftOut.Join(warnings)
	s.Warnings += leftOut
	return s
}
