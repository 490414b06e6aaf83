package load

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// Follower puts on a share of a load as the machine that leads says.
type Follower struct {
	Team
	URL    string // of the leader
	Client *http.Client
	Clock  func() time.Time // the machine's: [time.Now]

	id      string
	zip     *zstd.Encoder
	session *Session
	own     clock // of this machine

	board
	state        // as the leader has said
	ready int    // for so many steps
	meter *Meter // of the last of them
}

// Run puts on the share of each step. The log is at the leader when it returns without an error; else it is in
// [Result.Folder]. Watchers see this machine's share.
func (f *Follower) Run(ctx context.Context, cfg Config, watchers ...Watcher) (Result, error) {
	s := newSession(cfg, watchers)
	s.clock, s.begin, s.share = newClock(f.Clock()), f.begin, f.Share
	s.keeps = true                                                           // the records until the leader has them
	f.zip, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest)) // the option is right
	f.id, f.session, f.own, f.meter = openai.NewRequestID(), s, *s.clock, new(Meter)
	beside, leading := errgroup.WithContext(ctx)
	working, end := context.WithCancel(context.Background())
	beside.Go(func() error { return f.keepInStep(working) })
	err := f.takeSteps(leading)
	if s.log != nil {
		_, closing := s.Close()
		err = cmp.Or(err, closing)
	}
	end()
	err = cmp.Or(beside.Wait(), err)
	switch {
	case err == nil:
		return s.result, os.RemoveAll(s.result.Folder)
	case s.result.Folder != "":
		err = fmt.Errorf("%w (what was measured here is kept in %s)", err, s.result.Folder)
	}
	return s.result, fmt.Errorf("following %s: %w", f.URL, err)
}

// takeSteps opens the session with what the leader has found out in place of checks, and runs each of its steps.
func (f *Follower) takeSteps(ctx context.Context) error {
	s, now := f.session, state{}
	if err := f.wait(ctx, func() bool { now = f.state; return now.Run != nil }); err != nil {
		return err
	}
	now.Dataset.Trace = s.cfg.Dataset.Trace // which is not told
	s.cfg.Run, s.cfg.Dataset, s.modelLength = *now.Run, now.Dataset, now.ModelLength
	s.sources = []*source{{kind: runlog.SourceClient, read: readSelf}}
	if err := s.prepareDataset(ctx); err != nil {
		return err
	}
	if err := s.openLog(ctx); err != nil {
		return err
	}
	for {
		err := f.wait(ctx, func() bool { now = f.state; return now.IsEnded || now.Steps > f.ready })
		if err != nil || now.IsEnded {
			return err
		}
		if err := s.run(ctx, now.Step); err != nil {
			return err
		}
	}
}

// begin finds out how the leader's clock stands, and waits until all machines are ready.
func (f *Follower) begin(ctx context.Context, step *runlog.Step, m *Meter) {
	// As in NTP, the shortest of ten round trips gives the offset, and half of it is the uncertainty.
	for n := 0; (n < 10 || step.Clock == nil) && ctx.Err() == nil; n++ { // keepInStep ends it where the leader stays away
		asked := time.Now()
		now, err := f.ask(ctx, nil)
		if half := time.Since(asked) / 2; err == nil && (step.Clock == nil || half < step.Clock.Uncertainty) {
			step.Clock = &runlog.Clock{Offset: now.Now.Sub(f.own.at(asked.Add(half))), Uncertainty: half}
			f.session.clock.logged = f.own.logged.Add(step.Clock.Offset)
		}
		sleepUntil(ctx, time.Now().Add(waitPause))
	}
	f.update(func() { f.meter, f.ready = m, step.Index+1 })
	if f.wait(ctx, func() bool { step.Started = f.BeginsAt; return !f.BeginsAt.IsZero() }) != nil {
		step.Started = f.session.clock.now() // and it ends at once
	}
}

// keepInStep tells the leader how this machine stands and sends its records, while there is work and until all of them
// are there. It fails where the leader is silent for too long, or does not want this machine.
func (f *Follower) keepInStep(working context.Context) error {
	for answered, patience, had := time.Now(), f.JoinTimeout, 0; ; time.Sleep(syncPause) {
		isOver := working.Err() != nil
		records := f.unsent(had)
		had = 0
		if isOver && len(records) == 0 {
			return nil
		}
		asking, cancel := context.WithDeadline(context.Background(), answered.Add(patience))
		now, err := f.ask(asking, records)
		cancel()
		switch {
		case errors.Is(err, errRefused):
			return err
		case err == nil:
			answered, patience, had = time.Now(), lostAfter, now.Have-f.Have
			f.update(func() { f.state = now })
			if step := f.session.lead; now.Stop != "" { // it leads nobody, and ends this machine's part
				step.update(func() { step.stopAll(now.Stop) })
			}
		case time.Since(answered)+syncPause >= patience:
			return fmt.Errorf("the leader has not answered for %s: %w", patience, err)
		}
	}
}

// unsent forgets records that the leader has, and returns the next for a message.
func (f *Follower) unsent(had int) []runlog.Record {
	f.session.mu.Lock()
	defer f.session.mu.Unlock()
	f.session.kept = f.session.kept[had:]
	return f.session.kept[:min(maxRecords, len(f.session.kept))]
}

var errRefused = errors.New("refused") // the leader does not want this machine

// ask sends the leader a message with records.
func (f *Follower) ask(ctx context.Context, records []runlog.Record) (now state, err error) {
	m := message{ID: f.id, Share: f.Share, Identity: f.Identity, Records: records}
	f.update(func() {
		m.Ready, m.At = f.ready, f.Have
		for i, counter := range f.meter.counters() {
			m.Counts[i] = counter.Load()
		}
	})
	body, _ := json.Marshal(m)                           // it has no values that cannot be
	ctx, cancel := context.WithTimeout(ctx, lostAfter/2) // a new connection may come through
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.URL, bytes.NewReader(f.zip.EncodeAll(body, nil)))
	if err != nil {
		return now, err
	}
	resp, err := f.Client.Do(req)
	if err != nil {
		return now, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		err = fmt.Errorf("%s: %s", resp.Status, bytes.TrimSpace(text))
		if resp.StatusCode < http.StatusInternalServerError { // else a proxy has no leader yet
			err = fmt.Errorf("%w: %w", errRefused, err)
		}
		return now, err
	}
	err = json.NewDecoder(resp.Body).Decode(&now)
	return now, err
}
