package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"github.com/accelerator-exporter/accelerator_exporter/internal/failure"
)

// drainTime is how long a pipe is read after the program's end, when something that it
// left behind holds the pipe open.
const drainTime = 250 * time.Millisecond

// Subreaper starts programs. On Linux it makes us the parent of every descendant that
// loses its own, for good, so that a daemon, which is in a session of its own, can be
// ended with the program that made it. One serves all programs that run at the same time.
// Make it with NewSubreaper.
type Subreaper struct {
	session int                                     // our own: what we start otherwise stays in there and is left alone
	kill    func(pid int, sig syscall.Signal) error // kill(2) but in tests

	mu      sync.Mutex // also held while a program is started: it is no orphan
	running map[*Child]bool
}

// NewSubreaper makes us adopt orphans. Where the kernel does not let us, daemons are
// not found.
func NewSubreaper() *Subreaper {
	adoptOrphans()
	session, _ := unix.Getsid(0)
	return &Subreaper{session: session, kill: syscall.Kill, running: map[*Child]bool{}}
}

// Command is a program to be started.
type Command struct {
	Path           string    // of the program, as LookPath returns it
	Argv           []string  // with the program's name first
	Env            []string  // nil for our own
	Stdout, Stderr io.Writer // nil for none; a file is handed to the program itself
}

// Child is one started program with everything that it starts in turn, on Linux daemons
// included. Its methods may be called from several goroutines at once.
type Child struct {
	subreaper *Subreaper
	cmd       *exec.Cmd
	begin     uint64        // the program's start in clock ticks after boot
	exited    chan struct{} // closed when the program itself has ended
}

// Start starts a program in a session of its own, with nothing to read. On Linux the
// program itself, but nothing that it started, gets SIGTERM when we die. Start can block
// for ever, as on a dead network mount.
func (s *Subreaper) Start(command Command) (*Child, error) {
	c := &Child{
		subreaper: s,
		cmd: &exec.Cmd{
			Path: command.Path, Args: command.Argv, Env: command.Env, Stdout: command.Stdout, Stderr: command.Stderr,
			SysProcAttr: attributes(), WaitDelay: drainTime,
		},
		exited: make(chan struct{}),
	}
	started := make(chan error)
	go func() {
		// The kernel sends Pdeathsig when this thread ends: keep it until the program has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := s.start(c)
		started <- err
		if err == nil {
			_ = c.cmd.Wait() // State says how it ended
			close(c.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", command.Path, err)
	}
	return c, nil
}

func (s *Subreaper) start(c *Child) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := c.cmd.Start(); err != nil {
		err = failure.Cause(err)
		if errors.Is(err, fs.ErrNotExist) { // the program was there a moment ago
			return fmt.Errorf("its interpreter: %w", err)
		}
		return err
	}
	c.begin = math.MaxUint64 // where the kernel hides it, no daemon is taken for its
	if st, ok := FS("/proc").Stat(c.PID()); ok {
		c.begin = st.Starttime
	}
	s.running[c] = true
	return nil
}

// PID is the number of the program itself, and nobody else's before Exited is closed.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Exited is closed when the program itself has ended. What it started may live on.
func (c *Child) Exited() <-chan struct{} { return c.exited }

// State is how the program ended, once Exited is closed.
func (c *Child) State() *os.ProcessState { return c.cmd.ProcessState }

// Signal sends sig to the program and to all that it started.
func (c *Child) Signal(sig syscall.Signal) {
	c.subreaper.mu.Lock()
	defer c.subreaper.mu.Unlock()
	if !c.subreaper.running[c] {
		return
	}
	all := c.descendants()       // before any of them dies and leaves its children to us
	lives := !isClosed(c.exited) // so its number, and the group's, is nobody else's
	if lives {
		_ = c.subreaper.kill(-c.PID(), sig)
	}
	for _, st := range all {
		if !lives || st.PGRP != c.PID() {
			_ = c.subreaper.kill(st.PID, sig)
		}
	}
}

// Gone waits until neither the program nor anything that it started lives, and reports
// whether that came before ctx ended. What the program leaves behind gets sig each time
// that it is looked at; 0 is none.
func (c *Child) Gone(ctx context.Context, sig syscall.Signal) bool {
	select {
	case <-c.exited:
	case <-ctx.Done():
		return false
	}
	for pause := time.Millisecond; !c.sweep(sig); pause = min(2*pause, 500*time.Millisecond) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// sweep sends sig to what the program, which has ended, left behind, reaps what is dead
// of it, and reports whether there was nothing.
func (c *Child) sweep(sig syscall.Signal) bool {
	c.subreaper.mu.Lock()
	defer c.subreaper.mu.Unlock()
	if c.subreaper.running[c] && hasChildren() {
		left := c.descendants()
		for _, st := range left {
			_ = c.subreaper.kill(st.PID, sig)
			_, _ = syscall.Wait4(st.PID, nil, syscall.WNOHANG, nil)
		}
		if len(left) > 0 {
			return false
		}
	}
	delete(c.subreaper.running, c)
	return true
}

// descendants returns what descends from the program, or from one of its orphans, with
// the dead that nobody has reaped.
func (c *Child) descendants() []procfs.ProcStat {
	all, err := FS("/proc").Processes()
	if err != nil {
		return nil // no /proc: only the group is known
	}
	in := map[int]bool{}
	for _, st := range all {
		if st.PPID == os.Getpid() && c.owns(st) {
			in[st.PID] = true
		}
	}
	AddDescendants(in, all)
	var found []procfs.ProcStat
	for _, st := range all {
		if in[st.PID] {
			found = append(found, st)
		}
	}
	return found
}

// owns reports whether a child of ours is the program, or an orphan that came to us: one
// that began since the program did and is in no session of ours or of another program that
// runs. A daemon of two programs that run at the same time ends with the first of them.
func (c *Child) owns(st procfs.ProcStat) bool {
	if st.Session == c.PID() {
		return true
	}
	for other := range c.subreaper.running {
		if other != c && st.Session == other.PID() {
			return false
		}
	}
	return st.Session != c.subreaper.session && (st.Starttime >= c.begin || st.State == "Z")
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// LookPath returns the path of the program of that name or path. Its error does not
// repeat the name.
func LookPath(name string) (string, error) {
	path, err := exec.LookPath(name)
	if named := (*exec.Error)(nil); errors.As(err, &named) {
		return "", failure.Cause(named.Err)
	}
	return path, err
}
