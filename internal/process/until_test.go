//go:build linux

package process

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// rows is enough with so many whole lines.
func rows(n int) func([]byte) bool {
	return func(out []byte) bool { return bytes.Count(out, []byte("\n")) >= n }
}

// A watch that goes on after it told enough costs every other question its time; one whose
// rows are lost costs a card its series. Nothing of it is left, whatever it does.
func TestRunUntil(t *testing.T) {
	const forEver = `while :; do echo row; sleep 0.02; done`
	for _, c := range []struct {
		name, script string
		enough       func([]byte) bool
		timeout      time.Duration
		reason       failure.Reason
		rows         int // at least
		exit         int
	}{
		{name: "ended when enough", script: forEver, enough: rows(3), timeout: time.Minute, rows: 3, exit: -1},
		{name: "enough, and it ignores SIGTERM", script: "trap '' TERM\n" + forEver, enough: rows(3), timeout: time.Minute, rows: 3, exit: -1},
		{name: "enough, with a child", script: "sleep 1000 &\n" + forEver, enough: rows(3), timeout: time.Minute, rows: 3, exit: -1},
		{name: "enough, and a daemon", script: "setsid sleep 1000 >/dev/null 2>&1 </dev/null &\n" + forEver, enough: rows(3), timeout: time.Minute, rows: 3, exit: -1},
		{name: "enough, then a flood", script: "exec yes row", enough: rows(1), timeout: time.Minute, rows: 1, exit: -1},
		{name: "ends by itself with less", script: "echo row; exit 3", enough: rows(2), timeout: time.Minute, rows: 1, exit: 3},
		{name: "ends by itself with enough", script: "echo row", enough: rows(1), timeout: time.Minute, rows: 1, exit: -1},
		{name: "floods without enough", script: "exec yes row", enough: rows(1 << 30), timeout: time.Minute, reason: failure.OutputTooLarge, rows: OutputLimit / 4, exit: -1},
		{name: "less until the timeout", script: "echo row; exec sleep 1000", enough: rows(2), timeout: 500 * time.Millisecond, reason: failure.Timeout, rows: 1, exit: -1},
		{name: "never says that it is enough", script: "echo row", timeout: time.Minute, rows: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			watchLeaks(t)
			r := runner(script(t, c.script), c.timeout)
			began := time.Now()
			out, err := r.RunUntil(t.Context(), c.enough)
			if took := time.Since(began); took > bounded {
				t.Errorf("took %s", took)
			}
			if reasonOf(err) != c.reason {
				t.Errorf("error %v, want class %q", err, c.reason)
			}
			if n := bytes.Count(out.Stdout, []byte("row\n")); n < c.rows {
				t.Errorf("%d rows, want %d", n, c.rows)
			}
			endedItself := c.exit == -1 && out.ExitCode == 0 // in the same moment
			if out.ExitCode != c.exit && !endedItself {
				t.Errorf("exit status %d, want %d", out.ExitCode, c.exit)
			}
		})
	}
}

// An exporter that is ended does not wait for a watch.
func TestRunUntilIsCancelled(t *testing.T) {
	watchLeaks(t)
	ctx, cancel := context.WithCancel(t.Context())
	r := runner(script(t, `while :; do echo row; sleep 0.02; done`), time.Minute)
	_, err := r.RunUntil(ctx, func([]byte) bool {
		cancel()
		return false
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
