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
	stopGrace = 30 * time.Second // for a server to end in order
	// killTime is how long what was killed may take to be gone. A process in
	// uninterruptible sleep takes longer than anybody wants to wait.
	killTime  = 10 * time.Second
	tailLines = 8        // of a log that are shown
	tailBytes = 64 << 10 // of a log that are read for them
)

// server is a command while it runs, with everything that it starts in turn. It must be
// stopped, also when it has ended by itself.
type server struct {
	log   string // path
	child *process.Child
}

// startServer runs a command as [process.Subreaper.Start] does, and writes what it prints
// to logFile, which only the user may read: a server's log may hold keys.
func startServer(subreaper *process.Subreaper, argv []string, logFile string) (*server, error) {
	path, err := process.LookPath(argv[0])
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w", argv[0], err)
	}
	log, err := os.OpenFile(logFile, os.O_TRUNC|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening its log: %w", err)
	}
	defer log.Close()
	child, err := subreaper.Start(process.Command{Path: path, Argv: argv, Stdout: log, Stderr: log})
	return &server{log: logFile, child: child}, err
}

// logEnd returns the last lines that the command printed, each cut.
func (s *server) logEnd() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text[max(0, len(text)-tailBytes):])), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	for i, line := range lines {
		lines[i] = "  " + openai.Excerpt(line)
	}
	return fmt.Sprintf("the end of %s:\n%s", s.log, strings.Join(lines, "\n"))
}

// stop ends the command and all that it started: SIGTERM, and SIGKILL to what is
// left after grace. It returns when nothing of it lives any more, or an error
// when something does 10 s after SIGKILL.
func (s *server) stop(grace time.Duration) error {
	s.child.Signal(syscall.SIGTERM)
	if s.goneWithin(grace, 0) {
		return nil
	}
	s.child.Signal(syscall.SIGKILL)
	if s.goneWithin(killTime, syscall.SIGKILL) {
		return nil
	}
	return fmt.Errorf("something that process %d started still lives %s after SIGKILL", s.child.PID(), killTime)
}

// goneWithin sends sig to what the command left behind each time that it looks; 0 is none.
func (s *server) goneWithin(d time.Duration, sig syscall.Signal) bool {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	return s.child.Gone(ctx, sig)
}
