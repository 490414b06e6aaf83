package collector

import (
	"maps"
	"sync"
	"time"

	"github.com/go-kit/log"
	"github.com/go-kit/log/level"

	"github.com/accelerator-exporter/accelerator_exporter/collector/model"
	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
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

// health keeps the status of one collector. Polls report to it one at a time; scrapes read it at any time.
type health struct {
	logger log.Logger

	mu     sync.Mutex // a scrape waits for it: held for assignments alone
	status Status

	logged map[string]bool // the warnings of the last success; of the goroutine that polls
}

func newHealth(collector string, logger log.Logger) *health {
	failures := make(map[failure.Reason]uint64)
	for _, r := range failure.Reasons() {
		failures[r] = 0
	}
	return &health{logger: log.With(logger, "collector", collector), status: Status{Collector: collector, Failures: failures}}
}

// succeeded says that a poll, which has lasted for a while, read its main part at an instant. newWarnings are added to
// the count; warnings are all that hold now.
func (h *health) succeeded(lasted time.Duration, at time.Time, newWarnings int, warnings model.Warnings) {
	h.mu.Lock()
	wasFailing := h.status.LastError != ""
	s := &h.status
	s.Polled, s.Success, s.LastError, s.LastReason, s.Hint = true, true, "", "", ""
	s.LastSuccess, s.Duration = at, lasted
	s.Warnings += uint64(newWarnings)
	s.LeftOut = warnings
	h.mu.Unlock()
	if wasFailing {
		level.Info(h.logger).Log("msg", "collector works again")
	}
	h.logNew(warnings)
}

// failed counts a failure, and logs it once, not at every poll that repeats it.
func (h *health) failed(lasted time.Duration, err error) {
	reason, text := failure.ReasonOf(err), err.Error()
	h.mu.Lock()
	s := &h.status
	isNew, advice := text != s.LastError, hint(s.Collector, reason)
	s.Polled, s.Success, s.Duration = true, false, lasted
	s.LastError, s.LastReason, s.Hint = text, reason, advice
	s.Failures[reason]++
	h.mu.Unlock()
	if isNew {
		level.Error(h.logger).Log("msg", "collector failed", "reason", reason, "err", err, "hint", advice)
	}
}

// logNew logs the warnings that were not there before, as far as they have a text.
func (h *health) logNew(warnings model.Warnings) {
	now := make(map[string]bool, len(warnings.Texts))
	isNew := false
	for _, w := range warnings.Texts {
		if !h.logged[w] && !now[w] {
			isNew = true
			level.Warn(h.logger).Log("msg", "part of the output is left out", "why", w)
		}
		now[w] = true
	}
	if isNew && warnings.Count > len(warnings.Texts) {
		level.Warn(h.logger).Log("msg", "more parts of the output are left out", "warnings", warnings.Count)
	}
	h.logged = now
}

// Status returns a copy that the caller may keep.
func (h *health) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.status
	s.Failures = maps.Clone(s.Failures)
	return s
}
