package load

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	maxHello = 1 << 20  // bytes of a message
	maxPiece = 16 << 20 // bytes of a log that come at once, unpacked
	longPoll = 20 * time.Second
)

// hello is what a machine says of itself when it joins.
type hello struct {
	ID             string // random: the same machine may ask again
	Rank, Machines int
	Identity       Identity
}

// order is what a machine is to do next: a step, or to end.
type order struct {
	Step    *runlog.Step
	IsEnded bool
}

// start is when a step begins, by the leader's clock, or why it does not.
type start struct {
	At   time.Time
	Stop runlog.Stop
}

// receipt is how much of a log the leader has, and why the present step is to end there, empty while it goes on.
type receipt struct {
	Have int64
	Step int
	Stop runlog.Stop
}

// Handler serves the other machines.
func (l *Lead) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /join", l.serveJoin)
	mux.HandleFunc("GET /clock", func(w http.ResponseWriter, _ *http.Request) {
		l.mu.Lock()
		now := l.session.clock.now()
		l.mu.Unlock()
		answer(w, now)
	})
	mux.HandleFunc("GET /step", l.known(l.serveStep))
	mux.HandleFunc("POST /ready", l.known(l.serveReady))
	mux.HandleFunc("POST /log", l.known(l.serveLog))
	return mux
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// serveJoin takes a machine into the load, and answers with what the leader found out when all are there.
func (l *Lead) serveJoin(w http.ResponseWriter, r *http.Request) {
	var h hello
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxHello)).Decode(&h); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	why := ""
	l.update(func() {
		if why = l.refusal(h); why == "" && !slices.ContainsFunc(l.followers, func(f *follower) bool { return f.ID == h.ID }) {
			l.followers = append(l.followers, &follower{hello: h, lastSeen: time.Now()})
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

// refusal says in a clause why a machine may not join, empty where it may. The caller holds mu.
func (l *Lead) refusal(h hello) string {
	if h.Rank < 1 || h.Rank >= l.Machines || h.Machines != l.Machines {
		return fmt.Sprintf("of %d is none of the leader's %d", h.Machines, l.Machines)
	}
	for _, f := range l.followers {
		if f.Rank == h.Rank && f.ID != h.ID {
			return "has joined before: give each machine a --rank of its own"
		}
	}
	return h.Identity.difference(l.Identity)
}

// known serves machines that have joined, and are not lost.
func (l *Lead) known(serve func(http.ResponseWriter, *http.Request, *follower)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var f *follower
		l.update(func() {
			i := slices.IndexFunc(l.present(), func(f *follower) bool { return f.ID == r.FormValue("id") && f.log != nil })
			if i >= 0 {
				f = l.present()[i]
				f.lastSeen = time.Now()
			}
		})
		if f == nil {
			http.Error(w, "the load goes on without this machine", http.StatusGone)
			return
		}
		serve(w, r, f)
	}
}

// serveStep answers with the machine's next step when it is known, or with nothing after a while.
func (l *Lead) serveStep(w http.ResponseWriter, r *http.Request, _ *follower) {
	next, _ := strconv.Atoi(r.FormValue("next"))
	after := time.AfterFunc(longPoll, func() { l.update(func() {}) })
	defer after.Stop()
	until := time.Now().Add(longPoll)
	var o order
	err := l.wait(r.Context(), func() bool {
		if o.IsEnded = l.isEnded; l.step != nil && l.step.Index >= next {
			step := *l.step
			step.MaxFailureRatio = 0 // the leader judges that
			o.Step = &step
		}
		return o.IsEnded || o.Step != nil || time.Now().After(until)
	})
	if err == nil {
		answer(w, o)
	}
}

// serveReady takes that a machine is ready for a step, and answers when all are.
func (l *Lead) serveReady(w http.ResponseWriter, r *http.Request, f *follower) {
	step, _ := strconv.Atoi(r.FormValue("step"))
	l.update(func() { f.ready = step + 1 })
	var s start
	err := l.wait(r.Context(), func() bool {
		s = start{l.beginsAt, l.stop}
		return !s.At.IsZero() || s.Stop != "" || l.isEnded
	})
	if err == nil {
		answer(w, s)
	}
}

// serveLog takes the whole lines of a piece of a log, where it continues what is there.
func (l *Lead) serveLog(w http.ResponseWriter, r *http.Request, f *follower) {
	at, _ := strconv.ParseInt(r.FormValue("at"), 10, 64)
	attempted, _ := strconv.Atoi(r.FormValue("attempted"))
	piece, err := unpacked(r.Body, r.ContentLength)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	piece = piece[:bytes.LastIndexByte(piece, '\n')+1]
	isNew := false
	l.update(func() {
		f.attempted = attempted
		if isNew = at == f.have && len(piece) > 0; isNew {
			_, err = f.log.Write(piece)
			f.have += int64(len(piece))
		}
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for line := range bytes.Lines(piece) {
		if rec, err := runlog.Decode(line); isNew && err == nil {
			l.take(f, rec)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	reply := receipt{Have: f.have, Stop: l.stop}
	if l.step != nil {
		reply.Step = l.step.Index
	}
	answer(w, reply)
}

func unpacked(body io.Reader, packed int64) ([]byte, error) {
	if packed == 0 {
		return nil, nil
	}
	unzip, err := gzip.NewReader(io.LimitReader(body, maxPiece))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(unzip, maxPiece))
}
