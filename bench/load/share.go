package load

import (
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Share says which of the machines that put on one load this is, from 0. The zero value is the only one.
type Share struct{ Rank, Machines int }

// machines is how many have a part of a step: no more than it has users, or requests in flight.
func (s Share) machines(step runlog.Step) int {
	n := max(1, s.Machines)
	for _, most := range []int{step.Concurrency, step.MaxConcurrency} {
		if most > 0 {
			n = min(n, most)
		}
	}
	return n
}

// part is how many of n fall to this machine; what is left over falls to the lower ranks.
func (s Share) part(step runlog.Step, n int) int {
	return max(0, n+s.machines(step)-1-s.Rank) / s.machines(step)
}

// clock gives the instants of a log, so that a clock that is set is in none of them.
type clock struct {
	started time.Time // with a monotonic reading
	logged  time.Time // the same instant as the log has it: by the leader's clock, where there is one
}

func newClock(now time.Time) *clock { return &clock{started: time.Now(), logged: now.Round(0)} }

func (c *clock) at(t time.Time) time.Time { return c.logged.Add(t.Sub(c.started)) }

func (c *clock) now() time.Time { return c.at(time.Now()) }
