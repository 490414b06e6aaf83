package load

import (
	"context"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	silence   = 5 * time.Second        // without a word, after which the other side is lost
	notice    = 2 * time.Second        // of when all machines begin a step
	farewell  = 10 * time.Second       // for the ends of the logs
	syncPause = 250 * time.Millisecond // between messages of a machine to its leader
	maxPiece  = 1 << 20                // bytes of a log in one of them, and so of a line of it
)

// Identity is what all machines of a load must have alike: digests by names such as "version" and "--num-prompts".
type Identity map[string]string

// message is how a machine stands.
type message struct {
	ID             string // random: the same machine may join again
	Rank, Machines int
	Identity       Identity // until the survey has come
	Ready          int      // for so many steps
	Counts         []int64  // of the present step, see [Meter]
	Log            []byte   // a compressed piece of the machine's log, in whole lines
	At             int64    // where it begins
}

// state is how the load stands, the answer to each message.
type state struct {
	Survey   *survey      // when all have joined, to those who send their identity
	Now      time.Time    // of the leader, from then on
	Have     int64        // bytes of the machine's log that the leader has
	Step     *runlog.Step // the last, nil before
	BeginsAt time.Time    // of that step, zero until all are ready
	Stop     runlog.Stop  // why that step is to end on all machines, empty while it goes on
	IsEnded  bool         // the whole run
}

// survey is what the leader has found out before the load.
type survey struct {
	Run         runlog.Run
	Dataset     dataset.Config
	ModelLength int
}

// board is what several goroutines change and wait for.
type board struct {
	mu      sync.Mutex
	changed sync.Cond
}

// update changes what is on the board.
func (b *board) update(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
	b.changed.Broadcast()
}

// wait returns when a condition holds, which is asked under the lock, or when ctx is done.
func (b *board) wait(ctx context.Context, holds func() bool) error {
	defer context.AfterFunc(ctx, func() { b.update(func() {}) })()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed.L == nil {
		b.changed.L = &b.mu
	}
	for !holds() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		b.changed.Wait()
	}
	return nil
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
