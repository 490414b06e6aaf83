package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Command is a program to be started.
type Command struct {
	// Find returns the program's path, and may block, as on a dead network mount.
	Find func() (path string, err error)
	Argv []string // with the program's name first
	Env  []string // nil for our own
	// Stdout and Stderr get the output. They are closed on our side as soon as the
	// program has them or cannot be started.
	Stdout, Stderr *os.File
	// Daemons says that what the program leaves behind when it ends lives on until it
	// is stopped; otherwise it is killed at once.
	Daemons bool
	// Kill is kill(2) if nil. A test's own stands in for processes that no signal
	// reaches; the tree then gets no cgroup, by which the kernel would kill them.
	Kill func(pid int, sig syscall.Signal) error
}

// Exit is how a program ended.
type Exit struct {
	Code       int            // the exit status; -1 for one that did not exit by itself
	Signal     syscall.Signal // that ended it, else 0
	CoreDumped bool
	Signaled   bool  // we had sent it a signal before
	Err        error // why its end could not be seen
}

// String is "exit status 2" or the name of a signal.
func (e Exit) String() string {
	switch {
	case e.Err != nil:
		return "its end could not be seen: " + e.Err.Error()
	case e.Signal == 0:
		return fmt.Sprintf("exit status %d", e.Code)
	case e.CoreDumped:
		return signalName(e.Signal) + ", core dumped"
	}
	return signalName(e.Signal)
}

// Tree is one started program, the leader, with everything that it starts in turn,
// on Linux daemons included. Its methods may be called from several goroutines at once.
//
// A goroutine of its own looks the program up, starts it and waits for it, as each
// of these can block for ever. Until the dead leader is reaped it keeps its number,
// so that a signal to its group reaches nobody else.
type Tree struct {
	command Command
	started chan struct{} // closed when the leader runs or could not be started
	exited  chan struct{} // closed when the leader has ended or did not start
	over    chan struct{} // closed when nothing of it lives
	workers sync.WaitGroup

	subreaper *Subreaper

	// Under the subreaper's mu.
	cmd      *exec.Cmd
	pid      int              // 0 before the start; also the group's and the session's number
	begin    uint64           // the leader's start in clock ticks after boot; 0 while it is not known
	cgroup   string           // folder of the tree's own cgroup, "" without one
	signaled bool             // was sent a signal, perhaps before it started
	killed   bool             // was sent SIGKILL as a whole
	reaped   bool             // the leader's number may be another's
	known    map[Process]Stat // what was last seen of the tree

	// Set before exited is closed.
	startErr error
	exit     Exit
}

func (t *Tree) run() {
	defer close(t.exited)
	// The kernel takes the end of the thread that started the leader for ours.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	t.startErr = t.start()
	close(t.started)
	if t.startErr != nil {
		return
	}
	if t.command.Daemons {
		t.workers.Go(t.reapOrphans)
	}
	exit := awaitExit(t.cmd)
	t.subreaper.mu.Lock()
	defer t.subreaper.mu.Unlock()
	t.exit, t.exit.Signaled = exit, t.signaled
	if t.command.Daemons {
		return
	}
	_ = t.kill(-t.pid, syscall.SIGKILL)
	t.reapLeader()
	if t.killed = true; hasChildren() {
		t.signal(syscall.SIGKILL)
	}
}

func (t *Tree) start() error {
	defer t.command.Stdout.Close()
	defer t.command.Stderr.Close()
	path, err := t.command.Find()
	if err != nil {
		return err
	}
	if !t.subreaper.admit(t) {
		return fmt.Errorf("starting %s: %w", path, context.Canceled)
	}
	cmd, cgroup, err := t.startLeader(path)
	t.subreaper.mu.Lock()
	defer t.subreaper.mu.Unlock()
	if err != nil {
		delete(t.subreaper.trees, t)
		return fmt.Errorf("starting %s: %w", path, startError(path, err))
	}
	t.cmd, t.pid, t.cgroup = cmd, cmd.Process.Pid, cgroup
	if st, ok := FS("/proc").Stat(t.pid); ok {
		t.begin = st.Start
	}
	if t.signaled {
		t.signal(syscall.SIGKILL)
	}
	return nil
}

// leader is the program at path, ready to be started.
func (t *Tree) leader(path string) *exec.Cmd {
	cmd := exec.Command(path) //nolint:noctx // a context would kill the leader only
	cmd.Args, cmd.Env = t.command.Argv, t.command.Env
	cmd.Stdout, cmd.Stderr = t.command.Stdout, t.command.Stderr // files, so Wait waits for no pipe
	cmd.SysProcAttr = attributes()
	return cmd
}

// startError is why the program at path did not start, without repeating the path.
func startError(path string, err error) error {
	var e *fs.PathError
	switch {
	case !errors.As(err, &e) || e.Path != path:
		return err
	case errors.Is(err, fs.ErrNotExist): // it was there a moment ago: what runs it is missing
		return fmt.Errorf("its interpreter: %w", e.Err)
	}
	return e.Err
}

// Started waits for the start, and returns why the program did not start: the error
// of Find, of the kernel, or [context.Canceled] after a signal.
func (t *Tree) Started() error {
	<-t.started
	return t.startErr
}

// PID is the leader's number, 0 before the start. It is nobody else's before Exited
// is closed; of a tree with Daemons, before Gone.
func (t *Tree) PID() int {
	t.subreaper.mu.Lock()
	defer t.subreaper.mu.Unlock()
	return t.pid
}

// Exited is closed when the leader itself has ended, or did not start.
func (t *Tree) Exited() <-chan struct{} { return t.exited }

// Exit is how the leader ended; Code is -1 while it has not.
func (t *Tree) Exit() Exit {
	if !isClosed(t.exited) {
		return Exit{Code: -1}
	}
	return t.exit
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Signal sends sig to the whole tree. Before the start it prevents that.
func (t *Tree) Signal(sig syscall.Signal) {
	t.subreaper.mu.Lock()
	defer t.subreaper.mu.Unlock()
	t.signaled = true
	t.killed = t.killed || t.pid == 0 // what starts nevertheless gets SIGKILL
	if t.pid == 0 || isClosed(t.over) {
		return
	}
	t.signal(sig)
}

// signal sends sig to the whole tree. What forks while it is killed is chased from the
// second time on, where the kernel does not kill it by its cgroup. Under mu.
func (t *Tree) signal(sig syscall.Signal) {
	before, chase := t.known, false
	if sig == syscall.SIGKILL {
		chase = !killCgroup(t.cgroup) && t.killed
		t.killed = true
	}
	t.survey() // first: the children of a dead process descend from nobody
	group, grown := !t.reaped, false
	for p, st := range t.known {
		if st.Group != t.pid {
			p.Signal(sig)
		} else if !st.dead() {
			group = true // it holds the number of a reaped leader
		}
		_, seen := before[p]
		grown = grown || !seen
	}
	if group {
		_ = t.kill(-t.pid, sig)
	}
	if chase && grown {
		t.chase()
	}
}

// Gone waits until nothing of the tree lives, and reports whether that came before ctx
// ended. It calls again each time that it looked and something did; nil for nothing.
func (t *Tree) Gone(ctx context.Context, again func()) bool {
	select {
	case <-t.exited:
	case <-ctx.Done():
	}
	for pause := time.Millisecond; t.lives(); pause = min(2*pause, 500*time.Millisecond) {
		if ctx.Err() != nil {
			return false
		}
		if again != nil {
			again()
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
	t.workers.Wait()
	return true
}

// lives reports whether something of the tree does, and ends the tree where nothing
// does: it lets go of the leader's number and of the cgroup.
func (t *Tree) lives() bool {
	if !isClosed(t.exited) {
		return true
	}
	t.subreaper.mu.Lock()
	defer t.subreaper.mu.Unlock()
	if t.pid == 0 || isClosed(t.over) {
		return false
	}
	if hasChildren() && t.survey() {
		return true
	}
	t.reapLeader()
	if !removeCgroup(t.cgroup) {
		return true
	}
	delete(t.subreaper.trees, t)
	close(t.over)
	return false
}

// kill is kill(2).
func (t *Tree) kill(pid int, sig syscall.Signal) error {
	if t.command.Kill != nil {
		return t.command.Kill(pid, sig)
	}
	return syscall.Kill(pid, sig)
}

// reapLeader lets go of the number of the leader, which has ended. Under mu.
func (t *Tree) reapLeader() {
	if !t.reaped {
		_ = t.cmd.Wait() // how it ended is known
		t.reaped = true
	}
}
