// Package command runs one vendor command and always comes back.
//
// A vendor tool on a sick card hangs, floods its output, leaves children
// behind, or sleeps where no signal reaches it. Run answers in bounded time
// whatever happens, and ends what the command started, on Linux daemons included.
package command

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// DefaultTimeout is how long a command may take when New is given no timeout.
const DefaultTimeout = 10 * time.Second

// OutputLimit is the most that is kept of stdout, and of stderr, in bytes. A
// command that prints more is killed.
const OutputLimit = 1 << 20

// Output is what a command printed and how it ended.
type Output struct {
	Stdout []byte // at most OutputLimit bytes
	Stderr []byte // at most OutputLimit bytes
	// ExitCode is the exit status, and -1 for a command that did not start or
	// did not exit by itself.
	ExitCode int
	// Duration runs from Run's turn to its return.
	Duration time.Duration
}

// Runner runs one program, one child at a time. It is safe for concurrent use:
// a Run waits while another one is under way. Make it with New.
type Runner struct {
	path    string
	timeout time.Duration
	limit   int           // bytes kept of each stream
	grace   time.Duration // from SIGTERM to SIGKILL
	reap    time.Duration // from SIGKILL until what still lives is stuck
	drain   time.Duration // how long a pipe may stay open after the child's end

	subreaper *process.Subreaper
	variables []string // of our environment, passed on besides the usual ones

	turn  chan struct{}   // holds a token while a Run is under way
	open  context.Context // until Close
	close context.CancelFunc
	stuck atomic.Int64

	find func(name string) (path string, err error)
	kill func(pid int, sig syscall.Signal) error // kill(2) if nil
}

// Options says what a Runner runs, and how.
type Options struct {
	// Path is that of the program, or a name to be found on the PATH. It is looked up
	// at each Run, so one that is installed later is found.
	Path string
	// Timeout bounds one Run; DefaultTimeout if 0 or less.
	Timeout time.Duration
	// Variables are the names of variables of our environment that the program gets
	// besides the usual ones.
	Variables []string
	// Subreaper is the one that all Runners share.
	Subreaper *process.Subreaper
}

// New returns a Runner.
func New(o Options) *Runner {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	r := &Runner{
		path:      o.Path,
		timeout:   o.Timeout,
		limit:     OutputLimit,
		subreaper: o.Subreaper,
		variables: o.Variables,
		grace:     250 * time.Millisecond,
		reap:      500 * time.Millisecond,
		drain:     250 * time.Millisecond,
		turn:      make(chan struct{}, 1),
		find:      lookUp,
	}
	r.open, r.close = context.WithCancel(context.Background())
	return r
}

// Run starts the program with args and returns what it printed, also beside an
// error. It waits for its turn for as long as ctx allows; the timeout starts with
// the turn, and Run returns at most about 1.5 s after it. The error is a
// *failure.Error: not_found, permission, timeout (also when ctx ends or the Runner
// is closed), stuck, output_too_large, or exit for a program that cannot be started
// otherwise or was killed by somebody else's signal. A non-zero exit status is no
// error: the tools' statuses say little, and the caller judges by what was printed.
func (r *Runner) Run(ctx context.Context, args ...string) (Output, error) {
	return r.RunUntil(ctx, nil, args...)
}

// RunUntil does the same with a program that may never end: it is ended, without an
// error, when enough says so of what it has printed on stdout. Nil is never.
func (r *Runner) RunUntil(ctx context.Context, enough func(out []byte) bool, args ...string) (Output, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.open, func() { cancel(errShutDown) })()
	if err := r.takeTurn(ctx); err != nil {
		return Output{ExitCode: -1}, err
	}
	defer func() { <-r.turn }()

	began := time.Now()
	ctx, stop := context.WithTimeoutCause(ctx, r.timeout, fmt.Errorf("no complete answer within %s", r.timeout))
	defer stop()
	c, err := r.launch(args, enough)
	if err != nil {
		return Output{ExitCode: -1, Duration: time.Since(began)}, err
	}
	stopped := r.watch(ctx, c)
	r.settle(c)

	out := Output{
		Stdout:   c.stdout.buf,
		Stderr:   c.stderr.buf,
		ExitCode: c.Exit().Code,
		Duration: time.Since(began),
	}
	return out, r.judge(c, stopped)
}

// errShutDown is why a Runner that was closed runs nothing.
var errShutDown = fmt.Errorf("shutting down: %w", context.Canceled)

// Stuck returns how many children outlived SIGKILL and still live, 0 or 1:
// while there is one, Run starts no other.
func (r *Runner) Stuck() int { return int(r.stuck.Load()) }

// Close kills the running child, waits for its Run to return, and refuses all
// further ones. It returns within about 1.5 s; a goroutine is left behind only
// for a child that Stuck still counts.
func (r *Runner) Close() {
	r.close()
	r.turn <- struct{}{}
	<-r.turn
}

// takeTurn waits until no other Run is under way, and refuses when nothing may be
// started then.
func (r *Runner) takeTurn(ctx context.Context) error {
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return failure.New(failure.Timeout, "waiting to run %s: %w", r.name(), context.Cause(ctx))
	}
	// select picks at random among the channels that are ready, so ask again.
	var err error
	switch {
	case r.open.Err() != nil:
		err = failure.New(failure.Timeout, "running %s: %w", r.name(), errShutDown)
	case ctx.Err() != nil:
		err = failure.New(failure.Timeout, "running %s: %w", r.name(), context.Cause(ctx))
	case r.Stuck() > 0:
		err = failure.New(failure.Stuck, "an earlier %s outlived SIGKILL, so no other is started", r.name())
	default:
		return nil
	}
	<-r.turn
	return err
}

// watch waits for the child's end. When it must not go on, watch kills it and
// returns why.
func (r *Runner) watch(ctx context.Context, c *child) error {
	select {
	case <-c.Exited():
		return nil
	case <-c.flood:
		c.kill()
		return nil // judge sees the flood, also one that is only found after the end
	case <-c.sated:
		c.kill()
		return nil
	case <-ctx.Done():
	}
	select {
	case <-c.Exited():
		return nil // in the same instant
	default:
	}
	c.Signal(syscall.SIGTERM)
	c.exitedWithin(r.grace)
	c.kill()
	return failure.New(failure.Timeout, "running %s: %w", c, context.Cause(ctx))
}

// settle reads the rest of the output and makes sure that nothing of the child
// lives on, or counts it as stuck and leaves a goroutine that waits for it.
func (r *Runner) settle(c *child) {
	drain := time.Duration(0)
	if c.exitedWithin(r.reap) {
		drain = r.drain
	}
	c.finishOutput(drain)
	if c.goneWithin(r.reap) {
		return
	}
	r.stuck.Add(1)
	go func() {
		if c.Gone(r.open, c.kill) {
			r.stuck.Add(-1)
		}
	}()
}

// judge gives the run its error. stopped is why the child was killed, nil when
// it ended by itself or flooded.
func (r *Runner) judge(c *child, stopped error) error {
	if c.stdout.enough { // whatever it did then, until it was ended
		return nil
	}
	for _, s := range []*capture{c.stdout, c.stderr} {
		if s.over {
			return failure.New(failure.OutputTooLarge, "running %s: more than %d bytes on %s", c, r.limit, s.name)
		}
	}
	if stopped != nil {
		return stopped
	}
	return c.failure()
}
