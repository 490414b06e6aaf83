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
	// Daemons says that what the program leaves behind when it ends, daemons
	// included, is part of it until it is stopped; otherwise what is left of its
	// group is killed at once. On Linux we become the parent of every descendant
	// that loses its own, for good, so only one such program may run at a time, and
	// nothing else may be started in a session of its own meanwhile.
	Daemons bool
	// Kill is kill(2) if nil. A test's own stands in for processes that no signal
	// reaches.
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

// Tree is one started program, the leader, with everything that it starts in turn:
// its process group, its session, and what left these but descends from it. Its
// methods may be called from several goroutines at once.
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

	mu       sync.Mutex
	cmd      *exec.Cmd
	pid      int              // 0 before the start; also the group's and the session's number
	signaled bool             // was sent a signal, perhaps before it started
	reaped   bool             // the leader's number may be another's
	known    map[Process]bool // what was seen of the tree, and whether it is in the leader's group

	// Set before exited is closed.
	startErr error
	exit     Exit
}

// Start starts a program in the background, in a session of its own, so that it has
// no terminal, and with nothing to read. On Linux the program itself, but nothing
// that it started, gets SIGTERM when we die.
func Start(c Command) *Tree {
	if c.Kill == nil {
		c.Kill = syscall.Kill
	}
	t := &Tree{
		command: c, started: make(chan struct{}), exited: make(chan struct{}), over: make(chan struct{}),
		known: map[Process]bool{}, exit: Exit{Code: -1},
	}
	if c.Daemons {
		adoptOrphans()
	}
	go t.run()
	return t
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
	t.mu.Lock()
	defer t.mu.Unlock()
	t.exit, t.exit.Signaled = exit, t.signaled
	if !t.command.Daemons {
		_ = t.command.Kill(-t.pid, syscall.SIGKILL)
		_ = t.cmd.Wait() // how it ended is known
		t.reaped = true
	}
}

func (t *Tree) start() error {
	defer t.command.Stdout.Close()
	defer t.command.Stderr.Close()
	path, err := t.command.Find()
	if err != nil {
		return err
	}
	cmd := exec.Command(path) //nolint:noctx // a context would kill the leader only
	cmd.Args, cmd.Env = t.command.Argv, t.command.Env
	cmd.Stdout, cmd.Stderr = t.command.Stdout, t.command.Stderr // files, so Wait waits for no pipe
	cmd.SysProcAttr = attributes()
	t.mu.Lock()
	canceled := t.signaled
	t.mu.Unlock()
	if canceled {
		return fmt.Errorf("starting %s: %w", path, context.Canceled)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", path, startError(path, err))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cmd, t.pid = cmd, cmd.Process.Pid
	if t.signaled {
		_ = t.command.Kill(-t.pid, syscall.SIGKILL)
	}
	return nil
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
	t.mu.Lock()
	defer t.mu.Unlock()
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
	t.mu.Lock()
	defer t.mu.Unlock()
	t.signaled = true
	if t.pid == 0 || isClosed(t.over) {
		return
	}
	t.survey() // first: the children of a dead process descend from nobody
	if !t.reaped {
		_ = t.command.Kill(-t.pid, sig)
	}
	for p, inGroup := range t.known {
		if !inGroup {
			p.Signal(sig)
		}
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

// lives reports whether something of the tree does, and lets go of the leader's number
// where nothing does.
func (t *Tree) lives() bool {
	if !isClosed(t.exited) {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pid == 0 || isClosed(t.over) {
		return false
	}
	if t.anyAlive() {
		return true
	}
	// Of a reaped leader's group the kernel says cheaply whether anything is left.
	if group := t.command.Kill(-t.pid, 0); !t.reaped || !errors.Is(group, syscall.ESRCH) {
		if t.survey(); t.anyAlive() || !hasProc && group == nil {
			return true
		}
	}
	if !t.reaped {
		_ = t.cmd.Wait() // how it ended is known
		t.reaped = true
	}
	close(t.over)
	return false
}

// anyAlive reports whether a known process lives, and reaps and forgets what does not.
// One whose parent has yet to reap it, or to die and leave it to us, counts as living.
func (t *Tree) anyAlive() bool {
	for p := range t.known {
		if p.Alive() {
			continue
		}
		if st, ok := FS("/proc").Stat(p.pid); !ok || st.Start != p.start || st.Parent != os.Getpid() && !t.knows(st.Parent) {
			delete(t.known, p)
		}
	}
	return len(t.known) > 0
}

// knows reports whether the process of that number is a known one.
func (t *Tree) knows(pid int) bool {
	for p := range t.known {
		if p.pid == pid {
			return true
		}
	}
	return false
}

// survey gets to know all that is in the tree but the leader, dead ones that nobody
// reaped included. Under mu.
func (t *Tree) survey() {
	all, err := FS("/proc").Processes()
	if err != nil {
		return
	}
	for _, st := range members(all, t.pid, t.command.Daemons) {
		t.known[Process{st.PID, st.Start}] = st.Group == t.pid
	}
}

// members are those of all that are in the leader's tree, itself apart: in its group,
// its session, or descended from it or, with orphans, from a process that came to us
// since.
func members(all []Stat, leader int, orphans bool) []Stat {
	if leader <= 1 {
		return nil // everything descends from these
	}
	tree := map[int]bool{leader: true}
	if orphans {
		for _, pid := range adopted(all, leader) {
			tree[pid] = true
		}
	}
	AddDescendants(tree, all)
	var found []Stat
	for _, st := range all {
		if st.PID != leader && st.PID != os.Getpid() && (st.Group == leader || st.Session == leader || tree[st.PID]) {
			found = append(found, st)
		}
	}
	return found
}

// adopted are the orphans that came to us. They can be told from programs that we
// started for ourselves by their session: the leader's, or one made since it started.
func adopted(all []Stat, leader int) []int {
	byPID := make(map[int]Stat, len(all))
	for _, st := range all {
		byPID[st.PID] = st
	}
	first, self := byPID[leader], os.Getpid()
	if first.PID == 0 {
		return nil
	}
	var found []int
	for _, st := range all {
		if st.Parent == self && st.PID != leader && st.Session != byPID[self].Session && st.Start >= first.Start {
			found = append(found, st.PID)
		}
	}
	return found
}
