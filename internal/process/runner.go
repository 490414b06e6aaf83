package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// Output is what a program printed and how it ended.
type Output struct {
	Stdout []byte // at most OutputLimit bytes
	Stderr []byte // at most OutputLimit bytes
	// ExitCode is the exit status, and -1 for a program that did not start or
	// did not exit by itself.
	ExitCode int
}

// Runner runs one vendor's tool, one child at a time, and always comes back: a tool on a
// sick card hangs, floods its output, leaves children behind, or sleeps where no signal
// reaches it. It is safe for concurrent use: a run waits while another one is under way.
// Make it with NewRunner.
type Runner struct {
	Options
	grace    time.Duration // from SIGTERM to SIGKILL
	patience time.Duration // from SIGTERM, or the program's end, until what still lives is stuck

	turn  chan struct{}   // holds a token while a run is under way
	open  context.Context // until Close
	close context.CancelFunc
	stuck atomic.Int64
	find  func(name string) (path string, err error) // LookPath but in tests
}

// Options says what a Runner runs, and how.
type Options struct {
	// Path is that of the program, or a name to be found on the PATH. It is looked up
	// at each run, so one that is installed later is found.
	Path string
	// Timeout bounds one run.
	Timeout time.Duration
	// Variables are the names of variables of our environment that the program gets
	// besides the usual ones.
	Variables []string
	// Subreaper is the one that all Runners share.
	Subreaper *Subreaper
}

// NewRunner returns a Runner.
func NewRunner(o Options) *Runner {
	r := &Runner{
		Options:  o,
		grace:    250 * time.Millisecond,
		patience: 3 * time.Second, // a busy host needs its time to end a child
		turn:     make(chan struct{}, 1),
		find:     LookPath,
	}
	r.open, r.close = context.WithCancel(context.Background())
	return r
}

// FirstFound returns the first of these names and paths of programs that can be run now, "" for none.
func FirstFound(names []string) string {
	for _, name := range names {
		if _, err := LookPath(name); err == nil {
			return name
		}
	}
	return ""
}

// RunUntil starts the program with args and returns what it printed, also beside an
// error. It waits for its turn for as long as ctx allows; the timeout starts with
// the turn, and RunUntil returns at most about 3 s after it. A program that never ends by
// itself is ended, without an error, when enough returns true for its stdout so far; nil
// is never.
//
// The error is a *failure.Error: not_found, permission, timeout (also when ctx ends or
// the Runner is closed), stuck, output_too_large, or exit for a program that cannot be
// started otherwise or was killed by somebody else's signal. A non-zero exit status is no
// error: the tools' statuses say little, and the caller judges by what was printed.
func (r *Runner) RunUntil(ctx context.Context, enough func(out []byte) bool, args ...string) (Output, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.open, func() { cancel(errShutDown) })()
	if err := r.takeTurn(ctx); err != nil {
		return Output{ExitCode: -1}, err
	}
	defer func() { <-r.turn }()

	ctx, stop := context.WithTimeoutCause(ctx, r.Timeout, fmt.Errorf("no complete answer within %s", r.Timeout))
	defer stop()
	x := &execution{
		words:  append([]string{r.Path}, args...),
		stdout: stream{enough: enough, stop: stop}, stderr: stream{stop: stop},
		exited: make(chan struct{}), gone: make(chan struct{}),
	}
	go r.execute(ctx, x)
	select {
	case <-x.exited:
	case <-ctx.Done():
	}
	select {
	case <-x.gone:
	case <-time.After(r.patience):
		r.stuck.Add(1)
		go func() {
			<-x.gone
			r.stuck.Add(-1)
		}()
	}
	return x.result(context.Cause(ctx))
}

// errShutDown is why a Runner that was closed runs nothing.
var errShutDown = fmt.Errorf("shutting down: %w", context.Canceled)

// Stuck returns how many children outlived SIGKILL and still live, 0 or 1:
// while there is one, no other is started.
func (r *Runner) Stuck() int { return int(r.stuck.Load()) }

// Close ends the running child, waits for its run to return, and refuses all
// further ones. It returns within about 3 s; a goroutine is left behind only
// for a child that Stuck still counts.
func (r *Runner) Close() {
	r.close()
	r.turn <- struct{}{}
	<-r.turn
}

// takeTurn waits until no other RunUntil is under way. It returns an error when nothing
// may be started.
func (r *Runner) takeTurn(ctx context.Context) error {
	name := filepath.Base(r.Path)
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return failure.Errorf(failure.Timeout, "waiting to run %s: %w", name, context.Cause(ctx))
	}
	// select picks at random among the channels that are ready, so ask again.
	var err error
	switch {
	case r.open.Err() != nil:
		err = failure.Errorf(failure.Timeout, "running %s: %w", name, errShutDown)
	case ctx.Err() != nil:
		err = failure.Errorf(failure.Timeout, "running %s: %w", name, context.Cause(ctx))
	case r.Stuck() > 0:
		err = failure.Errorf(failure.Stuck, "an earlier %s outlived SIGKILL, so no other is started", name)
	default:
		return nil
	}
	<-r.turn
	return err
}

type execution struct {
	words          []string // the command line
	stdout, stderr stream
	exited         chan struct{} // closed when the program has ended or could not be started
	gone           chan struct{} // closed when nothing of it lives

	// Set before exited is closed.
	state   *os.ProcessState // nil for a program that could not be started
	stopped bool             // it was asked to end
	err     error            // why it could not be started, a *failure.Error
}

// execute starts the program, ends it with ctx and kills what it leaves behind. It runs
// in a goroutine of its own, as it blocks for as long as the kernel does.
func (r *Runner) execute(ctx context.Context, x *execution) {
	defer close(x.gone)
	child, err := r.start(ctx, x)
	if err != nil {
		x.err, x.stopped = err, ctx.Err() != nil
		close(x.exited)
		return
	}
	cancel := context.AfterFunc(ctx, func() {
		child.Signal(syscall.SIGTERM)
		select {
		case <-child.Exited():
		case <-time.After(r.grace):
			child.Signal(syscall.SIGKILL)
		}
	})
	<-child.Exited()
	x.state, x.stopped = child.State(), !cancel()
	close(x.exited)
	child.Gone(context.Background(), syscall.SIGKILL)
}

func (r *Runner) start(ctx context.Context, x *execution) (*Child, error) {
	path, err := r.find(r.Path)
	if err != nil {
		return nil, startFailure(fmt.Errorf("looking up %s: %w", r.Path, err))
	}
	if ctx.Err() != nil { // nobody waits for it any more
		return nil, context.Cause(ctx)
	}
	child, err := r.Subreaper.Start(Command{
		Path: path, Argv: x.words, Env: environment(r.Variables),
		Stdout: &x.stdout, Stderr: &x.stderr,
	})
	if err != nil {
		return nil, startFailure(err)
	}
	return child, nil
}

// startFailure gives an error of finding or starting a program its class.
func startFailure(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		return failure.Errorf(failure.Permission, "%w", err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound), errors.Is(err, syscall.ENOTDIR):
		return failure.Errorf(failure.NotFound, "%w", err)
	}
	return failure.Errorf(failure.Exit, "%w", err)
}

// environment is what a tool gets of our environment: what says where programs, libraries
// and files are, and the variables of the names. The others may hold secrets, or change
// what a tool loads and connects to. The tool's language is English.
func environment(names []string) []string {
	var env []string
	for _, name := range append([]string{"PATH", "LD_LIBRARY_PATH", "HOME", "TMPDIR"}, names...) {
		if value, set := os.LookupEnv(name); set {
			env = append(env, name+"="+value)
		}
	}
	return append(env, "LC_ALL=C")
}

// result is what came out by now, for a program that may still live. ended is why it was
// asked to end.
func (x *execution) result(ended error) (Output, error) {
	stdout, complete, tooMuch := x.stdout.contents()
	stderr, _, tooMuchStderr := x.stderr.contents()
	out := Output{Stdout: stdout, Stderr: stderr, ExitCode: -1}
	exited := isClosed(x.exited)
	if exited {
		out.ExitCode = x.state.ExitCode()
	}
	command := strings.Join(append([]string{filepath.Base(x.words[0])}, x.words[1:]...), " ")
	switch {
	case complete: // whatever it did then, until it was ended
		return out, nil
	case tooMuch || tooMuchStderr:
		return out, failure.Errorf(failure.OutputTooLarge, "running %s: more than %d bytes on one stream", command, OutputLimit)
	case !exited || x.stopped:
		return out, failure.Errorf(failure.Timeout, "running %s: %w", command, ended)
	case x.err != nil:
		return out, x.err
	case out.ExitCode < 0:
		return out, failure.Errorf(failure.Exit, "running %s: %s", command, x.state)
	}
	return out, nil
}
