package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/kballard/go-shellquote"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

const readyPause = 500 * time.Millisecond // between questions to a server that starts

// Plan says how servers are measured side by side: each is started, measured and stopped
// in turns.
type Plan struct {
	Sides   []PlannedSide
	Repeats int
	Folder  string // gets a folder for each side, with one for each repeat
	// Endpoint is what the servers serve, and Ready bounds the time from a start until its
	// models are listed.
	Endpoint openai.Config
	Ready    time.Duration
	// Measure puts load on the endpoint; goOn is false where no further turn is to be
	// measured.
	Measure func(ctx context.Context, t Turn) (goOn bool, err error)
	// Log takes lines on what goes on.
	Log func(format string, args ...any)
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

// ParseCommand reads a command line. Quotes and backslashes are read as a shell reads them,
// and nothing else is: no variables, pipes or redirections.
func ParseCommand(line string) ([]string, error) {
	command, err := shellquote.Split(line)
	if err != nil {
		return nil, fmt.Errorf("reading the server's command: %w", err)
	}
	if len(command) == 0 {
		return nil, errors.New("reading the server's command: it is empty")
	}
	return command, nil
}

// Bind returns a command with a prefix in place of its word {}, which must stand before a
// program.
func Bind(command, prefix []string) ([]string, error) {
	at := slices.Index(command, "{}")
	if at < 0 || at+1 == len(command) {
		return nil, errors.New("the server's command must have {} where the binding goes, as in '{} vllm serve MODEL'")
	}
	return slices.Concat(command[:at], prefix, command[at+1:]), nil
}

// turns interleave the sides over the repeats, every other repeat in reverse (A B B A A
// B …), so that a machine that slowly warms up or fills up is no side's fault.
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

// errNotStarted is that the server of a side could not be started. The others can be
// measured nevertheless.
var errNotStarted = errors.New("the server did not start")

// Run goes through all turns, or as many as come before Measure wants no more or ctx
// ends. A side whose server does not start is given up with a note, as long as the first
// and another are left.
func (p *Plan) Run(ctx context.Context) (notes []string, err error) {
	for _, s := range p.Sides {
		if _, err := process.LookPath(s.Command[0]); err != nil {
			return nil, fmt.Errorf("looking up %s: %w", s.Command[0], err)
		}
	}
	client, err := openai.NewClient(p.Endpoint)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	r := &runner{plan: p, client: client, subreaper: process.NewSubreaper()}
	began, turns := time.Now(), p.turns()
	var givenUp []string // names of sides
	for i, t := range turns {
		if slices.Contains(givenUp, t.Side.Name) {
			continue
		}
		p.Log("side %s, repeat %d of %d: starting the server", t.Side.Name, t.Repeat+1, p.Repeats)
		if i > 0 {
			p.Log("about %s left", (time.Since(began) / time.Duration(i) * time.Duration(len(turns)-i)).Round(time.Second))
		}
		goOn, err := r.turn(ctx, t)
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

// runner starts the servers of a plan.
type runner struct {
	plan      *Plan
	client    *openai.Client
	subreaper *process.Subreaper
}

// turn starts the server, measures it when it answers, and stops it.
func (r *runner) turn(ctx context.Context, t Turn) (goOn bool, err error) {
	if r.answers(ctx) {
		return false, errors.New("the endpoint answers already, so another server would be measured: stop that one")
	}
	if err := os.MkdirAll(filepath.Dir(t.Folder), 0o755); err != nil {
		return false, fmt.Errorf("making its folder: %w", err)
	}
	started, err := startServer(r.subreaper, t.Side.Command, t.Folder+".log")
	if err != nil {
		return false, fmt.Errorf("%w: %w", errNotStarted, err)
	}
	defer func() {
		if stopped := started.stop(stopGrace); stopped != nil {
			goOn, err = false, stopped // it is in the way of the other sides too
		}
	}()
	late := time.After(r.plan.Ready)
	for !r.answers(ctx) {
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("stopped while the server started: %w", context.Cause(ctx))
		case <-started.child.Exited():
			return false, fmt.Errorf("%w: its command ended with %s; %s", errNotStarted, started.child.State(), started.logEnd())
		case <-late:
			return false, fmt.Errorf("%w: no list of models within %s (--ready-timeout); %s", errNotStarted, r.plan.Ready, started.logEnd())
		case <-time.After(readyPause):
		}
	}
	return r.plan.Measure(ctx, t)
}

// answers reports whether something serves the endpoint now.
func (r *runner) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, failure := r.client.Models(ctx)
	return failure == nil
}
