package main

import (
	"bytes"
	"io"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// logQueue writes the log in the background, so that a reader of it that stops reading
// stops the log and nothing else. Once it is full, lines are dropped until all that
// wait are written.
type logQueue struct {
	to      io.Writer
	limit   int           // bytes that may wait
	tell    func(n int)   // logs to the same writer that so many lines were dropped
	ended   chan struct{} // closed when all is written after close
	dropped prometheus.Counter

	mu      sync.Mutex
	changed sync.Cond
	waiting []byte // whole lines
	missing int    // lines dropped and not yet told of
	closed  bool
}

// newLogQueue returns a queue that close must end.
func newLogQueue(to io.Writer, limit int, tell func(n int)) *logQueue {
	q := &logQueue{to: to, limit: limit, tell: tell, ended: make(chan struct{}), dropped: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "accelerator_exporter_log_lines_dropped_total", Help: "Lines of the log that were dropped, since its reader did not take those before.",
	})}
	q.changed.L = &q.mu
	go q.run()
	return q
}

// Write takes one line, and never fails.
func (q *logQueue) Write(line []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.missing > 0 || len(q.waiting)+len(line) > q.limit {
		q.missing++
		q.dropped.Inc()
	} else {
		q.waiting = append(q.waiting, line...)
	}
	q.changed.Signal()
	return len(line), nil
}

// close returns when all lines are written, or after patience.
func (q *logQueue) close(patience time.Duration) {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.changed.Signal()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-q.ended:
	case <-timer.C:
	}
}

func (q *logQueue) run() {
	defer close(q.ended)
	for {
		lines, missing := q.next()
		switch {
		case len(lines) > 0:
			for line := range bytes.Lines(lines) {
				_, _ = q.to.Write(line) // a reader that has gone is no reason to end
			}
		case missing > 0:
			q.tell(missing)
		default:
			return
		}
	}
}

// next waits for lines, or for the number of those that were dropped behind them. Neither
// is there after the end.
func (q *logQueue) next() (lines []byte, missing int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 && q.missing == 0 && !q.closed {
		q.changed.Wait()
	}
	if lines = q.waiting; len(lines) == 0 {
		missing, q.missing = q.missing, 0
	}
	q.waiting = nil
	return lines, missing
}
