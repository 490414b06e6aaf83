package sweep

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
	// Turn is told of each run before it begins; may be nil.
	Turn func(s side.Side, repeat int)
	// GivenUp is told of each side that is, and why, with what its command printed; may
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

// start starts a side's command, which Kill knows from then on.
func (s *Sides) start(ctx context.Context, one side.Side, log string) (*side.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.killed {
		return nil, errors.New("stopped in a hurry")
	}
	var err error
	// The command outlives ctx, so that what is in flight ends before its server.
	s.process, err = side.Start(context.WithoutCancel(ctx), s.subreaper, one, log)
	if err != nil {
		return nil, notStarted(err)
	}
	return s.process, nil
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

// SideFolder is where the repeats of a side are kept below folder.
func SideFolder(folder string, s side.Side) string { return filepath.Join(folder, s.Name) }

func runFolder(folder string, s side.Side, repeat int) string {
	return filepath.Join(SideFolder(folder, s), strconv.Itoa(repeat+1))
}

// Run goes through all turns, or as many as come before a failure limit or the
// end of ctx. A side whose server cannot be started is given up, as long as the first and
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
	for _, turn := range side.Turns(len(s.Sides), s.Repeats) {
		measured := s.Sides[turn.Side]
		if slices.Contains(all.NotStarted, measured.Name) {
			continue
		}
		one, err := s.turn(ctx, folder, measured, turn.Repeat)
		if s.givesUp(ctx, err, turn, all) {
			if err := s.giveUp(folder, turn, err); err != nil {
				return all, err
			}
			all.NotStarted = append(all.NotStarted, measured.Name)
			continue
		}
		all.Attempted += one.Attempted
		all.Succeeded += one.Succeeded
		all.Stop = one.Stop
		for _, note := range one.Notes {
			all.Notes = append(all.Notes, fmt.Sprintf("side %s, repeat %d: %s", measured.Name, turn.Repeat+1, note))
		}
		if err != nil {
			return all, err
		}
		if one.Stop.Early() {
			return all, nil
		}
	}
	return all, nil
}

func (s *Sides) turn(ctx context.Context, folder string, one side.Side, repeat int) (result Result, err error) {
	if s.Turn != nil {
		s.Turn(one, repeat)
	}
	cfg := s.Config
	cfg.Folder = runFolder(folder, one, repeat)
	cfg.Run.Side = one.Name
	cfg.Steps = make([]runlog.Step, len(s.Config.Steps))
	for i, step := range s.Config.Steps {
		step.Repeat = repeat
		cfg.Steps[i] = step
	}
	if err := os.MkdirAll(filepath.Dir(cfg.Folder), 0o755); err != nil {
		return Result{}, fmt.Errorf("making the folder of a side: %w", err)
	}
	client, err := openai.NewClient(cfg.Client)
	if err != nil {
		return Result{}, err
	}
	defer client.CloseIdleConnections()
	before := answers(ctx, client)
	process, err := s.start(ctx, one, cfg.Folder+".log")
	if err != nil {
		return Result{}, err
	}
	defer func() { err = afterStop(err, s.stop(process)) }()
	if err := s.await(ctx, client, process, one, before); err != nil {
		return Result{}, err
	}
	cfg.Run.Server = server(one, process)
	var watchers []Watcher
	if s.Watch != nil {
		all, stop, err := s.Watch()
		if err != nil {
			return Result{}, err
		}
		defer stop()
		watchers = all
	}
	return Run(ctx, cfg, watchers...)
}

// await returns when the endpoint lists its models, and does so because of the
// command: what answered before must have gone first, or the command have ended
// well, as one that switches a server does.
func (s *Sides) await(ctx context.Context, client *openai.Client, process *side.Process, one side.Side, before bool) error {
	patience := time.Now().Add(min(s.Ready, staleTime))
	ctx, cancel := context.WithTimeout(ctx, s.Ready)
	defer cancel()
	for pause := time.NewTimer(0); ; pause.Reset(readyPause) {
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		if err := process.Err(); err != nil {
			return notStarted(err)
		}
		_, failure := client.Models(ctx)
		gone := failure != nil && ctx.Err() == nil
		before = before && !gone && running(process)
		switch {
		case failure == nil && !before:
			if err := process.Err(); err != nil { // since it was asked above: what answers is another server
				return notStarted(err)
			}
			return nil
		case before && !time.Now().Before(patience):
			return fmt.Errorf("side %s: %s answered before its command was started, and still does, so another server would be measured: stop that one", one.Name, s.Config.Run.URL)
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return &notStartedError{
				error:  fmt.Errorf("side %s: no list of models at %s within %s of the command's start (--ready-timeout); %s", one.Name, s.Config.Run.URL, s.Ready, process.Said()),
				reason: fmt.Sprintf("no list of models within %s of its start (--ready-timeout)", s.Ready),
			}
		case ctx.Err() != nil:
			return fmt.Errorf("side %s: stopped while waiting for %s", one.Name, s.Config.Run.URL)
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

// server says what was started. Of the binding of a server in a container nothing is
// known, nor of one that a command which has ended left to others.
func server(one side.Side, process *side.Process) *runlog.Server {
	s := &runlog.Server{Command: one.String(), Binding: one.Binding, Recommended: one.Recommended}
	binding, err := process.Binding()
	if err == nil && !one.Container() {
		s.CPUs, s.Mems, s.Policy = binding.CPUs, binding.Mems, binding.Policy
	}
	return s
}
