package side

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	// killTime is how long what was killed may take to be gone. A process in
	// uninterruptible sleep takes longer than anybody wants to wait.
	killTime = 10 * time.Second
	// hurryTime is the same for somebody who does not want to wait at all.
	hurryTime = time.Second
)

// Process is a side's command while it runs, with everything that it starts in
// turn. It must be stopped, also when it has ended by itself. Its methods may be
// called from several goroutines at once.
type Process struct {
	side    Side
	log     string // path
	begin   int64  // of its own lines in the log
	pid     int    // also of its group and its session
	release func() bool
	exited  chan struct{} // closed when the leader has ended
	err     error         // set before that
	over    chan struct{} // closed when all is over
	burial  sync.WaitGroup

	mu sync.Mutex
	// reaped is set when all is over. Until then the leader's number is its own,
	// dead or not, so that a signal to its group reaches nobody else.
	reaped bool
	// told is set when it was made to end, so that its status says nothing.
	told   bool
	cmd    *exec.Cmd
	strays map[stray]bool // seen outside of the leader's group
}

// Start runs the command of s in a session of its own, with nothing to read, and
// appends what it prints to logFile, which only the user may read: a server's
// log may hold keys. On Linux the command itself gets SIGTERM when this program
// dies; what it started is told nothing.
//
// One command runs at a time: on Linux this program becomes the parent of whatever
// loses its own, for good, and a Process takes for its own what comes to it so. It
// must start no other program in a session of its own meanwhile.
//
// When ctx ends, all that the command started is killed; to end it in order, let
// ctx live on and call Stop. The error of a program that is not there says so.
func Start(ctx context.Context, s Side, logFile string) (*Process, error) {
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
	cmd := exec.Command(path, s.Argv[1:]...) //nolint:noctx // a context would kill the leader only, not its group
	cmd.Args[0] = s.Argv[0]
	cmd.Stdout, cmd.Stderr = log, log // a file, so the output needs nobody to read it
	cmd.SysProcAttr = attributes()

	p := &Process{
		side: s, log: logFile, begin: begin, cmd: cmd,
		exited: make(chan struct{}), over: make(chan struct{}), strays: map[stray]bool{},
	}
	adopt()
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("side %s: starting %s: %w", s.Name, path, bare(err))
	}
	p.release = context.AfterFunc(ctx, func() { p.signal(syscall.SIGKILL) })
	p.burial.Go(p.bury)
	return p, nil
}

// run starts the leader and watches it to its end.
func (p *Process) run(started chan<- error) {
	// The kernel takes the end of the thread that started the leader for ours.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	p.pid = p.cmd.Process.Pid
	started <- nil

	how := awaitExit(p.pid)
	p.mu.Lock()
	told := p.told
	p.mu.Unlock()
	if how != "" && !told {
		p.err = p.failure(how)
	}
	close(p.exited)
}

// Exited is closed when the command itself has ended. What it started may live
// on: a command that only switches something, or starts a server in the
// background, ends at once and well.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Err is nil while the command runs, when it ended with status 0, and when it
// was made to end. Otherwise it says how it ended, with the last lines of its
// log on lines of their own.
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
	p.signal(syscall.SIGTERM)
	if p.goneWithin(grace, func() {}) {
		return nil
	}
	p.signal(syscall.SIGKILL)
	// Again each time: what was just forked was not there to be killed.
	if p.goneWithin(killTime, func() { p.signal(syscall.SIGKILL) }) {
		return nil
	}
	return fmt.Errorf("stopping side %s: something that process %d started still lives %s after SIGKILL", p.side.Name, p.pid, killTime)
}

// Kill ends the command and all that it started with SIGKILL, at once. It returns
// when nothing of it lives any more, and after 1 s in any case: it is for somebody
// who does not wait for Stop, which may be under way.
func (p *Process) Kill() {
	p.release()
	p.signal(syscall.SIGKILL)
	p.goneWithin(hurryTime, func() { p.signal(syscall.SIGKILL) })
}

// bury reaps what came to this program without a parent, as soon as it is dead: a
// script that waits for a server to be gone waits for that too.
func (p *Process) bury() {
	dead := make(chan os.Signal, 1)
	signal.Notify(dead, syscall.SIGCHLD)
	defer signal.Stop(dead)
	for {
		p.mu.Lock()
		if !p.reaped {
			reapAdopted(p.pid)
		}
		p.mu.Unlock()
		select {
		case <-dead:
		case <-p.over:
			return
		}
	}
}

// signal sends sig to all of the command.
func (p *Process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = true
	if p.reaped {
		return
	}
	// First, as the children of a dead process descend from nobody.
	_, strays := family(p.pid)
	for _, s := range strays {
		p.strays[s] = true
	}
	_ = syscall.Kill(-p.pid, sig)
	for s := range p.strays {
		s.signal(sig)
	}
}

// goneWithin waits until nothing of the command lives, d at most, calling again
// each time when something does.
func (p *Process) goneWithin(d time.Duration, again func()) bool {
	over := time.NewTimer(d)
	defer over.Stop()
	select {
	case <-p.exited:
	case <-over.C:
		return false
	}
	for pause := 5 * time.Millisecond; !p.gone(); pause = min(2*pause, 250*time.Millisecond) {
		again()
		next := time.NewTimer(pause)
		select {
		case <-next.C:
		case <-over.C:
			next.Stop()
			if !p.gone() {
				return false
			}
		}
	}
	p.burial.Wait()
	return true
}

// gone says whether nothing of the command lives, and lets go of its number then.
func (p *Process) gone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return true
	}
	select {
	case <-p.exited:
	default:
		return false
	}
	members, strays := family(p.pid)
	for _, s := range strays {
		p.strays[s] = true
	}
	if members > 0 {
		return false
	}
	for s := range p.strays {
		if s.alive() {
			return false
		}
	}
	reapAdopted(p.pid)
	_ = p.cmd.Wait() // how it ended is known
	p.reaped = true
	close(p.over)
	return true
}

// bare is err without the path that the library puts in front.
func bare(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
