package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

const (
	readyPause = 500 * time.Millisecond // between questions to a server that starts
	stopGrace  = 30 * time.Second       // for a server to end in order
	killTime   = 10 * time.Second       // for what was killed to be gone; uninterruptible sleep takes longer
	logLines   = 8                      // of a server's log that are shown
)

// Plan says how servers are started, measured and stopped in turns.
type Plan struct {
	Sides    []PlannedSide
	Repeats  int
	Folder   string        // gets a folder for each side, with one for each repeat
	Endpoint openai.Config // what the servers serve
	Ready    time.Duration // from a start until its models are listed
	// Measure puts load on the endpoint; goOn is false where no further turn is to be measured.
	Measure func(ctx context.Context, t Turn) (goOn bool, err error)
	Log     func(format string, args ...any) // takes lines on what goes on
}

// PlannedSide is a server to start.
type PlannedSide struct {
	Name    string   // fit for a file name
	Command []string // with its arguments
	Server  runlog.Server
}

// Turn is one start of a server.
type Turn struct {
	Side   PlannedSide
	Repeat int    // from 0
	Folder string // for its log
}

// ParseCommand reads a command line as a shell does, but without variables, pipes and redirections.
func ParseCommand(line string) ([]string, error) {
	command, err := shellquote.Split(line)
	if err == nil && len(command) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the server's command: %w", err)
	}
	return command, nil
}

// ParseBound is [ParseCommand] with a binding in place of the word {}, which must stand before a program.
func ParseBound(line string, binding []string) ([]string, error) {
	command, err := ParseCommand(line)
	if err != nil {
		return nil, err
	}
	at := slices.Index(command, "{}")
	if at < 0 || at+1 == len(command) {
		return nil, errors.New("reading the server's command: it must have {} where the binding goes, as in '{} vllm serve MODEL'")
	}
	return slices.Replace(command, at, at+1, binding...), nil
}

// turns interleave the sides, every other repeat in reverse (A B B A A B …), so that a machine
// that slowly warms up or fills up is no side's fault.
func (p *Plan) turns() []Turn {
	var turns []Turn
	for repeat := range p.Repeats {
		sides := slices.Clone(p.Sides)
		if repeat%2 == 1 {
			slices.Reverse(sides)
		}
		for _, s := range sides {
			turns = append(turns, Turn{s, repeat, filepath.Join(p.Folder, s.Name, strconv.Itoa(repeat+1))})
		}
	}
	return turns
}

// errNotStarted fails one side alone: the others can be measured nevertheless.
var errNotStarted = errors.New("the server did not start")

// Run goes through all turns, or those before Measure wants no more or ctx ends. A side whose
// server does not start is given up with a note, as long as the first and another are left.
func (p *Plan) Run(ctx context.Context) (notes []string, err error) {
	for i, s := range p.Sides {
		path, err := process.LookPath(s.Command[0])
		if err != nil {
			return nil, fmt.Errorf("looking up %s: %w", s.Command[0], err)
		}
		p.Sides[i].Command = slices.Concat([]string{path}, s.Command[1:])
	}
	client, err := openai.NewClient(p.Endpoint)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	subreaper, began, turns := process.NewSubreaper(), time.Now(), p.turns()
	var givenUp []string // names of sides
	for i, t := range turns {
		if slices.Contains(givenUp, t.Side.Name) {
			continue
		}
		p.Log("side %s, repeat %d of %d: starting the server", t.Side.Name, t.Repeat+1, p.Repeats)
		if i > 0 {
			p.Log("about %s left", (time.Since(began) / time.Duration(i) * time.Duration(len(turns)-i)).Round(time.Second))
		}
		goOn, err := p.turn(ctx, t, client, subreaper)
		switch {
		case errors.Is(err, errNotStarted) && t.Side.Name != p.Sides[0].Name && len(p.Sides)-len(givenUp) > 2:
			p.Log("going on without side %s: %v", t.Side.Name, err)
			givenUp = append(givenUp, t.Side.Name)
			notes = append(notes, fmt.Sprintf("Side %s was given up in repeat %d: the server did not start.", t.Side.Name, t.Repeat+1))
		case err != nil:
			return notes, fmt.Errorf("side %s: %w", t.Side.Name, err)
		case !goOn:
			return notes, nil
		}
	}
	return notes, nil
}

// turn starts the server, measures it when it answers, and stops it.
func (p *Plan) turn(ctx context.Context, t Turn, client *openai.Client, subreaper *process.Subreaper) (goOn bool, err error) {
	answers := func() bool {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_, failure := client.Models(ctx)
		return failure == nil
	}
	if answers() {
		return false, errors.New("the endpoint answers already, so another server would be measured: stop that one")
	}
	if err := os.MkdirAll(filepath.Dir(t.Folder), 0o755); err != nil {
		return false, fmt.Errorf("making its folder: %w", err)
	}
	log := t.Folder + ".log"
	server, err := startServer(subreaper, t.Side.Command, log)
	if err != nil {
		return false, fmt.Errorf("%w: %w", errNotStarted, err)
	}
	defer func() {
		if stopped := stop(server, stopGrace); stopped != nil {
			goOn, err = false, stopped // it is in the way of the other sides too
		}
	}()
	late := time.After(p.Ready)
	for !answers() {
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("stopped while the server started: %w", context.Cause(ctx))
		case <-server.Exited():
			return false, fmt.Errorf("%w: its command ended with %s; %s", errNotStarted, server.State(), logEnd(log))
		case <-late:
			return false, fmt.Errorf("%w: no list of models within %s (--ready-timeout); %s", errNotStarted, p.Ready, logEnd(log))
		case <-time.After(readyPause):
		}
	}
	return p.Measure(ctx, t)
}

// startServer runs the program at argv[0], which must be stopped also when it has ended. Only the user may read its log: it may hold keys.
func startServer(subreaper *process.Subreaper, argv []string, logFile string) (*process.Child, error) {
	log, err := os.OpenFile(logFile, os.O_TRUNC|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening its log: %w", err)
	}
	defer log.Close()
	return subreaper.Start(process.Command{Path: argv[0], Argv: argv, Stdout: log, Stderr: log})
}

// logEnd returns the last lines that a command printed, each cut.
func logEnd(log string) string {
	text, err := os.ReadFile(log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	lines = lines[max(0, len(lines)-logLines):]
	for i, line := range lines {
		lines[i] = "  " + openai.Excerpt(line)
	}
	return fmt.Sprintf("the end of %s:\n%s", log, strings.Join(lines, "\n"))
}

// stop ends a command and all that it started: SIGTERM, and SIGKILL to what is left after
// grace. It returns when nothing of it lives, or an error when something does 10 s after that.
func stop(server *process.Child, grace time.Duration) error {
	server.Signal(syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if server.Gone(ctx, 0) {
		return nil
	}
	server.Signal(syscall.SIGKILL)
	ctx, cancel = context.WithTimeout(context.Background(), killTime)
	defer cancel()
	if server.Gone(ctx, syscall.SIGKILL) {
		return nil
	}
	return fmt.Errorf("something that process %d started still lives %s after SIGKILL", server.PID(), killTime)
}
