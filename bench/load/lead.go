package load

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	silence  = 5 * time.Second  // without a word, after which the other side is lost
	notice   = 2 * time.Second  // of when all machines begin a step
	farewell = 10 * time.Second // for the ends of the logs
)

// LostError says which machines a load should have and has not.
type LostError struct {
	Ranks []int
	Why   string // in a clause
}

func (e *LostError) Error() string {
	return fmt.Sprintf("machine %s %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(e.Ranks), " ", ", "), "[]"), e.Why)
}

// Identity is what all machines of a load must have alike.
type Identity struct {
	Version string            `json:"version"`
	Flags   map[string]string `json:"flags"` // digests of their values, by name
	Data    string            `json:"data"`  // digest of the file of prompts, empty for none
}

// difference says in a clause how a machine is unlike its leader, empty for not at all.
func (i Identity) difference(leader Identity) string {
	if i.Version != leader.Version {
		return fmt.Sprintf("has version %s, and the leader %s", i.Version, leader.Version)
	}
	for _, name := range slices.Sorted(maps.Keys(i.Flags)) {
		if i.Flags[name] != leader.Flags[name] {
			return fmt.Sprintf("has another %s than the leader", name)
		}
	}
	if len(i.Flags) != len(leader.Flags) {
		return "has fewer flags than the leader"
	}
	if i.Data != leader.Data {
		return "has another file of prompts than the leader"
	}
	return ""
}

// Lead leads the other machines of a load: it tells them each step and when to begin, and takes their logs. [Lead.Handler]
// is to be served before the session opens.
type Lead struct {
	Machines    int // the leader among them
	Identity    Identity
	JoinTimeout time.Duration
	AllowFewer  bool // goes on without machines that are lost

	session  *Session
	watching sync.WaitGroup
	unwatch  context.CancelFunc

	mu        sync.Mutex
	changed   chan struct{} // closed when what follows changes
	followers []*follower
	survey    *survey      // nil until all have joined
	step      *runlog.Step // the last that was announced, nil before
	beginsAt  time.Time    // of that step, zero until all are ready
	stop      runlog.Stop  // why that step is to end on all machines, empty while it goes on
	withdraw  context.CancelCauseFunc
	isEnded   bool
}

// follower is what the leader knows of another machine.
type follower struct {
	hello
	log       *os.File // the copy of its log, nil before all have joined
	have      int64    // bytes of it
	lastSeen  time.Time
	ready     int // for so many steps
	ended     int // so many steps
	attempted int // requests of the present step, as it says
	account   runlog.Account
	run       runlog.Record
	kept      []runlog.Record // of the present step
	isClosed  bool            // the log has its end
	lost      string          // why, in a clause; empty where it is not
}

// survey is what the leader found out for all.
type survey struct {
	Run                 runlog.Run
	ModelLength         int
	Words               []string
	TokensPerWord       float64
	InputLen, PrefixLen int
}

// update changes what is known and tells all who wait.
func (l *Lead) update(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	if l.changed != nil {
		close(l.changed)
	}
	l.changed = make(chan struct{})
}

// wait returns when a condition holds, which is asked under the lock, or when ctx is done.
func (l *Lead) wait(ctx context.Context, holds func() bool) error {
	l.update(func() {}) // makes changed
	for {
		l.mu.Lock()
		isHeld, changed := holds(), l.changed
		l.mu.Unlock()
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

// present are the machines that are not lost. The caller holds mu.
func (l *Lead) present() []*follower {
	return slices.DeleteFunc(slices.Clone(l.followers), func(f *follower) bool { return f.lost != "" })
}

// gather waits for the other machines, and begins the copies of their logs.
func (l *Lead) gather(ctx context.Context, s *Session) error {
	d := &s.cfg.Dataset
	l.update(func() { l.session = s })
	joining, cancel := context.WithTimeout(ctx, l.JoinTimeout)
	defer cancel()
	err := l.wait(joining, func() bool { return len(l.followers) == l.Machines-1 })
	defer l.update(func() {}) // for those who wait for the survey
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		var missing []int
		for rank := 1; rank < l.Machines; rank++ {
			if !slices.ContainsFunc(l.followers, func(f *follower) bool { return f.Rank == rank }) {
				missing = append(missing, rank)
			}
		}
		return cmp.Or(ctx.Err(), error(&LostError{missing, fmt.Sprintf("did not join within %s", l.JoinTimeout)}))
	}
	slices.SortFunc(l.followers, func(a, b *follower) int { return a.Rank - b.Rank })
	for _, f := range l.followers {
		folder := rankFolder(s.result.Folder, runlog.Run{Rank: f.Rank, Machines: l.Machines})
		if err := os.Mkdir(folder, 0o755); err != nil {
			return err
		}
		if f.log, err = os.OpenFile(filepath.Join(folder, runlog.FileName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
			return err
		}
		f.lastSeen = time.Now()
	}
	l.survey = &survey{s.cfg.Run, s.modelLength, d.Words, d.TokensPerWord, d.InputLen, d.PrefixLen}
	ctx, l.unwatch = context.WithCancel(context.WithoutCancel(ctx))
	l.watching.Go(func() { l.watch(ctx) })
	return nil
}

// watch notices machines that are silent.
func (l *Lead) watch(ctx context.Context) {
	for ; ctx.Err() == nil; sleepUntil(ctx, time.Now().Add(silence/10)) {
		l.update(func() {
			for _, f := range l.present() {
				if !f.isClosed && time.Since(f.lastSeen) > silence {
					l.lose(f, fmt.Sprintf("has not been heard of for %s", silence))
				}
			}
		})
	}
}

// lose gives a machine up, and ends the step on all unless that is allowed. The caller holds mu.
func (l *Lead) lose(f *follower, why string) {
	f.lost = why
	hasBegun := func(rec runlog.Record) bool { return rec.Step != nil }
	if l.step != nil && slices.ContainsFunc(f.kept, hasBegun) {
		f.account.Unknown = max(0, f.attempted-f.account.Attempted)
		f.account.Attempted += f.account.Unknown
		end := runlog.Record{StepEnd: &runlog.StepEnd{Step: l.step.Index, Ended: l.session.clock.now(), Stop: runlog.StopLost, Account: f.account}}
		line, _ := json.Marshal(end) // it has no values that cannot be
		_, _ = f.log.Write(append(line, '\n'))
		f.kept = append(f.kept, end)
	}
	l.session.note("machine %d %s", f.Rank, why)
	if !l.AllowFewer {
		l.stopAll(runlog.StopVoid)
	}
}

// stopAll ends the step on all machines, the leader's part too. The caller holds mu.
func (l *Lead) stopAll(why runlog.Stop) {
	if l.stop = cmp.Or(l.stop, why); l.withdraw != nil {
		l.withdraw(stopError(l.stop))
	}
}

func (l *Lead) share() Share { return Share{Machines: l.Machines} }

func (l *Lead) announce(step runlog.Step) {
	l.update(func() {
		l.step, l.beginsAt, l.stop, l.withdraw = &step, time.Time{}, "", nil
		for _, f := range l.followers {
			f.attempted, f.account, f.kept = 0, runlog.Account{}, nil
		}
	})
}

func (l *Lead) begin(ctx context.Context, step *runlog.Step, withdraw context.CancelCauseFunc) error {
	l.update(func() { l.withdraw = withdraw })
	_ = l.wait(ctx, func() bool {
		return l.stop != "" || !slices.ContainsFunc(l.present(), func(f *follower) bool { return f.ready <= step.Index })
	})
	if lost := l.lostRanks(); lost != nil && !l.AllowFewer {
		return &LostError{lost, "was lost before step " + step.Name()}
	}
	step.Started = l.session.clock.now()
	if ctx.Err() == nil { // else the step shows it
		step.Started = step.Started.Add(notice)
		l.update(func() { l.beginsAt = step.Started })
	}
	return nil
}

func (l *Lead) lostRanks() (ranks []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.followers {
		if f.lost != "" {
			ranks = append(ranks, f.Rank)
		}
	}
	return ranks
}

func (l *Lead) others() (all runlog.Account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.followers {
		all.Add(f.account)
	}
	return all
}

func (l *Lead) end(ctx context.Context, end *runlog.StepEnd) (records []runlog.Record) {
	if end.Stop.Early() {
		l.update(func() { l.stopAll(end.Stop) })
	}
	defer context.AfterFunc(ctx, func() { l.update(func() { l.stopAll(runlog.StopInterrupted) }) })()
	_ = l.wait(context.WithoutCancel(ctx), func() bool {
		return !slices.ContainsFunc(l.present(), func(f *follower) bool { return f.ended <= end.Step })
	})
	all := end.Account
	all.Add(l.others())
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := l.step.MaxFailureRatio
	switch {
	case l.stop != "":
		end.Stop = l.stop
	case limit > 0 && all.FailureRatio() > limit:
		end.Stop = runlog.StopFailureRatio
	}
	for _, f := range l.followers {
		if len(f.kept) > 0 {
			records = append(append(records, f.run), f.kept...)
		}
	}
	return records
}

// dismiss tells the others that the run has ended, and waits for the ends of their logs.
func (l *Lead) dismiss() {
	l.update(func() { l.isEnded = true })
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_ = l.wait(ctx, func() bool {
		return !slices.ContainsFunc(l.present(), func(f *follower) bool { return !f.isClosed })
	})
	l.unwatch()
	l.watching.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.followers {
		_ = errors.Join(f.log.Sync(), f.log.Close()) // what is missing shows: the log has no end
	}
}

// take takes a record of another machine.
func (l *Lead) take(f *follower, rec runlog.Record) {
	if rec.Request != nil {
		l.session.requestDone(rec.Request)
	}
	l.update(func() {
		switch {
		case rec.Run != nil:
			f.run = rec
			return
		case rec.Step != nil:
			f.kept = []runlog.Record{rec}
			return
		case rec.Request != nil:
			var why openai.Reason
			if failure := rec.Request.Trace.Failure; failure != nil {
				why = failure.Reason
			}
			f.account.Count(why)
		case rec.StepEnd != nil:
			f.ended = rec.StepEnd.Step + 1
		case rec.RunEnd != nil:
			f.isClosed = true
		}
		if l.session.isKept() {
			f.kept = append(f.kept, rec)
		}
		if end := rec.StepEnd; end != nil && end.Stop.Early() && l.stop == "" && !l.isEnded {
			if end.Stop == runlog.StopUnreachable {
				l.stopAll(end.Stop)
				return
			}
			l.lose(f, "was interrupted")
		}
	})
}
