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
	"github.com/accelerator-exporter/accelerator_exporter/bench/placement"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

const (
	readyPause = 500 * time.Millisecond // between questions to a server that starts
	prefixMark = "{}"                   // stands in a command for what binds it
)

// Plan says how a server is measured under several bindings: it is started, measured and
// stopped under each in turns.
type Plan struct {
	Command []string // of the server, as [ParseCommand] reads it
	Sides   []placement.Side
	Repeats int
	Folder  string // gets a folder for each side, with one for each repeat
	// Endpoint is what the server serves, and Ready bounds the time from its start until
	// it lists its models.
	Endpoint openai.Config
	Ready    time.Duration
	// Measure puts load on the endpoint; goOn is false where no further turn is to be
	// measured.
	Measure func(ctx context.Context, t Turn) (goOn bool, err error)
	// Log takes lines on what goes on.
	Log func(format string, args ...any)
}

// Turn is one start of the server.
type Turn struct {
	Side   placement.Side
	Repeat int    // from 0
	Folder string // for its log
}

// ParseCommand reads a command line in which the word {} stands before a program, where
// a binding goes. Quotes and backslashes are read as a shell reads them, and nothing else
// is: no variables, pipes or redirections.
func ParseCommand(line string) ([]string, error) {
	argv, err := shellquote.Split(line)
	if err != nil {
		return nil, fmt.Errorf("reading the server's command: %w", err)
	}
	if at := slices.Index(argv, prefixMark); at < 0 || at+1 == len(argv) {
		return nil, errors.New("reading the server's command: it must have {} where the binding goes, as in '{} vllm serve MODEL'")
	}
	return argv, nil
}

// argv is the command under a binding.
func (p *Plan) argv(s placement.Side) []string {
	at := slices.Index(p.Command, prefixMark)
	return slices.Concat(p.Command[:at], s.Prefix, p.Command[at+1:])
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

// lookUp says which program is not there, such as numactl.
func (p *Plan) lookUp() error {
	for _, s := range p.Sides {
		program := p.argv(s)[0]
		if _, err := process.LookPath(program); err != nil {
			return fmt.Errorf("looking up %s: %w", program, err)
		}
	}
	return nil
}

// errNotStarted is that the server could not be started under a binding. It can be
// measured under the others nevertheless.
var errNotStarted = errors.New("the server did not start")

// Run goes through all turns, or as many as come before Measure wants no more or ctx
// ends. A side under which the server does not start is given up with a note, as long as
// the first and another are left.
func (p *Plan) Run(ctx context.Context) (notes []string, err error) {
	if err := p.lookUp(); err != nil {
		return nil, err
	}
	client, err := openai.NewClient(p.Endpoint)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	r := &runner{plan: p, client: client, subreaper: process.NewSubreaper()}
	began, turns := time.Now(), p.turns()
	for i, t := range turns {
		if slices.Contains(r.givenUp, t.Side.Name) {
			continue
		}
		p.Log("side %s, repeat %d of %d: starting the server", t.Side.Name, t.Repeat+1, p.Repeats)
		if i > 0 {
			p.Log("about %s left", (time.Since(began) / time.Duration(i) * time.Duration(len(turns)-i)).Round(time.Second))
		}
		goOn, err := r.turn(ctx, t)
		switch {
		case errors.Is(err, errNotStarted) && r.canSpare(t.Side):
			r.giveUp(t, err)
		case err != nil:
			return r.notes, fmt.Errorf("side %s: %w", t.Side.Name, err)
		case !goOn:
			return r.notes, nil
		}
	}
	return r.notes, nil
}

type runner struct {
	plan      *Plan
	client    *openai.Client
	subreaper *process.Subreaper
	givenUp   []string // names of sides
	notes     []string
}

// canSpare reports whether the first side and another are left without this one.
func (r *runner) canSpare(s placement.Side) bool {
	return s.Name != r.plan.Sides[0].Name && len(r.plan.Sides)-len(r.givenUp) > 2
}

// giveUp leaves the later turns of a side out.
func (r *runner) giveUp(t Turn, why error) {
	r.plan.Log("going on without side %s: %v", t.Side.Name, why)
	r.givenUp = append(r.givenUp, t.Side.Name)
	r.notes = append(r.notes, fmt.Sprintf("Side %s was given up in repeat %d: the server did not start.", t.Side.Name, t.Repeat+1))
}

// turn starts the server, measures it when it answers, and stops it.
func (r *runner) turn(ctx context.Context, t Turn) (goOn bool, err error) {
	if r.answers(ctx) {
		return false, errors.New("the endpoint answers already, so another server would be measured: stop that one")
	}
	if err := os.MkdirAll(filepath.Dir(t.Folder), 0o755); err != nil {
		return false, fmt.Errorf("making its folder: %w", err)
	}
	started, err := startServer(r.subreaper, r.plan.argv(t.Side), t.Folder+".log")
	if err != nil {
		return false, fmt.Errorf("%w: %w", errNotStarted, err)
	}
	defer func() {
		if stopped := started.stop(stopGrace); stopped != nil {
			goOn, err = false, stopped // it is in the way of the other sides too
		}
	}()
	if err := r.await(ctx, started); err != nil {
		return false, err
	}
	return r.plan.Measure(ctx, t)
}

// await returns when the endpoint lists its models.
func (r *runner) await(ctx context.Context, s *server) error {
	late := time.After(r.plan.Ready)
	for !r.answers(ctx) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("stopped while the server started: %w", context.Cause(ctx))
		case <-s.child.Exited():
			return fmt.Errorf("%w: its command ended with %s; %s", errNotStarted, s.child.State(), s.printed())
		case <-late:
			return fmt.Errorf("%w: no list of models within %s (--ready-timeout); %s", errNotStarted, r.plan.Ready, s.printed())
		case <-time.After(readyPause):
		}
	}
	return nil
}

// answers reports whether something serves the endpoint now.
func (r *runner) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, failure := r.client.Models(ctx)
	return failure == nil
}
