package load

import (
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
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

// isIdle reports whether nothing of a step falls to this machine.
func (s Share) isIdle(step runlog.Step) bool { return s.Rank >= s.machines(step) }

// part is how many of n fall to this machine; what is left over falls to the lower ranks.
func (s Share) part(step runlog.Step, n int) int {
	return max(0, n+s.machines(step)-1-s.Rank) / s.machines(step)
}

// nth is the number among all machines' of the n-th that falls to this one, both from 0.
func (s Share) nth(step runlog.Step, n int) int { return n*s.machines(step) + s.Rank }

// isLast reports whether no later prompt falls to this machine, if this one does. Of a trace over several machines that is
// not known before.
func (s Share) isLast(step runlog.Step, seq int) bool {
	n := s.machines(step)
	return step.Requests > 0 && seq+n >= step.Requests && (n == 1 || step.Arrival != runlog.ArrivalReplay)
}

// dealer returns what reports whether a prompt falls to this machine, to be called for each in turn: to one after the
// other, but where a request of a trace continues another, to the same. So the prompts of all are those of one machine.
func (s Share) dealer(step runlog.Step) func(seq int, p *dataset.Prompt) bool {
	machines, owners := s.machines(step), map[string]int{}
	return func(seq int, p *dataset.Prompt) bool {
		owner := seq % machines
		if machines > 1 && (p.ID != "" || p.After != "") {
			if known, ok := owners[p.After]; ok && p.After != "" {
				owner = known
			}
			owners[p.ID] = owner
		}
		return owner == s.Rank
	}
}

// clock gives the instants of a log, so that a clock that is set is in none of them.
type clock struct {
	started time.Time // with a monotonic reading
	logged  time.Time // the same instant as the log has it: by the leader's clock, where there is one
}

func newClock(now time.Time) *clock { return &clock{started: time.Now(), logged: now.Round(0)} }

func (c *clock) at(t time.Time) time.Time { return c.logged.Add(t.Sub(c.started)) }

func (c *clock) now() time.Time { return c.at(time.Now()) }

// local is an instant of the log by this machine's monotonic clock.
func (c *clock) local(t time.Time) time.Time { return c.started.Add(t.Sub(c.logged)) }
