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
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
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

// Leader is how a machine reaches the one that leads it.
type Leader struct {
	URL         string
	Client      *http.Client
	Share       Share
	Identity    Identity
	JoinTimeout time.Duration
	Clock       func() time.Time // the machine's clock, [time.Now] when nil
}

// Follow puts on a share of a load as its leader says. The log is at the leader when it returns without an error; else
// it is in [Result.Folder]. Watchers see this machine's share.
func Follow(ctx context.Context, cfg Config, leader Leader, watchers ...Watcher) (Result, error) {
	s := newSession(cfg, watchers)
	if leader.Clock != nil {
		s.clock = newClock(leader.Clock())
	}
	f := &following{Leader: leader, id: openai.NewRequestID(), session: s, own: *s.clock, piece: make([]byte, maxPiece), zip: gzip.NewWriter(nil)}
	s.team, s.share = f, leader.Share
	var found survey
	if err := f.join(ctx, &found); err != nil {
		return s.result, fmt.Errorf("joining the load of %s: %w", f.URL, err)
	}
	// As [Open], with what the leader found out in place of questions to the endpoint.
	d := &s.cfg.Dataset
	found.Run.Command, found.Run.Metadata = s.cfg.Run.Command, s.cfg.Run.Metadata
	s.cfg.Run, s.modelLength = found.Run, found.ModelLength
	s.sources = []*source{{kind: runlog.SourceClient, read: readSelf}}
	if err := s.prepareDataset(ctx); err != nil {
		return s.result, err
	}
	d.Words, d.TokensPerWord, d.InputLen, d.PrefixLen = found.Words, found.TokensPerWord, found.InputLen, found.PrefixLen
	if err := s.openLog(ctx); err != nil {
		return s.result, err
	}
	log, err := os.Open(filepath.Join(rankFolder(s.result.Folder, s.cfg.Run), runlog.FileName))
	if err != nil {
		return s.result, err
	}
	defer log.Close()
	leading, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	over, synced := make(chan struct{}), make(chan error, 1)
	go func() {
		err := f.keepInStep(log, over)
		if err != nil {
			lose(err)
		}
		synced <- err
	}()
	for {
		var now state
		err = f.wait(leading, func() bool {
			now = f.state
			return now.IsEnded || now.Step != nil && now.Step.Index >= f.ready
		})
		if err != nil || now.IsEnded {
			break
		}
		if err = s.run(leading, *now.Step); err != nil {
			break
		}
	}
	_, closing := s.Close()
	close(over)
	if err = cmp.Or(<-synced, err, closing); err != nil {
		return s.result, fmt.Errorf("%w (what was measured here is kept in %s)", err, s.result.Folder)
	}
	return s.result, os.RemoveAll(s.result.Folder)
}

type following struct {
	Leader
	id      string
	session *Session
	own     clock // of this machine
	piece   []byte
	zip     *gzip.Writer

	board
	state           // as the leader has said
	ready    int    // for so many steps
	step     int    // the present one
	meter    *Meter // of that step, nil before the first
	withdraw context.CancelCauseFunc
}

// join waits for the leader, and for what it found out.
func (f *following) join(ctx context.Context, found *survey) error {
	ctx, cancel := context.WithTimeout(ctx, f.JoinTimeout)
	defer cancel()
	body, err := json.Marshal(hello{f.id, f.Share.Rank, f.Share.Machines, f.Identity})
	if err != nil {
		return err
	}
	for {
		err = f.ask(ctx, "/join", url.Values{}, body, found)
		if err == nil || errors.As(err, new(*refusedError)) || ctx.Err() != nil {
			return err
		}
		sleepUntil(ctx, time.Now().Add(readyPause))
	}
}

func (f *following) announce(step runlog.Step) {
	f.update(func() { f.step, f.withdraw = step.Index, nil })
}

func (f *following) begin(ctx context.Context, step *runlog.Step, m *Meter, withdraw context.CancelCauseFunc) error {
	// As NTP does, by the shortest of several round trips, of which either way may have taken all.
	const tries = 10
	for range tries {
		var now state
		asked := time.Now()
		if err := f.ask(ctx, "/sync", f.standing(), nil, &now); err != nil {
			return err
		}
		half := time.Since(asked) / 2
		if step.Clock == nil || half < step.Clock.Uncertainty {
			step.Clock = &runlog.Clock{Offset: now.Now.Sub(f.own.at(asked.Add(half))), Uncertainty: half}
		}
	}
	f.session.clock.logged = f.own.logged.Add(step.Clock.Offset)
	f.update(func() { f.meter, f.withdraw, f.ready = m, withdraw, step.Index+1 })
	_ = f.wait(ctx, func() bool {
		isOther := f.IsEnded || f.Step.Index != step.Index
		step.Started = f.BeginsAt
		return isOther || f.Stop != "" || !f.BeginsAt.IsZero()
	})
	if step.Started.IsZero() { // it is to end before it begins
		step.Started = f.session.clock.now()
		withdraw(stopError(runlog.StopInterrupted))
	}
	return nil
}

// keepInStep tells the leader how this machine stands and sends its log, until over is closed and all of it is there. It
// fails where the leader is silent for too long, or does not want this machine.
func (f *following) keepInStep(log io.ReaderAt, over <-chan struct{}) error {
	heard, isOver := time.Now(), false
	for {
		isThere, err := f.sync(log)
		switch {
		case isThere && isOver:
			return nil
		case err == nil:
			heard = time.Now()
		case errors.As(err, new(*refusedError)):
			return err
		case time.Since(heard) > silence:
			return fmt.Errorf("the leader has not answered for %s: %w", silence, err)
		}
		pause := time.After(syncPause)
		select {
		case <-over:
			if isOver {
				<-pause
			}
			isOver = true
		case <-pause:
		}
	}
}

// sync sends what the leader has not got of the log, and reports whether it then has all that was written before.
func (f *following) sync(log io.ReaderAt) (isThere bool, err error) {
	at := f.Have
	n, err := log.ReadAt(f.piece, at)
	isRead := errors.Is(err, io.EOF)
	if err != nil && !isRead {
		return false, err
	}
	var body bytes.Buffer
	if n > 0 {
		f.zip.Reset(&body)
		_, _ = f.zip.Write(f.piece[:n]) // to memory
		_ = f.zip.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), silence-time.Second)
	defer cancel()
	var now state
	if err := f.ask(ctx, "/sync", f.standing(), body.Bytes(), &now); err != nil {
		return false, err
	}
	f.update(func() {
		if f.state = now; now.Stop != "" && now.Step.Index == f.step && f.withdraw != nil {
			f.withdraw(stopError(now.Stop))
		}
	})
	return isRead && now.Have == at+int64(n), nil
}

func (f *following) standing() url.Values {
	f.mu.Lock()
	defer f.mu.Unlock()
	attempted := int64(0)
	if f.meter != nil {
		attempted = f.meter.Attempted.Load()
	}
	return url.Values{"at": {fmt.Sprint(f.Have)}, "ready": {fmt.Sprint(f.ready)}, "attempted": {fmt.Sprint(attempted)}}
}

// refusedError is that the leader does not want this machine.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return "refused: " + e.text }

func (f *following) ask(ctx context.Context, path string, query url.Values, body []byte, into any) error {
	query.Set("id", f.id)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL+path+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := f.Client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return json.NewDecoder(resp.Body).Decode(into)
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	said := resp.Status + ": " + strings.TrimSpace(string(text))
	if resp.StatusCode < http.StatusInternalServerError {
		return &refusedError{said}
	}
	return errors.New(said)
}
