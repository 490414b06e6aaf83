package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"golang.org/x/term"

	"github.com/accelerator-exporter/accelerator_exporter/bench/live"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const runCommand = "run"

// registerRun adds the command and returns its flags in their groups.
func registerRun(app *kingpin.Application, in *invocation, commands map[string]command) []*flagGroup {
	c := app.Command(runCommand, "Put load on an endpoint and report. The commands of evalscope-perf and of vLLM's benchmark_serving.py "+
		"run as they are, with only the program's name changed.")
	s := newRunFlags(c)
	commands[runCommand] = func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		cfg, notes, err := s.config(in.args)
		if err != nil {
			return exitNothing, err
		}
		tell(stderr, append(in.run.notes, notes...))
		options, err := s.render.options()
		if err != nil {
			return exitUsage, usage(err)
		}
		inHead(&cfg.Run, options)
		sleepUntil(ctx, s.load.start, stderr)
		return s.run(ctx, cfg, options, stdout, stderr)
	}
	return s.groups
}

// sleepUntil returns at start, which is when the machines of one load begin
// together, or when ctx ends. One that comes too late begins at once, and says
// so: the others already wait for nobody.
func sleepUntil(ctx context.Context, start time.Time, stderr io.Writer) {
	if start.IsZero() {
		return
	}
	left := time.Until(start)
	if left <= 0 {
		fmt.Fprintf(stderr, "accelbench: --start-at was %s ago: beginning at once\n", (-left).Round(time.Millisecond))
		return
	}
	fmt.Fprintf(stderr, "accelbench: beginning in %s\n", left.Round(time.Second))
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// run puts the load on and reports.
func (s *runFlags) run(ctx context.Context, cfg load.Config, options result.Options, stdout, stderr io.Writer) (int, error) {
	return s.putLoad(ctx, cfg, stderr, func(result load.Result, err error) (int, error) {
		reportErr := s.report(result.Folder, options, stdout, stderr)
		switch {
		case err != nil: // which is the cause, if the report failed too
			return exitNothing, err
		case reportErr != nil:
			return exitNothing, fmt.Errorf("reporting (the traces are kept in %s): %w", result.Folder, reportErr)
		}
		return exitCode(result)
	})
}

// putLoad puts the load on, and calls measured with what came of it where a request was
// sent. What shows the run while it goes ends behind that: it may wait for a scrape.
func (s *runFlags) putLoad(ctx context.Context, cfg load.Config, stderr io.Writer, measured func(load.Result, error) (int, error)) (int, error) {
	watchers, stop, err := s.watchers(ctx, stderr)
	if err != nil {
		return exitNothing, err
	}
	defer stop()
	result, err := load.Run(ctx, cfg, watchers...)
	tell(stderr, result.Notes)
	if result.Attempted == 0 {
		return exitNothing, cmp.Or(err, errors.New("no request was sent"))
	}
	return measured(result, err)
}

// tell writes what the user should know beside the report, a line each.
func tell(stderr io.Writer, notes []string) {
	for _, note := range notes {
		fmt.Fprintf(stderr, "accelbench: %s\n", note)
	}
}

// exitCode is the program's exit code for runs that were reported.
func exitCode(result load.Result) (int, error) {
	switch {
	case result.Stop == runlog.StopInterrupted:
		return exitInterrupted, nil
	case result.Stop == runlog.StopFailureRatio:
		return exitFailures, nil
	case result.Succeeded == 0:
		return exitNothing, errors.New("no request succeeded")
	case result.Stop == runlog.StopUnreachable:
		return exitFailures, errors.New("the server could not be reached any more, so the run was stopped")
	}
	return exitMeasured, nil
}

// watchers are what shows the run while it goes, and what ends them.
func (s *runFlags) watchers(ctx context.Context, stderr io.Writer) (watchers []load.Watcher, stop func(), err error) {
	stop = func() {}
	if !s.out.quiet {
		watchers = append(watchers, live.NewLine(stderr, columns(stderr)))
	}
	if s.out.webAddress != "" {
		m := live.NewMetrics()
		stop, err = serveMetrics(ctx, m, s.out.webAddress, s.out.webConfig, stderr)
		if err != nil {
			return nil, nil, err
		}
		watchers = append(watchers, m)
	}
	return watchers, stop, nil
}

// columns is the width of the terminal that w is, 0 if it is none.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}
