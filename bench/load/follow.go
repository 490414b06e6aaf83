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
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Follower puts on a share of a load as the machine that leads says.
type Follower struct {
	URL         string // of the leader
	Client      *http.Client
	Share       Share
	Identity    Identity
	JoinTimeout time.Duration
	Clock       func() time.Time // the machine's clock, [time.Now] when nil

	id      string
	session *Session
	own     clock    // of this machine
	found   *survey  // nil before all have joined
	log     *os.File // to be read

	board
	state                            // as the leader has said
	ready    int                     // for so many steps
	meter    *Meter                  // of the last of them
	withdraw context.CancelCauseFunc // ends that one
}

// Run puts on the share of each step. The log is at the leader when it returns without an error; else it is in
// [Result.Folder]. Watchers see this machine's share.
func (f *Follower) Run(ctx context.Context, cfg Config, watchers ...Watcher) (Result, error) {
	s := newSession(cfg, watchers)
	if f.Clock != nil {
		s.clock = newClock(f.Clock())
	}
	s.begin, s.share = f.begin, f.Share
	f.id, f.session, f.own, f.meter = openai.NewRequestID(), s, *s.clock, new(Meter)
	if err := f.join(ctx); err != nil {
		return s.result, fmt.Errorf("joining the load of %s: %w", f.URL, err)
	}
	if err := f.open(ctx); err != nil {
		return s.result, err
	}
	defer f.log.Close()
	beside, leading := errgroup.WithContext(ctx)
	over := make(chan struct{})
	beside.Go(func() error { return f.keepInStep(over) })
	err := f.takeSteps(leading)
	_, closing := s.Close()
	close(over)
	if err = cmp.Or(beside.Wait(), err, closing); err != nil {
		return s.result, fmt.Errorf("%w (what was measured here is kept in %s)", err, s.result.Folder)
	}
	return s.result, os.RemoveAll(s.result.Folder)
}

// join waits for the leader, and for what it found out.
func (f *Follower) join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, f.JoinTimeout)
	defer cancel()
	for {
		now, err := f.ask(ctx, nil)
		if f.found = now.Survey; f.found != nil || errors.Is(err, errRefused) {
			return err
		}
		if sleepUntil(ctx, time.Now().Add(readyPause)); ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
	}
}

// open is like [Open], but takes the leader's survey in place of checks of the endpoint and of the load.
func (f *Follower) open(ctx context.Context) (err error) {
	s, found := f.session, f.found
	found.Run.Command, found.Run.Metadata = s.cfg.Run.Command, s.cfg.Run.Metadata
	found.Dataset.Trace = s.cfg.Dataset.Trace
	s.cfg.Run, s.cfg.Dataset, s.modelLength = found.Run, found.Dataset, found.ModelLength
	s.sources = []*source{{kind: runlog.SourceClient, read: readSelf}}
	if err := s.prepareDataset(ctx); err != nil {
		return err
	}
	if err := s.openLog(ctx); err != nil {
		return err
	}
	f.log, err = os.Open(filepath.Join(rankFolder(s.result.Folder, s.cfg.Run), runlog.FileName))
	return err
}

func (f *Follower) takeSteps(ctx context.Context) error {
	for {
		var now state
		err := f.wait(ctx, func() bool {
			now = f.state
			return now.IsEnded || now.Step != nil && now.Step.Index >= f.ready
		})
		if err != nil || now.IsEnded {
			return err
		}
		if err := f.session.run(ctx, *now.Step); err != nil {
			return err
		}
	}
}

// begin finds out how the leader's clock stands, and waits until all machines are ready.
func (f *Follower) begin(ctx context.Context, step *runlog.Step, m *Meter, withdraw context.CancelCauseFunc) (*Meter, error) {
	// As in NTP, the shortest of ten round trips gives the offset, and half of it is the uncertainty.
	for answered := 0; answered < 10; {
		asked := time.Now()
		now, err := f.ask(ctx, nil)
		half := time.Since(asked) / 2
		switch {
		case ctx.Err() != nil || errors.Is(err, errRefused):
			return nil, cmp.Or(err, ctx.Err())
		case err != nil: // keepInStep ends it where the leader stays away
			sleepUntil(ctx, time.Now().Add(syncPause))
			continue
		case step.Clock == nil || half < step.Clock.Uncertainty:
			step.Clock = &runlog.Clock{Offset: now.Now.Sub(f.own.at(asked.Add(half))), Uncertainty: half}
		}
		answered++
	}
	f.session.clock.logged = f.own.logged.Add(step.Clock.Offset)
	f.update(func() { f.meter, f.withdraw, f.ready = m, withdraw, step.Index+1 })
	_ = f.wait(ctx, func() bool {
		step.Started = f.BeginsAt
		return f.IsEnded || f.Step.Index != step.Index || f.Stop != "" || !f.BeginsAt.IsZero()
	})
	if step.Started.IsZero() { // it is to end before it begins
		step.Started = f.session.clock.now()
		withdraw(stopError(runlog.StopInterrupted))
	}
	return m, nil
}

// keepInStep tells the leader how this machine stands and sends its log, until over is closed and all of it is there. It
// fails where the leader is silent for too long, or does not want this machine.
func (f *Follower) keepInStep(over <-chan struct{}) error {
	piece, zip := make([]byte, maxPiece), gzip.NewWriter(nil)
	for lastAnswer, isOver := time.Now(), false; ; {
		unsent, err := f.unsent(piece, zip)
		if err != nil {
			return err
		}
		asking, cancel := context.WithTimeout(context.Background(), lostAfter-time.Second)
		now, err := f.ask(asking, unsent)
		cancel()
		switch {
		case errors.Is(err, errRefused):
			return err
		case err == nil && isOver && unsent == nil:
			return nil
		case err == nil:
			lastAnswer = time.Now()
			f.take(now)
		case time.Since(lastAnswer) > lostAfter:
			return fmt.Errorf("the leader has not answered for %s: %w", lostAfter, err)
		}
		pause := time.After(syncPause)
		select {
		case <-over:
			if isOver && err != nil {
				<-pause
			}
			isOver = true
		case <-pause:
		}
	}
}

// unsent returns the next piece of the log for the leader, compressed, in whole lines; nil where there is none.
func (f *Follower) unsent(piece []byte, zip *gzip.Writer) ([]byte, error) {
	n, err := f.log.ReadAt(piece, f.Have)
	lines := piece[:bytes.LastIndexByte(piece[:n], '\n')+1]
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(lines) == 0 && n == len(piece):
		return nil, fmt.Errorf("a line of the log has more than %d bytes and cannot be sent", n)
	case len(lines) == 0:
		return nil, nil
	}
	var zipped bytes.Buffer
	zip.Reset(&zipped)
	_, _ = zip.Write(lines) // to memory
	_ = zip.Close()
	return zipped.Bytes(), nil
}

// take takes what the leader has said.
func (f *Follower) take(now state) {
	f.update(func() {
		if f.state = now; now.Stop != "" && now.Step.Index < f.ready {
			f.withdraw(stopError(now.Stop))
		}
	})
}

var errRefused = errors.New("refused") // the leader does not want this machine

// ask sends the leader a message with a compressed piece of the log.
func (f *Follower) ask(ctx context.Context, piece []byte) (now state, err error) {
	f.mu.Lock()
	m := message{ID: f.id, Rank: f.Share.Rank, Machines: f.Share.Machines, Ready: f.ready, Log: piece, At: f.Have}
	for _, counter := range f.meter.counters() {
		m.Counts = append(m.Counts, counter.Load())
	}
	f.mu.Unlock()
	if f.found == nil {
		m.Identity = f.Identity
	}
	body, err := json.Marshal(m)
	if err != nil {
		return now, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL, bytes.NewReader(body))
	if err != nil {
		return now, err
	}
	resp, err := f.Client.Do(req)
	if err != nil {
		return now, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		err = json.NewDecoder(resp.Body).Decode(&now)
		return now, err
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	err = fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(text))
	if resp.StatusCode < http.StatusInternalServerError {
		err = fmt.Errorf("%w: %w", errRefused, err)
	}
	return now, err
}
