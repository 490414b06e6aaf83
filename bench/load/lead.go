package load

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	lostAfter  = 5 * time.Second        // without a message, after which the other side is lost
	startDelay = 2 * time.Second        // from when all machines are ready until the step begins
	syncPause  = 250 * time.Millisecond // between messages of a machine to its leader
	waitPause  = 20 * time.Millisecond  // between looks at what is waited for
	maxRecords = 250                    // in one message: 1,000 requests/s of a machine
	maxMessage = 64 << 20               // bytes, uncompressed: 250 answers of 25,000 tokens
)

// Team is what each machine of a load knows of the load.
type Team struct {
	Share
	Identity    map[string]string // must be the same on all: the version, digests of flags and of the data set, by name
	JoinTimeout time.Duration
	AllowFewer  bool // goes on without machines that are lost
}

// Share is this machine's rank, from 0, among the machines of one load. The zero value is a load of one machine.
type Share struct{ Rank, Machines int }

// machines is how many have a part of a step: no more than it has users, or requests in flight.
func (s Share) machines(step runlog.Step) int {
	n := max(1, s.Machines)
	return min(n, cmp.Or(step.Concurrency, n), cmp.Or(step.MaxConcurrency, n))
}

// part is how many of n fall to this machine; what is left over falls to the lower ranks.
func (s Share) part(step runlog.Step, n int) int {
	return max(0, n+s.machines(step)-1-s.Rank) / s.machines(step)
}

// message is what a machine tells its leader.
type message struct {
	ID string // random: tells this process from another of the same rank
	Share
	Identity map[string]string
	Ready    int             // how many steps it has been ready for
	Counts   [6]int64        // of the last of them, see [Meter]
	At       int             // of its records
	Records  []runlog.Record // of its log, from that one on
}

// state is the leader's answer to each message.
type state struct {
	Run         *runlog.Run    // nil until all have joined, as are the others
	Dataset     dataset.Config // as it is after the checks
	ModelLength int
	Now         time.Time   // of the leader
	Have        int         // records of the machine that the leader has
	Steps       int         // that have been announced
	Step        runlog.Step // the last of them
	BeginsAt    time.Time   // of that step, zero until all are ready
	Stop        runlog.Stop // why that step is to end on all machines, empty while it goes on
	IsEnded     bool        // the whole run
}

// board is what several goroutines change and wait for.
type board struct{ mu sync.Mutex }

// update changes what is on the board.
func (b *board) update(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// wait returns when a condition holds, which is asked under the lock, or when ctx is done.
func (b *board) wait(ctx context.Context, holds func() bool) error {
	for isTrue := false; ctx.Err() == nil; sleepUntil(ctx, time.Now().Add(waitPause)) {
		if b.update(func() { isTrue = holds() }); isTrue {
			return nil
		}
	}
	return ctx.Err()
}

// Lead leads the other machines of a load: it tells them each step and when to begin, and takes their logs. It is to be
// served before the session opens. The zero value is a load of one machine.
type Lead struct {
	Team
	unzip   *zstd.Decoder
	session *Session

	board
	followers []*follower // by rank from 1 on, nil for one that has not joined
	state
	asked    runlog.Step             // the present step, with the failure ratio, which the leader judges over all machines
	meter    *Meter                  // of that
	withdraw context.CancelCauseFunc // ends this machine's part of it
}

type follower struct {
	message      // its last
	have     int // of its records
	requests int // among them, of the present step
	ended    int // so many steps, all when its log has its end
	watchdog *time.Timer
	isLost   bool
}

// NewLead returns the leader of a team.
func NewLead(t Team) *Lead {
	unzip, _ := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxMessage)) // the option is right
	return &Lead{Team: t, unzip: unzip, followers: make([]*follower, t.Machines-1), meter: new(Meter)}
}

// waitFor returns when something is true of each machine that is not lost.
func (l *Lead) waitFor(ctx context.Context, done func(f *follower) bool) {
	_ = l.wait(ctx, func() bool {
		return !slices.ContainsFunc(l.followers, func(f *follower) bool { return !f.isLost && !done(f) })
	})
}

// gather waits until all machines have joined.
func (l *Lead) gather(ctx context.Context) error {
	joining, cancel := context.WithTimeout(ctx, l.JoinTimeout)
	defer cancel()
	_ = l.wait(joining, func() bool { return !slices.Contains(l.followers, nil) })
	l.mu.Lock()
	defer l.mu.Unlock()
	var missing []int // ranks
	for i, f := range l.followers {
		if f == nil {
			missing = append(missing, i+1)
		}
	}
	if missing == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("these machines did not join within %s: %v", l.JoinTimeout, missing)
}

// open tells the others what was found out.
func (l *Lead) open(s *Session) {
	l.update(func() {
		l.session, l.Run, l.Dataset, l.ModelLength = s, &s.cfg.Run, s.cfg.Dataset, s.modelLength
		for _, f := range l.followers {
			f.watchdog = time.AfterFunc(lostAfter, func() { l.update(func() { l.lose(f, "sent no message in time") }) })
		}
	})
}

// lose gives a machine up, and ends the step on all unless that is allowed. The caller holds mu.
func (l *Lead) lose(f *follower, why string) {
	if f.isLost || f.ended == math.MaxInt {
		return
	}
	f.isLost = true
	l.meter.Queued.others.Add(-f.Counts[1])
	l.meter.InFlight.others.Add(-f.Counts[2])
	l.session.note("machine %d %s", f.Rank, why)
	if !l.AllowFewer {
		l.stopAll(runlog.StopVoid)
	}
}

// stopAll ends the step on all machines, the leader's part too. The caller holds mu.
func (l *Lead) stopAll(why runlog.Stop) {
	if l.Stop = cmp.Or(l.Stop, why); l.withdraw != nil {
		l.withdraw(stopError(l.Stop))
	}
}

// announce tells all which step is next. withdraw is for others that end it.
func (l *Lead) announce(step runlog.Step, withdraw context.CancelCauseFunc) {
	l.update(func() {
		l.asked, l.meter, l.withdraw = step, new(Meter), withdraw
		l.Steps, l.Step, l.BeginsAt = step.Index+1, step, time.Time{}
		l.Step.MaxFailureRatio = 0     // of followers: see asked
		if l.Stop == runlog.StopVoid { // a machine is missing
			withdraw(stopError(l.Stop))
		} else {
			l.Stop = ""
		}
		for _, f := range l.followers {
			f.requests, f.Counts = 0, [6]int64{}
		}
	})
}

// begin waits until all machines are ready, and says when the step begins.
func (l *Lead) begin(ctx context.Context, step *runlog.Step, m *Meter) {
	l.update(func() { l.meter = m })
	l.waitFor(ctx, func(f *follower) bool { return f.Ready == l.Steps })
	step.Started = l.session.clock.now()
	if len(l.followers) > 0 {
		step.Started = step.Started.Add(startDelay)
	}
	l.update(func() { l.BeginsAt = step.Started })
}

// end waits until the step has ended on all machines. It sets end.Stop where another machine stopped the step, and says
// which are lost, and how many of their requests are in no log.
func (l *Lead) end(ctx context.Context, end *runlog.StepEnd) {
	if end.Stop.Early() {
		l.update(func() { l.stopAll(end.Stop) })
	}
	l.waitFor(context.WithoutCancel(ctx), func(f *follower) bool { return f.ended >= l.Steps })
	l.mu.Lock()
	defer l.mu.Unlock()
	end.Stop = cmp.Or(l.Stop, end.Stop)
	for _, f := range l.followers {
		if f.isLost {
			end.Lost = append(end.Lost, f.Rank)
			end.Unknown += max(0, int(f.Counts[0])-f.requests)
		}
	}
	end.Attempted += end.Unknown
}

// dismiss tells the others that the run has ended, and waits for the ends of their logs.
func (l *Lead) dismiss() {
	l.update(func() {
		l.IsEnded = true
		l.stopAll(runlog.StopInterrupted) // where an error of the leader's has ended it
	})
	l.waitFor(context.Background(), func(f *follower) bool { return f.ended == math.MaxInt })
}

// take takes a record of another machine. The caller holds mu.
func (l *Lead) take(f *follower, rec runlog.Record) {
	l.session.keep(rec)
	switch end := rec.StepEnd; {
	case rec.Request != nil:
		f.requests++
		l.session.requestDone(rec.Request)
	case end != nil:
		if f.ended = end.Step + 1; end.Stop == runlog.StopUnreachable {
			l.stopAll(end.Stop)
		} else if end.Stop.Early() && l.Stop == "" {
			l.lose(f, "left the load")
		}
	case rec.RunEnd != nil:
		if l.Stop == "" {
			l.lose(f, "left the load")
		}
		f.ended = math.MaxInt
	}
}

// join returns the machine that sent a message, added at its first, or why it may not take part. The caller holds mu.
func (l *Lead) join(m message) (*follower, error) {
	if m.Rank < 1 || m.Rank >= l.Machines || m.Machines != l.Machines {
		return nil, fmt.Errorf("of %d is none of the leader's %d", m.Machines, l.Machines)
	}
	switch f := l.followers[m.Rank-1]; {
	case f != nil && f.ID != m.ID:
		return nil, errors.New("has joined before: give each machine a --rank of its own")
	case f != nil && f.isLost:
		return nil, errors.New("was lost, and the load goes on without it")
	case f != nil:
		return f, nil
	case m.At > 0:
		return nil, errors.New("is of a load that has ended")
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(m.Identity)), slices.Collect(maps.Keys(l.Identity))) {
		if m.Identity[name] != l.Identity[name] {
			return nil, fmt.Errorf("has another %s than the leader", name)
		}
	}
	l.followers[m.Rank-1] = &follower{message: m}
	return l.followers[m.Rank-1], nil
}

// sync takes a machine's message and its records, if they are the next, and returns the load's state.
func (l *Lead) sync(m message) (state, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := l.join(m)
	if err != nil || l.Run == nil {
		return state{}, err
	}
	f.watchdog.Reset(lostAfter)
	if m.Ready != l.Steps { // they are of the step before
		m.Counts = [6]int64{}
	}
	for i, counter := range l.meter.counters() {
		counter.others.Add(m.Counts[i] - f.Counts[i])
	}
	if l.meter.tooManyFailed(l.asked, leastEnded(l.asked)) {
		l.stopAll(runlog.StopFailureRatio)
	}
	f.message = m
	for _, rec := range m.Records[min(len(m.Records), f.have-m.At):] { // those before it are here
		if err := l.session.log.Write(rec); err != nil {
			return state{}, err
		}
		f.have++
		l.take(f, rec)
	}
	now := l.state
	now.Now, now.Have = l.session.clock.now(), f.have
	return now, nil
}

// ServeHTTP answers a machine's message.
func (l *Lead) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m message
	var now state
	body, _ := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage)) // what is cut off cannot be decoded
	body, err := l.unzip.DecodeAll(body, nil)
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err == nil {
		now, err = l.sync(m)
	}
	if err != nil {
		http.Error(w, fmt.Sprintf("machine %d %s", m.Rank, err), http.StatusConflict)
		return
	}
	_ = json.NewEncoder(w).Encode(now) // the client may be gone
}
