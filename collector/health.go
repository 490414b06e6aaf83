package collector

import (
	"maps"
	"slices"
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
	Failures    map[failure.Reason]uint64 // without those that never came
	Warnings    uint64
	LeftOut     model.Warnings // those that hold now; not to be changed
	Stuck       int            // children that outlived SIGKILL
	LastError   string         // of the last poll, "" after a success
	LastReason  failure.Reason
	Hint        string // what to do about LastReason, "" after a success
}

// health keeps the status of one collector, and the account of what is left out of it. Polls report to it one at a time,
// each source of warnings too; scrapes read it at any time.
type health struct {
	logger  log.Logger
	runners []Runner // whose children count as the collector's

	mu       sync.Mutex // a scrape waits for it: held for assignments alone
	status   Status
	warnings map[string]model.Warnings // that hold now, by what they are about
}

func newHealth(collector string, logger log.Logger) *health {
	return &health{
		logger: log.With(logger, "collector", collector), status: Status{Collector: collector, Failures: map[failure.Reason]uint64{}},
		warnings: map[string]model.Warnings{},
	}
}

// polled says how a poll that began at an instant went. A failure is logged once, not at every poll that repeats it.
func (h *health) polled(start time.Time, err error) {
	now := time.Now()
	h.mu.Lock()
	s := &h.status
	before, reason, text, advice := s.LastError, failure.ReasonOf(err), "", ""
	if err == nil {
		s.LastSuccess = now
	} else {
		text, advice = err.Error(), hint(s.Collector, reason)
		s.Failures[reason]++
	}
	s.Polled, s.Success, s.Duration = true, err == nil, now.Sub(start)
	s.LastError, s.LastReason, s.Hint = text, reason, advice
	h.mu.Unlock()
	switch {
	case text == before:
	case err == nil:
		level.Info(h.logger).Log("msg", "collector works again")
	default:
		level.Error(h.logger).Log("msg", "collector failed", "reason", reason, "err", err, "hint", advice)
	}
}

// setWarnings replaces the warnings of a source. It counts and logs the new ones.
func (h *health) setWarnings(source string, now model.Warnings) {
	added := h.replace(source, now)
	h.mu.Lock()
	h.status.Warnings += uint64(added.Count)
	h.mu.Unlock()
	h.logLeftOut(source, now, added)
}

// setConflicts says what was read and cannot be true. It logs what was not there before, and counts nothing: all of it
// could be read.
func (h *health) setConflicts(now model.Warnings) {
	const source = "conflict"
	h.logLeftOut(source, now, h.replace(source, now))
}

func (h *health) logLeftOut(source string, now, added model.Warnings) {
	for _, text := range added.About(source).Texts {
		level.Warn(h.logger).Log("msg", "part of the output is left out", "why", text)
	}
	if added.Count > len(added.Texts) {
		level.Warn(h.logger).Log("msg", "more parts of the output are left out", "warnings", now.Count)
	}
}

// setFailure sets why a command has no whole answer, nil where it has one. It counts and logs a new reason.
func (h *health) setFailure(k questionKey, err error) {
	var now model.Warnings
	if err != nil {
		now.Add("%v", err)
	}
	if added := h.replace(failureSource(k), now); added.Count > 0 {
		h.mu.Lock()
		h.status.Warnings++
		h.mu.Unlock()
		level.Warn(h.logger).Log("msg", "command failed", "command", k.command, "part", k.part, "device", k.card, "err", err)
	}
}

func failureSource(k questionKey) string { return "asking for " + k.String() }

// replace keeps the warnings of a source, and returns those that are new. A warning is new when it comes, and again when it
// comes back; of those whose texts are not kept, as many as there are more of them.
func (h *health) replace(source string, now model.Warnings) (added model.Warnings) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.warnings[source]
	for _, text := range now.Texts {
		if !slices.Contains(before.Texts, text) {
			added.Texts = append(added.Texts, text)
		}
	}
	more := (now.Count - len(now.Texts)) - (before.Count - len(before.Texts))
	added.Count = len(added.Texts) + max(0, more)
	if h.warnings[source] = now; now.Count == 0 {
		delete(h.warnings, source)
	}
	return added
}

// forget drops what is known of a command that is asked no more.
func (h *health) forget(k questionKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.warnings, k.String())
	delete(h.warnings, failureSource(k))
}

// Status returns a copy that the caller may keep.
func (h *health) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.status
	s.Failures = maps.Clone(s.Failures)
	for _, source := range slices.Sorted(maps.Keys(h.warnings)) {
		s.LeftOut.Join(h.warnings[source].About(source))
	}
	for _, r := range h.runners {
		s.Stuck += r.Stuck()
	}
	return s
}
