package load

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Lead leads the other machines of a load: it tells them each step and when to begin, and takes their logs. It is to be
// served before the session opens. The zero value is a load of one machine.
type Lead struct {
	Machines    int // the leader among them
	Identity    Identity
	JoinTimeout time.Duration
	AllowFewer  bool // goes on without machines that are lost

	session *Session

	board
	followers []*follower
	survey    *survey // nil until all have joined
	state
	own, whole *Meter                  // of the leader's part of the present step, and of all
	withdraw   context.CancelCauseFunc // ends the leader's part
}

type follower struct {
	message           // its last
	log      *os.File // the copy of its log, nil before all have joined
	have     int64    // bytes of it
	watchdog *time.Timer
	ended    int // so many steps
	account  runlog.Account
	kept     []runlog.Record // of the present step
	isClosed bool            // the log has its end
	lost     string          // why, in a clause; empty where it is not
}

// waitFor returns when something is true of each machine that is not lost.
func (l *Lead) waitFor(ctx context.Context, done func(f *follower) bool) {
	_ = l.wait(ctx, func() bool {
		return !slices.ContainsFunc(l.followers, func(f *follower) bool { return f.lost == "" && !done(f) })
	})
}

func (l *Lead) gather(ctx context.Context) error {
	joining, cancel := context.WithTimeout(ctx, l.JoinTimeout)
	defer cancel()
	if l.wait(joining, func() bool { return len(l.followers) >= l.Machines-1 }) == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var missing []int // ranks
	for rank := 1; rank < l.Machines; rank++ {
		if !slices.ContainsFunc(l.followers, func(f *follower) bool { return f.Rank == rank }) {
			missing = append(missing, rank)
		}
	}
	return cmp.Or(ctx.Err(), fmt.Errorf("these machines did not join within %s: %v", l.JoinTimeout, missing))
}

// open begins the copies of the other machines' logs, and tells them what was found out.
func (l *Lead) open(s *Session) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortFunc(l.followers, func(a, b *follower) int { return a.Rank - b.Rank })
	for _, f := range l.followers {
		folder := rankFolder(s.result.Folder, runlog.Run{Rank: f.Rank, Machines: l.Machines})
		err := os.Mkdir(folder, 0o755)
		if err == nil {
			f.log, err = os.Create(filepath.Join(folder, runlog.FileName))
		}
		if err != nil {
			return fmt.Errorf("making the logs of other machines: %w", err)
		}
		f.watchdog = time.AfterFunc(l.JoinTimeout, func() { // it reads its prompts first
			l.update(func() { l.lose(f, "sent no message in time") })
		})
	}
	l.session, l.survey = s, &survey{s.cfg.Run, s.cfg.Dataset, s.modelLength}
	return nil
}

// lose gives a machine up, and ends the step on all unless that is allowed. The caller holds mu.
func (l *Lead) lose(f *follower, why string) {
	if f.isClosed || f.lost != "" {
		return
	}
	f.lost = why
	if slices.ContainsFunc(f.kept, func(rec runlog.Record) bool { return rec.Step != nil && f.ended <= rec.Step.Index }) {
		f.account.Unknown = max(0, int(f.Counts[0])-f.account.Attempted)
		f.account.Attempted += f.account.Unknown
		end := runlog.Record{StepEnd: &runlog.StepEnd{Step: l.Step.Index, Ended: l.session.clock.now(), Stop: runlog.StopLost, Account: f.account}}
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
	if l.Stop = cmp.Or(l.Stop, why); l.withdraw != nil {
		l.withdraw(stopError(l.Stop))
	}
}

// announce tells all which step is next.
func (l *Lead) announce(step runlog.Step) {
	step.MaxFailureRatio = 0 // which the leader judges over all
	l.update(func() {
		l.state, l.withdraw = state{Step: &step}, nil
		for _, f := range l.followers {
			f.account, f.kept = runlog.Account{}, f.kept[:min(1, len(f.kept))]
		}
	})
}

// begin waits until all machines are ready, and says when the step begins. It returns the meter of all.
func (l *Lead) begin(ctx context.Context, step *runlog.Step, own *Meter, withdraw context.CancelCauseFunc) (*Meter, error) {
	l.update(func() {
		l.own, l.whole, l.withdraw = own, own, withdraw
		if l.Machines > 1 {
			l.whole = new(Meter)
		}
	})
	l.waitFor(ctx, func(f *follower) bool { return f.Ready > step.Index })
	step.Started = l.session.clock.now()
	l.update(func() {
		isLost := slices.ContainsFunc(l.followers, func(f *follower) bool { return f.lost != "" })
		switch {
		case isLost && !l.AllowFewer:
			l.stopAll(runlog.StopVoid)
		case l.Machines > 1 && ctx.Err() == nil: // else the step shows it
			step.Started = step.Started.Add(startDelay)
			l.BeginsAt = step.Started
		}
	})
	return l.whole, nil
}

// sum brings the meter of all machines up to date. The caller holds mu.
func (l *Lead) sum() {
	if l.whole == l.own {
		return
	}
	for i, counter := range l.whole.counters() {
		n := l.own.counters()[i].Load()
		for _, f := range l.followers {
			if f.Ready > l.Step.Index && f.lost == "" {
				n += f.Counts[i]
			}
		}
		counter.Store(n)
	}
	l.whole.FirstSent.Store(l.own.FirstSent.Load())
	l.whole.Reached.Store(l.own.Reached.Load())
	l.whole.SendingEnded.Store(l.own.SendingEnded.Load())
}

// others is what became of the requests of the other machines in this step.
func (l *Lead) others() (all runlog.Account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.followers {
		all.Add(f.account)
	}
	return all
}

// end waits until the step has ended on all machines. It sets end.Stop where another machine stopped the step, and
// returns the other machines' records of the step, those of each after its run.
func (l *Lead) end(ctx context.Context, end *runlog.StepEnd) (records []runlog.Record) {
	if end.Stop.Early() {
		l.update(func() { l.stopAll(end.Stop) })
	}
	defer context.AfterFunc(ctx, func() { l.update(func() { l.stopAll(runlog.StopInterrupted) }) })()
	l.waitFor(context.WithoutCancel(ctx), func(f *follower) bool { return f.ended > end.Step })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sum()
	end.Stop = cmp.Or(l.Stop, end.Stop)
	for _, f := range l.followers {
		if len(f.kept) > 1 {
			records = append(records, f.kept...)
		}
	}
	return records
}

// dismiss tells the others that the run has ended, and waits for the ends of their logs.
func (l *Lead) dismiss() {
	l.update(func() { l.IsEnded = true })
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	l.waitFor(ctx, func(f *follower) bool { return f.isClosed })
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.followers {
		f.watchdog.Stop()
		_ = errors.Join(f.log.Sync(), f.log.Close()) // what is missing shows: the log has no end
	}
}

// take takes the lines of a piece of another machine's log. The caller holds mu.
func (l *Lead) take(f *follower, piece []byte) {
	for line := range bytes.Lines(piece) {
		rec, err := runlog.Decode(line)
		if err != nil {
			continue // as a report does
		}
		switch {
		case rec.Request != nil:
			f.account.Count(rec.Request.Reason())
			l.session.requestDone(rec.Request)
		case rec.RunEnd != nil:
			if !l.IsEnded {
				l.lose(f, "left the load")
			}
			f.isClosed = true
		}
		if rec.Run != nil || rec.Step != nil || l.session.keeps {
			f.kept = append(f.kept, rec)
		}
		switch end := rec.StepEnd; {
		case end == nil || !end.Stop.Early() || l.Stop != "" || l.IsEnded:
		case end.Stop == runlog.StopUnreachable:
			l.stopAll(end.Stop)
		default:
			l.lose(f, "was interrupted")
		}
		if rec.StepEnd != nil {
			f.ended = rec.StepEnd.Step + 1
		}
	}
}

// join returns the machine that sent a message, added at its first, or why it is refused. The caller holds mu.
func (l *Lead) join(m message) (f *follower, refusal string) {
	at := slices.IndexFunc(l.followers, func(f *follower) bool { return f.Rank == m.Rank })
	switch {
	case m.Rank < 1 || m.Rank >= l.Machines || m.Machines != l.Machines:
		return nil, fmt.Sprintf("of %d is none of the leader's %d", m.Machines, l.Machines)
	case at >= 0 && l.followers[at].ID != m.ID:
		return nil, "has joined before: give each machine a --rank of its own"
	case at >= 0 && l.followers[at].lost != "":
		return nil, "was lost, and the load goes on without it"
	case at >= 0:
		return l.followers[at], ""
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(m.Identity)), slices.Collect(maps.Keys(l.Identity))) {
		if m.Identity[name] != l.Identity[name] {
			return nil, fmt.Sprintf("has another %s than the leader", name)
		}
	}
	f = &follower{message: m}
	l.followers = append(l.followers, f)
	return f, ""
}

// sync takes a machine's message and the piece of its log, if that continues the copy, and returns the load's state.
// refusal is why the machine may not take part, empty where it may.
func (l *Lead) sync(m message, piece []byte) (now state, refusal string, err error) {
	l.update(func() {
		var f *follower
		if f, refusal = l.join(m); refusal != "" || l.survey == nil {
			return
		}
		f.message = m
		if m.Identity == nil {
			f.watchdog.Reset(lostAfter)
		}
		if m.At == f.have && len(piece) > 0 {
			if _, err = f.log.Write(piece); err == nil {
				f.have += int64(len(piece))
				l.take(f, piece)
			}
		}
		l.sum()
		now = l.state
		now.Now, now.Have = l.session.clock.now(), f.have
		if m.Identity != nil {
			now.Survey = l.survey
		}
	})
	return now, refusal, err
}

// ServeHTTP answers a machine's message.
func (l *Lead) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m message
	var piece []byte
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 2*maxPiece)).Decode(&m)
	if err == nil && m.Log != nil {
		var unzip *gzip.Reader
		if unzip, err = gzip.NewReader(bytes.NewReader(m.Log)); err == nil {
			piece, err = io.ReadAll(io.LimitReader(unzip, maxPiece))
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	now, refusal, err := l.sync(m, piece)
	switch {
	case refusal != "":
		http.Error(w, fmt.Sprintf("machine %d %s", m.Rank, refusal), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(now) // the client may be gone
	}
}
