//go:build linux

package command

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
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
		{name: "enough, then silence", script: "echo row; exec sleep 1000", enough: rows(1), timeout: time.Minute, rows: 1, exit: -1},
		{name: "enough, then a flood", script: "exec yes row", enough: rows(1), timeout: time.Minute, rows: 1, exit: -1},
		{name: "enough, and a flood of errors", script: "yes error >&2 & echo row; wait", enough: rows(1), timeout: time.Minute, rows: 1, exit: -1},
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
			if failure.ReasonOf(err) != c.reason {
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

// A program that prints row by row is asked about as it prints, and no more once it is enough.
func TestRunUntilAsksAsItPrints(t *testing.T) {
	watchLeaks(t)
	var asked []int
	r := runner(script(t, `for i in 1 2 3; do echo row; sleep 0.05; done; exec sleep 1000`), time.Minute)
	_, err := r.RunUntil(t.Context(), func(out []byte) bool {
		asked = append(asked, bytes.Count(out, []byte("row\n")))
		return asked[len(asked)-1] == 3
	})
	if err != nil || len(asked) == 0 || !slices.IsSorted(asked) || asked[len(asked)-1] != 3 {
		t.Errorf("asked with %v rows, %v; want up to 3", asked, err)
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

// What was enough is kept also where the program is ended for another reason in the same
// moment: enough is said here when it has been.
func TestRunUntilEnoughInTheSameMoment(t *testing.T) {
	for name, c := range map[string]struct {
		script  string
		timeout time.Duration
	}{
		"a flood":         {"echo row; exec yes error >&2", time.Minute},
		"the timeout":     {"echo row; exec sleep 1000", 300 * time.Millisecond},
		"a flood of rows": {"exec yes row", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			watchLeaks(t)
			r := runner(script(t, c.script), c.timeout)
			first := true
			out, err := r.RunUntil(t.Context(), func(out []byte) bool {
				if name == "a flood of rows" {
					return len(out) > OutputLimit
				}
				if first {
					first = false
					eventually(t, "its end", func() error { return none(len(marked(os.Getenv(markName)))) })
				}
				return true
			})
			if err != nil || !bytes.HasPrefix(out.Stdout, []byte("row\n")) {
				t.Errorf("%.20q, %v", out.Stdout, err)
			}
		})
	}
}
