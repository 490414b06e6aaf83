package load

import (
	"context"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	lostAfter    = 5 * time.Second        // without a message, after which the other side is lost
	startDelay   = 2 * time.Second        // from when all machines are ready until the step begins
	closeTimeout = 10 * time.Second       // to wait for the ends of the logs when the run has ended
	syncPause    = 250 * time.Millisecond // between messages of a machine to its leader
	maxPiece     = 1 << 20                // bytes of a log in one message; a longer line cannot be sent
)

// Identity is what must be the same on all machines: the version and the command, digests of flags and of the data set.
type Identity map[string]string

// message is what a machine tells its leader.
type message struct {
	ID             string // random: tells this process from another of the same rank
	Rank, Machines int
	Identity       Identity // until it has the survey
	Ready          int      // how many steps it has been ready for
	Counts         []int64  // of the present step, see [Meter]
	Log            []byte   // a compressed piece of the machine's log, in whole lines
	At             int64    // the offset of that piece in the log
}

// state is the leader's answer to each message.
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

// Share is this machine's rank, from 0, among the machines of one load. The zero value is a load of one machine.
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
