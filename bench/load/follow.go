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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const (
	shipPause  = 250 * time.Millisecond // between pieces of the log
	pieceSize  = 1 << 20                // bytes, and a line may be as long
	clockTries = 10
)

// Leader is how a machine reaches the one that leads it.
type Leader struct {
	URL         string
	Client      *http.Client
	Share       Share
	Identity    Identity
	JoinTimeout time.Duration
	// Clock is the machine's clock, [time.Now] when nil.
	Clock func() time.Time
}

// Follow puts on a share of a load as its leader says. The log is at the leader when it returns without an error; else
// it is in Folder. Its watchers see this machine's share.
func Follow(ctx context.Context, cfg Config, leader Leader, watchers ...Watcher) (Result, error) {
	f := &following{Leader: leader, id: openai.NewRequestID(), piece: make([]byte, pieceSize), zip: gzip.NewWriter(nil)}
	f.session = newSession(cfg, append(watchers, f))
	if leader.Clock != nil {
		f.session.clock = newClock(leader.Clock())
	}
	f.session.team, f.own = f, *f.session.clock
	err := f.run(ctx)
	return f.session.result, err
}

// following is a machine that is led.
type following struct {
	Leader
	id      string
	session *Session
	own     clock // of this machine
	sent    int64 // bytes of the log that the leader has
	piece   []byte
	zip     *gzip.Writer

	mu       sync.Mutex
	step     int // the present one
	withdraw context.CancelCauseFunc
	meter    atomic.Pointer[Meter]
}

// run joins the load, and runs its steps until the leader ends it.
func (f *following) run(ctx context.Context) error {
	p, err := f.join(ctx)
	if err != nil {
		return fmt.Errorf("joining the load of %s: %w", f.URL, err)
	}
	if err := f.open(ctx, p); err != nil {
		return err
	}
	leading, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	done, shipped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(shipped)
		if err := f.ship(done); err != nil {
			f.stopStep(runlog.StopInterrupted)
			lose(err)
		}
	}()
	err = f.steps(leading)
	_, closing := f.session.Close()
	close(done)
	<-shipped
	folder := f.session.result.Folder
	if err = cmp.Or(context.Cause(leading), err, closing); err != nil {
		return fmt.Errorf("%w (what was measured here is kept in %s)", err, folder)
	}
	return os.RemoveAll(folder)
}

// steps runs what the leader orders.
func (f *following) steps(ctx context.Context) error {
	for next := 0; ; {
		var o order
		if err := f.ask(ctx, http.MethodGet, "/step", url.Values{"next": {strconv.Itoa(next)}}, nil, &o); err != nil {
			return err
		}
		switch {
		case o.IsEnded:
			return nil
		case o.Step != nil:
			if err := f.session.run(ctx, *o.Step); err != nil {
				return err
			}
			next = o.Step.Index + 1
		}
	}
}

// join waits for the leader, and for what it found out.
func (f *following) join(ctx context.Context) (p survey, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.JoinTimeout)
	defer cancel()
	body, err := json.Marshal(hello{f.id, f.Share.Rank, f.Share.Machines, f.Identity})
	if err != nil {
		return p, err
	}
	for {
		var refused *refusedError
		err = f.ask(ctx, http.MethodPost, "/join", nil, body, &p)
		if err == nil || errors.As(err, &refused) || ctx.Err() != nil {
			return p, err
		}
		sleepUntil(ctx, time.Now().Add(readyPause))
	}
}

// open is [Open] with what the leader found out in place of questions to the endpoint.
func (f *following) open(ctx context.Context, p survey) error {
	s := f.session
	command, metadata := s.cfg.Run.Command, s.cfg.Run.Metadata
	s.cfg.Run, s.modelLength = p.Run, p.ModelLength
	s.cfg.Run.Command, s.cfg.Run.Metadata = command, metadata
	s.sources = []*source{{kind: runlog.SourceClient, read: readSelf}}
	if err := s.prepareDataset(ctx); err != nil {
		return err
	}
	d := &s.cfg.Dataset
	d.Words, d.TokensPerWord, d.InputLen, d.PrefixLen = p.Words, p.TokensPerWord, p.InputLen, p.PrefixLen
	return s.openLog(ctx)
}

func (f *following) share() Share { return f.Share }

func (f *following) announce(step runlog.Step) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step, f.withdraw = step.Index, nil
}

func (f *following) begin(ctx context.Context, step *runlog.Step, withdraw context.CancelCauseFunc) error {
	f.mu.Lock()
	f.withdraw = withdraw
	f.mu.Unlock()
	var err error
	if step.Clock, err = f.readClock(ctx); err != nil {
		return err
	}
	f.session.clock.logged = f.own.logged.Add(step.Clock.Offset)
	var s start
	if err := f.ask(ctx, http.MethodPost, "/ready", url.Values{"step": {strconv.Itoa(step.Index)}}, nil, &s); err != nil {
		return err
	}
	if step.Started = s.At; s.At.IsZero() {
		step.Started = f.session.clock.now()
		withdraw(stopError(cmp.Or(s.Stop, runlog.StopInterrupted)))
	}
	return nil
}

// readClock holds this machine's clock against the leader's, as NTP does: by the shortest of several round trips, of
// which either way may have taken all.
func (f *following) readClock(ctx context.Context) (*runlog.Clock, error) {
	var best *runlog.Clock
	for range clockTries {
		var theirs time.Time
		asked := time.Now()
		if err := f.ask(ctx, http.MethodGet, "/clock", nil, nil, &theirs); err != nil {
			return nil, err
		}
		half := time.Since(asked) / 2
		if best == nil || half < best.Uncertainty {
			best = &runlog.Clock{Offset: theirs.Sub(f.own.at(asked.Add(half))), Uncertainty: half}
		}
	}
	return best, nil
}

func (f *following) others() runlog.Account { return runlog.Account{} }

func (f *following) end(context.Context, *runlog.StepEnd) []runlog.Record { return nil }

// RunStarted implements [Watcher].
func (f *following) RunStarted(runlog.Run) {}

// StepStarted keeps the meter, of which the leader is told.
func (f *following) StepStarted(_ runlog.Step, m *Meter) { f.meter.Store(m) }

// RequestDone implements [Watcher].
func (f *following) RequestDone(*runlog.Request) {}

// StepEnded implements [Watcher].
func (f *following) StepEnded(runlog.StepEnd) {}

// ship sends the log to the leader as it grows, until done is closed and all of it is there. It fails where the leader
// is silent for too long, or does not want it.
func (f *following) ship(done <-chan struct{}) error {
	s := f.session
	log, err := os.Open(filepath.Join(rankFolder(s.result.Folder, s.cfg.Run), runlog.FileName))
	if err != nil {
		return err
	}
	defer log.Close()
	heard, isDone := time.Now(), false
	for {
		n, err := f.shipPiece(log)
		var refused *refusedError
		switch {
		case err == nil:
			heard = time.Now()
		case errors.As(err, &refused):
			return err
		case time.Since(heard) > silence:
			return fmt.Errorf("the leader has not answered for %s: %w", silence, err)
		}
		if isDone && n == 0 && err == nil {
			return nil
		}
		select {
		case <-done:
			isDone = true
			time.Sleep(shipPause / 10)
		case <-time.After(shipPause):
		}
	}
}

// shipPiece sends what the leader has not got, and returns how many bytes of it that were.
func (f *following) shipPiece(log io.ReaderAt) (n int, err error) {
	n, err = log.ReadAt(f.piece, f.sent)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, err
	}
	var body bytes.Buffer
	if n > 0 { // else the leader only hears that this machine is there
		f.zip.Reset(&body)
		_, _ = f.zip.Write(f.piece[:n]) // to memory
		_ = f.zip.Close()
	}
	query := url.Values{"at": {strconv.FormatInt(f.sent, 10)}}
	if m := f.meter.Load(); m != nil {
		query.Set("attempted", strconv.FormatInt(m.Attempted.Load(), 10))
	}
	ctx, cancel := context.WithTimeout(context.Background(), silence-time.Second)
	defer cancel()
	var r receipt
	if err := f.ask(ctx, http.MethodPost, "/log", query, body.Bytes(), &r); err != nil {
		return n, err
	}
	f.sent = r.Have
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Stop != "" && r.Step == f.step && f.withdraw != nil {
		f.withdraw(stopError(r.Stop))
	}
	return n, nil
}

// stopStep ends this machine's part of the step.
func (f *following) stopStep(why runlog.Stop) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.withdraw != nil {
		f.withdraw(stopError(why))
	}
}

// refusedError is that the leader does not want this machine.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return "refused: " + e.text }

// ask asks the leader, and reads its answer.
func (f *following) ask(ctx context.Context, method, path string, query url.Values, body []byte, into any) error {
	if query == nil {
		query = url.Values{}
	}
	query.Set("id", f.id)
	req, err := http.NewRequestWithContext(ctx, method, f.URL+path+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := f.Client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		err := errors.New(resp.Status + ": " + strings.TrimSpace(string(text)))
		if resp.StatusCode < http.StatusInternalServerError {
			return &refusedError{err.Error()}
		}
		return err
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxPiece)).Decode(into)
}
