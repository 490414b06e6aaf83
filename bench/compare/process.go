package compare

import (
	"bytes"
	"context"
	"fmt"
	"io"
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
	tailBytes = 64 << 10 // of a log's end that are looked at
	tailLines = 8
)

// server is a side's command while it runs, with everything that it starts in turn. It
// must be stopped, also when it has ended by itself.
type server struct {
	side    Command
	log     string // path
	child   *process.Child
	release func() bool
}

// startServer runs the command of s as [process.Subreaper.Start] does, and writes what it
// prints to logFile, which only the user may read: a server's log may hold keys. When
// ctx ends, all that the command started is killed; to end it in order, call stop.
func startServer(ctx context.Context, subreaper *process.Subreaper, s Command, logFile string) (*server, error) {
	path, err := process.LookPath(s.Argv[0])
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w", s.Argv[0], err)
	}
	log, err := os.OpenFile(logFile, os.O_TRUNC|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening its log: %w", err)
	}
	defer log.Close()
	p := &server{side: s, log: logFile}
	p.child, err = subreaper.Start(process.Command{Path: path, Argv: s.Argv, Stdout: log, Stderr: log})
	if err != nil {
		return nil, err
	}
	p.release = context.AfterFunc(ctx, func() { p.child.Signal(syscall.SIGKILL) })
	return p, nil
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
	text, err := readTail(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(text, " \t\r\n"), "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	hidden := append(secrets(p.side.Argv), secrets(os.Environ())...)
	for i, line := range lines {
		lines[i] = "  " + openai.Excerpt(line, hidden...)
	}
	return fmt.Sprintf("the end of %s:\n%s", p.log, strings.Join(lines, "\n"))
}

func readTail(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(0, info.Size()-tailBytes)
	text, err := io.ReadAll(io.NewSectionReader(f, from, tailBytes))
	if from > 0 { // of a line that was cut nobody knows whether it began with a secret
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return string(text), err
}

// stop ends the command and all that it started: SIGTERM, and SIGKILL to what is
// left after grace. It returns when nothing of it lives any more, or an error
// when something does 10 s after SIGKILL.
func (p *server) stop(grace time.Duration) error {
	p.release()
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
