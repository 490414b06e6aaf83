package command

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
)

// child is one started program with everything that it starts in turn.
//
// A goroutine of its own looks the program up, starts it and waits for it, as
// each of these can block for ever; whoever watches has channels and timers.
type child struct {
	path   string
	args   []string
	find   func(name string) (path string, err error)
	signal func(pid int, sig syscall.Signal) error
	stdout *capture
	stderr *capture
	flood  chan struct{} // gets a token when a stream is over its limit
	exited chan struct{} // closed when the leader is reaped or did not start

	mu     sync.Mutex // a pid may be signalled only under mu and while not reaped
	pid    int        // 0 before the start; also the group's and the session's id
	reaped bool
	doomed bool // killed, perhaps before it was started

	// Set before exited is closed.
	startErr error
	waitErr  error
	state    *os.ProcessState

	// What may outlive the leader. Only the goroutine that ends the child
	// uses these.
	strays  []process // in the leader's session or below it, but in another group
	members []process // in the group after the leader's end
	listed  bool
}

// launch starts the program in the background. The error is a *failure.Error.
func (r *Runner) launch(args []string) (*child, error) {
	flood := make(chan struct{}, 1)
	stdout, outEnd, err := newCapture("stdout", r.limit, flood)
	if err != nil {
		return nil, failure.New(failure.Exit, "opening a pipe for %s: %w", r.name(), err)
	}
	stderr, errEnd, err := newCapture("stderr", r.limit, flood)
	if err != nil {
		outEnd.Close()
		stdout.finish(0)
		return nil, failure.New(failure.Exit, "opening a pipe for %s: %w", r.name(), err)
	}
	c := &child{
		path: r.path, args: args, find: r.find, signal: r.signal,
		stdout: stdout, stderr: stderr,
		flood: flood, exited: make(chan struct{}),
	}
	go c.run(outEnd, errEnd)
	return c, nil
}

// run is the child's goroutine, from the look-up to the reaping.
func (c *child) run(stdout, stderr *os.File) {
	defer close(c.exited)
	cmd, err := c.start(stdout, stderr)
	stdout.Close()
	stderr.Close()
	if err != nil {
		c.startErr = err
		return
	}
	// Until it is reaped, the dead leader keeps its number: SIGKILL to the
	// group then reaches only what the leader left behind.
	if awaitExit(cmd.Process.Pid) {
		c.mu.Lock()
		defer c.mu.Unlock()
		_ = c.signal(-c.pid, syscall.SIGKILL)
		c.waitErr = cmd.Wait()
		c.reaped = true
	} else {
		c.waitErr = cmd.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reaped = true
		_ = c.signal(-c.pid, syscall.SIGKILL)
	}
	c.state = cmd.ProcessState
}

// start looks the program up and starts it. The error is a *failure.Error.
func (c *child) start(stdout, stderr *os.File) (*exec.Cmd, error) {
	path, err := c.find(c.path)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, c.args...) //nolint:noctx // a context would kill the leader only, not its group
	cmd.Args[0] = c.path
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdout, cmd.Stderr = stdout, stderr // files, so Wait waits for no pipe
	// A session of its own is also a group of its own, and has no terminal on
	// which a tool could wait or be stopped.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}

	if c.isDoomed() {
		return nil, failure.New(failure.Timeout, "starting %s: killed before it started", path)
	}
	if err := cmd.Start(); err != nil {
		return nil, startFailure(path, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pid = cmd.Process.Pid
	if c.doomed {
		_ = c.signal(-c.pid, syscall.SIGKILL)
	}
	return cmd, nil
}

func (c *child) isDoomed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.doomed
}

// terminate sends SIGTERM to all of the child and, when grace has passed or the
// leader is gone, SIGKILL to what is left.
func (c *child) terminate(grace time.Duration) {
	c.send(syscall.SIGTERM)
	within(c.exited, grace)
	c.kill()
}

// kill sends SIGKILL to all of the child.
func (c *child) kill() { c.send(syscall.SIGKILL) }

func (c *child) send(sig syscall.Signal) {
	c.mu.Lock()
	c.doomed = true
	running := c.pid != 0 && !c.reaped
	if running {
		// Before the signal: a dead leader's children are nobody's descendants.
		c.addStrays()
		_ = c.signal(-c.pid, sig)
	}
	c.mu.Unlock()
	for _, p := range c.strays {
		p.signal(sig)
	}
}

// killStrays kills what is in the leader's session but not in its group.
func (c *child) killStrays() {
	if c.pid == 0 {
		return
	}
	c.addStrays()
	for _, p := range c.strays {
		p.signal(syscall.SIGKILL)
	}
}

func (c *child) addStrays() {
	known := make(map[process]bool, len(c.strays))
	for _, p := range c.strays {
		known[p] = true
	}
	for _, p := range strays(c.pid) {
		if !known[p] {
			c.strays = append(c.strays, p)
		}
	}
}

// finishOutput reads what is still in the pipes, for at most d, closes them,
// and tells whether somebody kept one open.
func (c *child) finishOutput(d time.Duration) (held bool) {
	until := time.Now().Add(d)
	heldOut := c.stdout.finish(time.Until(until))
	heldErr := c.stderr.finish(time.Until(until))
	return heldOut || heldErr
}

// goneWithin tells whether nothing of the child lives any more before d has passed.
func (c *child) goneWithin(d time.Duration) bool {
	stop := make(chan struct{})
	t := time.AfterFunc(d, func() { close(stop) })
	defer t.Stop()
	return c.gone(stop)
}

// gone waits until nothing of the child lives, and returns false when stop is
// closed before that.
func (c *child) gone(stop <-chan struct{}) bool {
	select {
	case <-c.exited:
	case <-stop:
		if !c.ended() {
			return false
		}
	}
	for pause := time.Millisecond; c.survives(); pause = min(2*pause, time.Second) {
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-stop:
			t.Stop()
			return !c.survives()
		}
	}
	return true
}

// survives tells whether anything that the leader started is alive after it.
// Without the leader there is nobody to wait for these, so they are looked at.
func (c *child) survives() bool {
	if c.pid == 0 {
		return false
	}
	if !c.listed {
		c.listed = true
		if err := c.signal(-c.pid, 0); !errors.Is(err, syscall.ESRCH) {
			c.members = group(c.pid)
		}
	}
	alive := false
	for _, p := range slices.Concat(c.members, c.strays) {
		alive = p.alive() || alive // all of them: looking also reaps
	}
	return alive
}

// ended tells whether the leader is reaped or did not start.
func (c *child) ended() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

func (c *child) exitCode() int {
	if !c.ended() || c.state == nil {
		return -1
	}
	return c.state.ExitCode()
}

// failure returns why a child that ended did not exit by itself, a
// *failure.Error or nil.
func (c *child) failure() error {
	if c.startErr != nil {
		return c.startErr
	}
	if c.state == nil {
		return failure.New(failure.Exit, "waiting for %s: %w", c, c.waitErr)
	}
	if ws, ok := c.state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return failure.New(failure.Exit, "running %s: killed by signal: %s", c, ws.Signal())
	}
	return nil
}
