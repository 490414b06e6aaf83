package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/side"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

const (
	readyPause = 500 * time.Millisecond // between questions to a server that starts
	stopGrace  = 30 * time.Second       // for a server to end in order
	staleTime  = 30 * time.Second       // for a server of before to go, or to be switched
)

// Sides says what is compared: each side's command is started, the steps of Config
// are run, and the command is stopped, in turns.
type Sides struct {
	Config  Config // its Folder gets a folder for each side, with one for each repeat
	Sides   []side.Side
	Repeats int
	// Ready bounds the time from a command's start to an endpoint that lists its
	// models.
	Ready time.Duration
	// Watch returns the watchers of one run, and what ends them; may be nil.
	Watch func() (watchers []Watcher, stop func(), err error)
	// Turn is called before each run; may be nil.
	Turn func(s side.Side, repeat int)
	// GivenUp is called for each side that is, with why and what its command printed; may
	// be nil.
	GivenUp func(s side.Side, why error)

	subreaper *process.Subreaper // made by Run

	mu      sync.Mutex
	process *side.Process // of this turn, nil between two
	killed  bool
}

// Kill ends the command of this turn and all that it started with SIGKILL, and no
// other is started. It returns when nothing of it lives any more, and after 1 s in
// any case. It is for a user who does not wait for Run to end in order.
func (s *Sides) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.killed = true
	if s.process != nil {
		s.process.Kill()
	}
}

// SideFolder is where the repeats of a side are kept below folder.
func SideFolder(folder string, s side.Side) string { return filepath.Join(folder, s.Name) }

// Run goes through all turns, or as many as come before one that ends early or the end
// of ctx. A side whose server cannot be started is given up, as long as the first and
// another are left. The result sums up all runs.
func (s *Sides) Run(ctx context.Context) (Result, error) {
	for _, one := range s.Sides {
		if err := one.LookUp(); err != nil {
			return Result{}, err
		}
	}
	folder, err := makeFolder(s.Config.Folder)
	if err != nil {
		return Result{}, err
	}
	s.subreaper = process.NewSubreaper()
	all := Result{Folder: folder}
	for _, t := range side.Turns(len(s.Sides), s.Repeats) {
		one := s.Sides[t.Side]
		if slices.Contains(all.NotStarted, one.Name) {
			continue
		}
		turn := s.newTurn(folder, one, t.Repeat)
		result, err := s.run(ctx, turn)
		var failed *notStartedError
		if errors.As(err, &failed) && ctx.Err() == nil && t.Side > 0 && len(s.Sides)-len(all.NotStarted) > 2 {
			if err := s.giveUp(turn, failed); err != nil {
				return all, err
			}
			all.NotStarted = append(all.NotStarted, one.Name)
			continue
		}
		all.Attempted += result.Attempted
		all.Succeeded += result.Succeeded
		all.Stop = result.Stop
		for _, note := range result.Notes {
			all.Notes = append(all.Notes, fmt.Sprintf("side %s, repeat %d: %s", one.Name, t.Repeat+1, note))
		}
		if err != nil || result.Stop.Early() {
			return all, err
		}
	}
	return all, nil
}

// turn is one run of one side.
type turn struct {
	side   side.Side
	repeat int
	cfg    Config
}

func (s *Sides) newTurn(folder string, one side.Side, repeat int) turn {
	cfg := s.Config
	cfg.Folder = filepath.Join(SideFolder(folder, one), strconv.Itoa(repeat+1))
	cfg.Run.Side = one.Name
	cfg.Run.Server = &runlog.Server{Command: one.String(), Binding: one.Binding, Recommended: one.Recommended}
	cfg.Steps = slices.Clone(cfg.Steps)
	for i := range cfg.Steps {
		cfg.Steps[i].Repeat = repeat
	}
	return turn{one, repeat, cfg}
}

// run starts the command of a turn, puts the load on its server, and stops it.
func (s *Sides) run(ctx context.Context, t turn) (result Result, err error) {
	if s.Turn != nil {
		s.Turn(t.side, t.repeat)
	}
	if err := os.MkdirAll(filepath.Dir(t.cfg.Folder), 0o755); err != nil {
		return Result{}, fmt.Errorf("making the folder of a side: %w", err)
	}
	client, err := openai.NewClient(t.cfg.Client)
	if err != nil {
		return Result{}, err
	}
	defer client.CloseIdleConnections()
	answered := answers(ctx, client)
	process, err := s.start(ctx, t)
	if err != nil {
		return Result{}, err
	}
	// What could not be stopped is in the way of the other sides too.
	defer func() {
		if stopped := s.stop(process); stopped != nil {
			err = errors.Join(stopped, err)
		}
	}()
	if err := s.await(ctx, client, process, t, answered); err != nil {
		return Result{}, err
	}
	// Of the binding of a server in a container nothing is known, nor of one that a
	// command which has ended left to others.
	if binding, err := process.Binding(); err == nil && !t.side.Container() {
		t.cfg.Run.Server.CPUs, t.cfg.Run.Server.Mems, t.cfg.Run.Server.Policy = binding.CPUs, binding.Mems, binding.Policy
	}
	var watchers []Watcher
	if s.Watch != nil {
		all, stop, err := s.Watch()
		if err != nil {
			return Result{}, err
		}
		defer stop()
		watchers = all
	}
	return Run(ctx, t.cfg, watchers...)
}

// start starts a side's command, which Kill knows from then on.
func (s *Sides) start(ctx context.Context, t turn) (*side.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.killed {
		return nil, errors.New("stopped in a hurry")
	}
	// The command outlives ctx, so that what is in flight ends before its server.
	process, err := side.Start(context.WithoutCancel(ctx), s.subreaper, t.side, t.cfg.Folder+".log")
	if err != nil {
		return nil, &notStartedError{err, "it could not be run"}
	}
	s.process = process
	return process, nil
}

// stop ends the command of this turn in order.
func (s *Sides) stop(process *side.Process) error {
	err := process.Stop(stopGrace) // without the lock: Kill may be called meanwhile
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.process = nil
	}
	return err
}

// await returns when the endpoint lists its models, and does so because of the
// command: what answered before must have gone first, or the command have ended
// well, as one that switches a server does.
func (s *Sides) await(ctx context.Context, client *openai.Client, process *side.Process, t turn, answered bool) error {
	url, patience := t.cfg.Run.URL, time.Now().Add(min(s.Ready, staleTime))
	ctx, cancel := context.WithTimeout(ctx, s.Ready)
	defer cancel()
	for pause := time.NewTimer(0); ; pause.Reset(readyPause) {
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		_, failure := client.Models(ctx)
		gone := failure != nil && ctx.Err() == nil
		answered = answered && !gone && running(process)
		switch err := process.Err(); {
		case err != nil:
			return commandEnded(err)
		case failure == nil && !answered:
			return nil
		case answered && !time.Now().Before(patience):
			return fmt.Errorf("side %s: %s answered before its command was started, and still does, so another server would be measured: stop that one", t.side.Name, url)
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return &notStartedError{
				fmt.Errorf("side %s: no list of models at %s within %s of the command's start (--ready-timeout); %s", t.side.Name, url, s.Ready, process.Said()),
				fmt.Sprintf("no list of models within %s of its start (--ready-timeout)", s.Ready),
			}
		case ctx.Err() != nil:
			return fmt.Errorf("side %s: stopped while waiting for %s", t.side.Name, url)
		}
	}
}

// answers reports whether something serves the endpoint now.
func answers(ctx context.Context, client *openai.Client) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, failure := client.Models(ctx)
	return failure == nil
}

// running reports whether the command itself lives: one that has ended only
// switched a server that is not its own.
func running(p *side.Process) bool {
	select {
	case <-p.Exited():
		return false
	default:
		return true
	}
}

// notStartedError is that a side's server could not be started. The other sides can be
// measured nevertheless.
type notStartedError struct {
	error
	// reason is the error in one line, without what the command printed: that may hold
	// keys, and the reason is kept where others may read it.
	reason string
}

// commandEnded is the error of a command that ended, and not well.
func commandEnded(err error) error {
	reason := "its command ended"
	if ended, ok := errors.AsType[*side.EndedError](err); ok {
		reason = "its command ended with " + ended.How
	}
	return &notStartedError{err, reason}
}

// giveUp keeps in a log of that turn, without steps, why a side is given up.
func (s *Sides) giveUp(t turn, why *notStartedError) error {
	run := t.cfg.Run
	if err := describe(&run, t.cfg.Steps); err != nil {
		return err
	}
	run.Server.NotStarted = fmt.Sprintf("repeat %d: %s; what it printed is in %s/%[1]d.log", t.repeat+1, why.reason, t.side.Name)
	log, err := runlog.Create(t.cfg.Folder, run)
	if err != nil {
		return err
	}
	if err := log.Close(); err != nil {
		return err
	}
	if s.GivenUp != nil {
		s.GivenUp(t.side, why)
	}
	return nil
}
