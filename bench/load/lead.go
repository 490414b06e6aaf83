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
	"strconv"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Lead leads the other machines of a load: it tells them each step and when to begin, and takes their logs. [Lead.Handler]
// is to be served before the session opens. The zero value is a load of one machine.
type Lead struct {
	Machines    int // the leader among them
	Identity    Identity
	JoinTimeout time.Duration
	AllowFewer  bool // goes on without machines that are lost

	session  *Session
	watching sync.WaitGroup
	unwatch  context.CancelFunc

	board
	followers []*follower
	survey    *survey // nil until all have joined
	state
	withdraw context.CancelCauseFunc // ends the leader's part of the step
}

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

// present are the machines that are not lost. The caller holds mu.
func (l *Lead) present() []*follower {
	return slices.DeleteFunc(slices.Clone(l.followers), func(f *follower) bool { return f.lost != "" })
}

// waitFor returns when something is true of each machine that is not lost.
func (l *Lead) waitFor(ctx context.Context, done func(f *follower) bool) {
	_ = l.wait(ctx, func() bool {
		return !slices.ContainsFunc(l.present(), func(f *follower) bool { return !done(f) })
	})
}

func (l *Lead) gather(ctx context.Context) error {
	joining, cancel := context.WithTimeout(ctx, l.JoinTimeout)
	defer cancel()
	err := l.wait(joining, func() bool { return len(l.followers) >= l.Machines-1 })
	if err == nil {
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

// open begins the copies of the other machines' logs, tells them what was found out, and notices those that are silent.
func (l *Lead) open(ctx context.Context, s *Session) error {
	d := &s.cfg.Dataset
	var err error
	l.update(func() {
		slices.SortFunc(l.followers, func(a, b *follower) int { return a.Rank - b.Rank })
		for _, f := range l.followers {
			folder := rankFolder(s.result.Folder, runlog.Run{Rank: f.Rank, Machines: l.Machines})
			if err = os.Mkdir(folder, 0o755); err == nil {
				f.log, err = os.OpenFile(filepath.Join(folder, runlog.FileName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
			}
			if err != nil {
				return
			}
			f.lastSeen = time.Now().Add(l.JoinTimeout) // it reads its prompts first
		}
		l.session, l.survey = s, &survey{s.cfg.Run, s.modelLength, d.Words, d.TokensPerWord, d.InputLen, d.PrefixLen}
	})
	if err != nil {
		return fmt.Errorf("making the logs of other machines: %w", err)
	}
	if l.Machines < 2 {
		return nil
	}
	ctx, l.unwatch = context.WithCancel(context.WithoutCancel(ctx))
	l.watching.Go(func() {
		for ; ctx.Err() == nil; sleepUntil(ctx, time.Now().Add(silence/10)) {
			l.update(func() {
				for _, f := range l.present() {
					if !f.isClosed && time.Since(f.lastSeen) > silence {
						l.lose(f, fmt.Sprintf("has not been heard of for %s", silence))
					}
				}
			})
		}
	})
	return nil
}

// lose gives a machine up, and ends the step on all unless that is allowed. The caller holds mu.
func (l *Lead) lose(f *follower, why string) {
	f.lost = why
	if slices.ContainsFunc(f.kept, func(rec runlog.Record) bool { return rec.Step != nil }) {
		f.account.Unknown = max(0, f.attempted-f.account.Attempted)
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

func (l *Lead) announce(step runlog.Step) {
	step.MaxFailureRatio = 0 // which the leader judges over all
	l.update(func() {
		l.state, l.withdraw = state{Step: &step}, nil
		for _, f := range l.followers {
			f.attempted, f.account, f.kept = 0, runlog.Account{}, nil
		}
	})
}

func (l *Lead) begin(ctx context.Context, step *runlog.Step, _ *Meter, withdraw context.CancelCauseFunc) error {
	l.update(func() { l.withdraw = withdraw })
	l.waitFor(ctx, func(f *follower) bool { return f.ready > step.Index })
	step.Started = l.session.clock.now()
	l.update(func() {
		switch {
		case len(l.present()) < len(l.followers) && !l.AllowFewer:
			l.stopAll(runlog.StopVoid)
		case l.Machines > 1 && ctx.Err() == nil: // else the step shows it
			step.Started = step.Started.Add(notice)
			l.BeginsAt = step.Started
		}
	})
	return nil
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

// end waits until the step has ended on all machines. It changes why it stopped where they say so, and returns their
// records of it, each machine's behind its run.
func (l *Lead) end(ctx context.Context, end *runlog.StepEnd) (records []runlog.Record) {
	if end.Stop.Early() {
		l.update(func() { l.stopAll(end.Stop) })
	}
	defer context.AfterFunc(ctx, func() { l.update(func() { l.stopAll(runlog.StopInterrupted) }) })()
	l.waitFor(context.WithoutCancel(ctx), func(f *follower) bool { return f.ended > end.Step })
	l.mu.Lock()
	defer l.mu.Unlock()
	end.Stop = cmp.Or(l.Stop, end.Stop)
	for _, f := range l.followers {
		if len(f.kept) > 0 {
			records = append(append(records, f.run), f.kept...)
		}
	}
	return records
}

// dismiss tells the others that the run has ended, and waits for the ends of their logs.
func (l *Lead) dismiss() {
	if l.Machines < 2 {
		return
	}
	l.update(func() { l.IsEnded = true })
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	l.waitFor(ctx, func(f *follower) bool { return f.isClosed })
	l.unwatch()
	l.watching.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.followers {
		_ = errors.Join(f.log.Sync(), f.log.Close()) // what is missing shows: the log has no end
	}
}

// take takes the whole lines of a piece of another machine's log, and returns its requests. The caller holds mu.
func (l *Lead) take(f *follower, piece []byte) (requests []*runlog.Request) {
	for line := range bytes.Lines(piece) {
		rec, err := runlog.Decode(line)
		if err != nil {
			continue // as a report does
		}
		switch {
		case rec.Run != nil:
			f.run = rec
			continue
		case rec.Request != nil:
			f.account.Count(rec.Request.Reason())
			requests = append(requests, rec.Request)
		case rec.StepEnd != nil:
			f.ended = rec.StepEnd.Step + 1
		case rec.RunEnd != nil:
			f.isClosed = true
		}
		if rec.Step != nil || l.session.keeps {
			f.kept = append(f.kept, rec)
		}
		switch end := rec.StepEnd; {
		case end == nil || !end.Stop.Early() || l.Stop != "" || l.IsEnded:
		case end.Stop == runlog.StopUnreachable:
			l.stopAll(end.Stop)
		default:
			l.lose(f, "was interrupted")
		}
	}
	return requests
}

// Handler serves the other machines.
func (l *Lead) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /join", l.serveJoin)
	mux.HandleFunc("POST /sync", l.serveSync)
	return mux
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// serveJoin takes a machine into the load, and answers with what the leader found out when all have come.
func (l *Lead) serveJoin(w http.ResponseWriter, r *http.Request) {
	var h hello
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxPiece)).Decode(&h); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	why := ""
	l.update(func() {
		at := slices.IndexFunc(l.followers, func(f *follower) bool { return f.Rank == h.Rank })
		switch {
		case h.Rank < 1 || h.Rank >= l.Machines || h.Machines != l.Machines:
			why = fmt.Sprintf("of %d is none of the leader's %d", h.Machines, l.Machines)
		case at >= 0 && l.followers[at].ID != h.ID:
			why = "has joined before: give each machine a --rank of its own"
		case at < 0:
			for _, name := range slices.Concat(slices.Collect(maps.Keys(h.Identity)), slices.Collect(maps.Keys(l.Identity))) {
				if h.Identity[name] != l.Identity[name] {
					why = fmt.Sprintf("has another %s than the leader", name)
				}
			}
			if why == "" {
				l.followers = append(l.followers, &follower{hello: h})
			}
		}
	})
	if why != "" {
		http.Error(w, fmt.Sprintf("machine %d %s", h.Rank, why), http.StatusConflict)
		return
	}
	if l.wait(r.Context(), func() bool { return l.survey != nil }) == nil {
		answer(w, l.survey)
	}
}

// serveSync takes how a machine stands and a piece of its log that continues what is there, and answers how the load stands.
func (l *Lead) serveSync(w http.ResponseWriter, r *http.Request) {
	var piece []byte
	var err error
	if r.ContentLength != 0 {
		var unzip *gzip.Reader
		if unzip, err = gzip.NewReader(io.LimitReader(r.Body, maxPiece)); err == nil {
			piece, err = io.ReadAll(io.LimitReader(unzip, maxPiece))
		}
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	number := func(name string) int {
		n, _ := strconv.Atoi(r.FormValue(name))
		return n
	}
	piece = piece[:bytes.LastIndexByte(piece, '\n')+1]
	var now state
	var requests []*runlog.Request
	isKnown := false
	l.update(func() {
		i := slices.IndexFunc(l.followers, func(f *follower) bool { return f.ID == r.FormValue("id") && f.log != nil && f.lost == "" })
		if isKnown = i >= 0; !isKnown {
			return
		}
		f := l.followers[i]
		f.lastSeen, f.ready, f.attempted = time.Now(), number("ready"), number("attempted")
		if int64(number("at")) == f.have && len(piece) > 0 {
			if _, err = f.log.Write(piece); err == nil {
				f.have += int64(len(piece))
				requests = l.take(f, piece)
			}
		}
		now = l.state
		now.Now, now.Have = l.session.clock.now(), f.have
	})
	for _, q := range requests {
		l.session.requestDone(q)
	}
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	case !isKnown:
		http.Error(w, "the load goes on without this machine", http.StatusGone)
	default:
		answer(w, now)
	}
}
