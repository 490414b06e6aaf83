package compare

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/internal/process"
)

const (
	readyPause = 500 * time.Millisecond // between questions to a server that starts
	stopGrace  = 30 * time.Second       // for a server to end in order
	hurryGrace = 5 * time.Second        // where the user withdraws
	staleTime  = 30 * time.Second       // for a server of before to go, or to be switched
)

// Plan says how sides are measured: each side's command is started, measured and stopped, in
// turns.
type Plan struct {
	Sides   []Command
	Repeats int
	Folder  string // gets a folder for each side, with one for each repeat
	// Endpoint is what the commands serve, and Ready bounds the time from a command's
	// start until it lists its models.
	Endpoint openai.Config
	Ready    time.Duration
	// Measure puts load on the endpoint; goOn is false where no further turn is to be
	// measured.
	Measure func(ctx context.Context, m Measurement) (goOn bool, err error)
	// Log takes lines on what goes on.
	Log func(format string, args ...any)
}

// Measurement is one turn of a server that answers.
type Measurement struct {
	Side   Command
	Repeat int    // from 0
	Folder string // for its log
	Server *runlog.Server
}

// notStartedError is that a side's server could not be started. The other sides can be
// measured nevertheless.
type notStartedError struct {
	reason  string
	printed string // the end of the command's log, and which that is
}

func (e *notStartedError) Error() string {
	if e.printed == "" {
		return e.reason
	}
	return e.reason + "; " + e.printed
}

// Run goes through all turns, or as many as come before Measure wants no more or ctx
// ends. A side whose server cannot be started is given up, as long as the first and
// another are left.
func (p *Plan) Run(ctx context.Context) ([]NotStarted, error) {
	for _, s := range p.Sides {
		if _, err := process.LookPath(s.Argv[0]); err != nil {
			return nil, fmt.Errorf("side %s: looking up %s: %w", s.Name, s.Argv[0], err)
		}
	}
	client, err := openai.NewClient(p.Endpoint)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	turns := newTurns(len(p.Sides), p.Repeats)
	r := &runner{plan: p, client: client, subreaper: process.NewSubreaper()}
	began := time.Now()
	givenUp := map[int]bool{}
	var notStarted []NotStarted
	for i, turn := range turns {
		one := p.Sides[turn.Side]
		if givenUp[turn.Side] {
			continue
		}
		p.Log("side %s, repeat %d of %d: starting its command and waiting for its models%s", one.Name, turn.Repeat+1, p.Repeats, timeLeft(began, i, len(turns)))
		goOn, err := r.turn(ctx, one, turn.Repeat)
		failed, ok := errors.AsType[*notStartedError](err)
		switch {
		case ok && ctx.Err() == nil && turn.Side > 0 && len(p.Sides)-len(givenUp) > 2:
			p.Log("side %s: %v", one.Name, err)
			p.Log("going on without side %s", one.Name)
			givenUp[turn.Side] = true
			notStarted = append(notStarted, NotStarted{one.Name, one.Line(), one.Binding, fmt.Sprintf("repeat %d: %s", turn.Repeat+1, failed.reason)})
		case err != nil:
			return notStarted, fmt.Errorf("side %s: %w", one.Name, err)
		case !goOn:
			return notStarted, nil
		}
	}
	return notStarted, nil
}

// timeLeft is how long the turns from done on take if they take as long as those before.
func timeLeft(began time.Time, done, all int) string {
	if done == 0 {
		return ""
	}
	each := time.Since(began) / time.Duration(done)
	return fmt.Sprintf(" (about %s left)", (each * time.Duration(all-done)).Round(time.Second))
}

type runner struct {
	plan      *Plan
	client    *openai.Client
	subreaper *process.Subreaper
}

// turn starts a side's command, measures it when it answers, and stops it.
func (r *runner) turn(ctx context.Context, one Command, repeat int) (goOn bool, err error) {
	folder := filepath.Join(r.plan.Folder, one.Name, strconv.Itoa(repeat+1))
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return false, fmt.Errorf("making its folder: %w", err)
	}
	answered := r.answers(ctx)
	started, err := startServer(r.subreaper, one, folder+".log")
	if err != nil {
		return false, &notStartedError{reason: err.Error()}
	}
	defer func() {
		grace := stopGrace
		if ctx.Err() != nil {
			grace = hurryGrace
		}
		if stopped := started.stop(grace); stopped != nil {
			goOn, err = false, stopped // it is in the way of the other sides too
		}
	}()
	if err := r.await(ctx, started, answered); err != nil {
		return false, err
	}
	server := &runlog.Server{Command: one.String(), Binding: one.Binding, Recommended: one.Recommended}
	return r.plan.Measure(ctx, Measurement{Side: one, Repeat: repeat, Folder: folder, Server: server})
}

// await returns when the endpoint lists its models, and does so because of the
// command: what answered before must have gone first, or the command have ended
// well, as one that switches a server does.
func (r *runner) await(ctx context.Context, started *server, answered bool) error {
	began := time.Now()
	for {
		answers := r.answers(ctx)
		answered = answered && answers && started.running()
		failure := started.failure() // asked after it: what answers may be another server
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("stopped while its server started: %w", context.Cause(ctx))
		case failure != "":
			return &notStartedError{reason: "its command ended with " + failure, printed: started.printed()}
		case answers && !answered:
			return nil
		case answered && time.Since(began) > min(r.plan.Ready, staleTime):
			return errors.New("the endpoint answered before its command was started, and still does, so another server would be measured: stop that one")
		case time.Since(began) > r.plan.Ready:
			return &notStartedError{
				reason:  fmt.Sprintf("no list of models within %s of its start (--ready-timeout)", r.plan.Ready),
				printed: started.printed(),
			}
		}
		select {
		case <-time.After(readyPause):
		case <-ctx.Done():
		}
	}
}

// answers reports whether something serves the endpoint now.
func (r *runner) answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, failure := r.client.Models(ctx)
	return failure == nil
}
