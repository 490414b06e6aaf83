package load

import (
	"context"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	silence   = 5 * time.Second        // without a word, after which the other side is lost
	notice    = 2 * time.Second        // of when all machines begin a step
	farewell  = 10 * time.Second       // for the ends of the logs
	syncPause = 250 * time.Millisecond // between messages of a machine to its leader
	maxPiece  = 1 << 20                // bytes of a log in one of them, and so of a line of it
)

// team is what a session has to do with the other machines of its load.
type team interface {
	// announce says which step is next.
	announce(step runlog.Step)
	// begin waits for all machines, and fills in when the step begins and by which clock. withdraw is for others that end it.
	begin(ctx context.Context, step *runlog.Step, m *Meter, withdraw context.CancelCauseFunc) error
}

// Identity is what all machines of a load must have alike: digests by names such as "version" and "--num-prompts".
type Identity map[string]string

// hello is what a machine says of itself when it joins.
type hello struct {
	ID             string // random: the same machine may ask again
	Rank, Machines int
	Identity       Identity
}

type survey struct {
	Run                 runlog.Run
	ModelLength         int
	Words               []string
	TokensPerWord       float64
	InputLen, PrefixLen int
}

// state is what a machine is told whenever it has said how it stands: ready for so many steps, so many requests attempted
// in the present one, and what came in its log since.
type state struct {
	Now      time.Time    // of the leader
	Have     int64        // bytes of the machine's log that the leader has
	Step     *runlog.Step // the last, nil before
	BeginsAt time.Time    // of that step, zero until all are ready
	Stop     runlog.Stop  // why that step is to end on all machines, empty while it goes on
	IsEnded  bool         // the whole run
}

// board is what several goroutines change and wait for.
type board struct {
	mu      sync.Mutex
	changed chan struct{}
}

// update changes what is on the board, and tells all who wait.
func (b *board) update(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
	if b.changed != nil {
		close(b.changed)
	}
	b.changed = make(chan struct{})
}

// wait returns when a condition holds, which is asked under the lock, or when ctx is done.
func (b *board) wait(ctx context.Context, holds func() bool) error {
	b.update(func() {}) // makes changed
	for {
		b.mu.Lock()
		isHeld, changed := holds(), b.changed
		b.mu.Unlock()
		if isHeld {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

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
