package compare

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

const (
	// killTime is how long what was killed may take to be gone. A process in
	// uninterruptible sleep takes longer than anybody wants to wait.
	killTime  = 10 * time.Second
	tailLines = 8 // of a log that are shown
)

// server is a side's command while it runs, with everything that it starts in turn. It
// must be stopped, also when it has ended by itself.
type server struct {
	side  Command
	log   string // path
	child *process.Child
}

// startServer runs the command of s as [process.Subreaper.Start] does, and writes what it
// prints to logFile, which only the user may read: a server's log may hold keys.
func startServer(subreaper *process.Subreaper, s Command, logFile string) (*server, error) {
	path, err := process.LookPath(s.Argv[0])
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w", s.Argv[0], err)
	}
	log, err := os.OpenFile(logFile, os.O_TRUNC|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening its log: %w", err)
	}
	defer log.Close()
	child, err := subreaper.Start(process.Command{Path: path, Argv: s.Argv, Stdout: log, Stderr: log})
	return &server{side: s, log: logFile, child: child}, err
}

// running reports whether the command itself lives. What it started may live on: a
// command that only switches something, or starts a server in the background, ends at
// once and well.
func (p *server) running() bool {
	select {
	case <-p.child.Exited():
		return false
	default:
		return true
	}
}

// failure is how the command ended, empty while it runs, when it ended with status 0 and
// when it was made to end.
func (p *server) failure() string {
	if p.running() || p.child.Signaled() || p.child.State().Success() {
		return ""
	}
	return p.child.State().String()
}

// printed is the end of the command's log, each line cut and without secrets.
func (p *server) printed() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		lines[i] = "  " + openai.Excerpt(line, secrets(p.side.Argv)...)
	}
	return fmt.Sprintf("the end of %s:\n%s", p.log, strings.Join(lines, "\n"))
}

// stop ends the command and all that it started: SIGTERM, and SIGKILL to what is
// left after grace. It returns when nothing of it lives any more, or an error
// when something does 10 s after SIGKILL.
func (p *server) stop(grace time.Duration) error {
	p.child.Signal(syscall.SIGTERM)
	if p.goneWithin(grace, 0) {
		return nil
	}
	p.child.Signal(syscall.SIGKILL)
	if p.goneWithin(killTime, syscall.SIGKILL) {
		return nil
	}
	return fmt.Errorf("stopping side %s: something that process %d started still lives %s after SIGKILL", p.side.Name, p.child.PID(), killTime)
}

// goneWithin sends sig to what the command left behind each time that it looks; 0 is none.
func (p *server) goneWithin(d time.Duration, sig syscall.Signal) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return p.child.Gone(ctx, sig)
}
