package side

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

const (
	// killTime is how long what was killed may take to be gone. A process in
	// uninterruptible sleep takes longer than anybody wants to wait.
	killTime = 10 * time.Second
	// interruptTime is the same for a user who does not want to wait at all.
	interruptTime = time.Second
)

// Process is a side's command while it runs, with everything that it starts in
// turn. It must be stopped, also when it has ended by itself. Its methods may be
// called from several goroutines at once.
type Process struct {
	side    Side
	log     string // path
	begin   int64  // of its own lines in the log
	child   *process.Child
	release func() bool
	exited  chan struct{} // closed when the command itself has ended
	err     error         // set before that
}

// Start runs the command of s as [process.Subreaper.Start] does, and appends what it
// prints to logFile, which only the user may read: a server's log may hold keys. When
// ctx ends, all that the command started is killed; to end it in order, let ctx live
// on and call Stop. The error of a program that is not there says so.
func Start(ctx context.Context, subreaper *process.Subreaper, s Side, logFile string) (*Process, error) {
	path, err := s.program()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("side %s: not started: %w", s.Name, context.Cause(ctx))
	}
	log, err := os.OpenFile(logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("side %s: opening its log: %w", s.Name, err)
	}
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("side %s: opening its log: %w", s.Name, err)
	}
	p := &Process{side: s, log: logFile, begin: begin, exited: make(chan struct{})}
	p.child, err = subreaper.Start(process.Command{Path: path, Argv: s.Argv, Stdout: log, Stderr: log})
	if err != nil {
		return nil, fmt.Errorf("side %s: %w", s.Name, err)
	}
	go p.await()
	p.release = context.AfterFunc(ctx, func() { p.child.Signal(syscall.SIGKILL) })
	return p, nil
}

// await keeps how the command ended, and what it had printed by then.
func (p *Process) await() {
	defer close(p.exited)
	<-p.child.Exited()
	if state := p.child.State(); !state.Success() && !p.child.Signaled() {
		p.err = p.failure(state.String())
	}
}

// Exited is closed when the command itself has ended. What it started may live
// on: a command that only switches something, or starts a server in the
// background, ends at once and well.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err is nil while the command runs, when it ended with status 0, and when it
// was made to end. Otherwise it is an [EndedError], with the last lines of the
// command's log on lines of their own.
func (p *Process) Err() error {
	select {
	case <-p.exited:
		return p.err
	default:
		return nil
	}
}

// Stop ends the command and all that it started: SIGTERM, and SIGKILL to what is
// left after grace. It returns when nothing of it lives any more, or an error
// when something does 10 s after SIGKILL.
func (p *Process) Stop(grace time.Duration) error {
	p.release()
	p.child.Signal(syscall.SIGTERM)
	if p.goneWithin(grace, 0) || p.killWithin(killTime) {
		return nil
	}
	return fmt.Errorf("stopping side %s: something that process %d started still lives %s after SIGKILL", p.side.Name, p.child.PID(), killTime)
}

// Kill ends the command and all that it started with SIGKILL, at once. It returns
// when nothing of it lives any more, and after 1 s in any case: it is for somebody
// who does not wait for Stop, which may be under way.
func (p *Process) Kill() {
	p.release()
	p.killWithin(interruptTime)
}

// killWithin sends SIGKILL to all of the command, and reports whether nothing of it lives
// any more before d has passed.
func (p *Process) killWithin(d time.Duration) bool {
	p.child.Signal(syscall.SIGKILL)
	return p.goneWithin(d, syscall.SIGKILL)
}

// goneWithin sends sig to what the command left behind each time that it looks; 0 is none.
func (p *Process) goneWithin(d time.Duration, sig syscall.Signal) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return p.child.Gone(ctx, sig)
}
