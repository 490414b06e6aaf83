package command

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/collector/internal/failure"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

// child is one run of the program with its output.
type child struct {
	*process.Tree
	words          []string // as one would type it
	stdout, stderr *capture
	flood          chan struct{} // gets a token when a stream is over its limit
	sated          chan struct{} // is closed when enough was printed
}

// launch starts the program in the background. The error is a *failure.Error.
func (r *Runner) launch(args []string, enough func([]byte) bool) (*child, error) {
	c := &child{words: append([]string{r.name()}, args...), flood: make(chan struct{}, 1), sated: make(chan struct{})}
	var err error
	var stdout, stderr *os.File
	if c.stdout, stdout, err = newCapture("stdout", r.limit, c.flood, c.untilEnough(enough)); err != nil {
		return nil, failure.New(failure.Exit, "opening a pipe for %s: %w", r.name(), err)
	}
	if c.stderr, stderr, err = newCapture("stderr", r.limit, c.flood, nil); err != nil {
		stdout.Close()
		c.stdout.finish(0)
		return nil, failure.New(failure.Exit, "opening a pipe for %s: %w", r.name(), err)
	}
	c.Tree = r.subreaper.Start(process.Command{
		Find: func() (string, error) { return r.find(r.path) },
		Argv: append([]string{r.path}, args...), Env: environment(os.LookupEnv, r.variables),
		Stdout: stdout, Stderr: stderr, Kill: r.kill,
	})
	return c, nil
}

// untilEnough is enough, which tells the child the first time that it is true.
func (c *child) untilEnough(enough func([]byte) bool) func([]byte) bool {
	if enough == nil {
		return nil
	}
	return func(out []byte) bool {
		if !enough(out) {
			return false
		}
		close(c.sated)
		return true
	}
}

// finishOutput reads what is still in the pipes, for at most d, and closes them.
func (c *child) finishOutput(d time.Duration) {
	until := time.Now().Add(d)
	c.stdout.finish(time.Until(until))
	c.stderr.finish(time.Until(until))
}

// exitedWithin reports whether the program itself ends before d has passed.
func (c *child) exitedWithin(d time.Duration) bool {
	select {
	case <-c.Exited():
		return true
	case <-time.After(d):
		return false
	}
}

// goneWithin kills what is left of the child, and reports whether nothing of it lives
// any more before d has passed.
func (c *child) goneWithin(d time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return c.Gone(ctx, c.kill)
}

// kill sends SIGKILL to all of the child.
func (c *child) kill() { c.Signal(syscall.SIGKILL) }

// failure returns why a child that ended did not exit by itself, a
// *failure.Error or nil.
func (c *child) failure() error {
	if err := c.Started(); err != nil {
		return startFailure(err)
	}
	switch exit := c.Exit(); {
	case exit.Err != nil:
		return failure.New(failure.Exit, "waiting for %s: %w", c, exit.Err)
	case exit.Signal != 0:
		return failure.New(failure.Exit, "running %s: killed by signal: %s", c, exit.Signal)
	}
	return nil
}

// String names the command as one would type it.
func (c *child) String() string { return strings.Join(c.words, " ") }

func (r *Runner) name() string { return filepath.Base(r.path) }
