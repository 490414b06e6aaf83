package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/alecthomas/kingpin/v2"
	"golang.org/x/term"

	"github.com/accelerator-exporter/accelerator_exporter/bench/live"
	"github.com/accelerator-exporter/accelerator_exporter/bench/report"
	"github.com/accelerator-exporter/accelerator_exporter/bench/report/render"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/sweep"
)

// folderTime is the part of a folder's or file's name that says when.
const folderTime = "20060102-150405"

const runCommand = "run"

// registerRun adds the command and returns its flags in their groups.
func registerRun(app *kingpin.Application, commands map[string]command) *flagGroups {
	c := app.Command(runCommand, "Put load on an endpoint and report. The commands of evalscope-perf and of vLLM's benchmark_serving.py "+
		"run as they are, with only the program's name changed.")
	s := newRunSettings(c)
	var start instant
	value(s.groups.group("Load").Flag("start-at", "When to begin, such as 2026-03-04T05:06:07Z: the machines of one load begin together. Default: at once."), &start)
	commands[runCommand] = func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		cfg, err := s.config(os.Args, stderr)
		if err != nil {
			return exitNothing, err
		}
		options, err := s.render.options(s.out.saveResult || s.out.detailed || s.out.addLine)
		if err != nil {
			return exitUsage, usageError{err}
		}
		inHead(&cfg.Run, options)
		sleepUntil(ctx, start.Time, stderr)
		return s.run(ctx, cfg, options, stdout, stderr)
	}
	return s.groups
}

// newRunSettings registers the flags of a run on c.
func newRunSettings(c *kingpin.CmdClause) *runSettings {
	s := &runSettings{groups: newFlagGroups(c), foreign: foreignFlags()}
	s.endpoint.register(s.groups.group("Server"), c)
	s.load.register(s.groups.group("Load"))
	s.data.register(s.groups.group("Data"))
	s.ask.register(s.groups.group("Sampling"))
	output := s.groups.group("Output")
	s.out.register(output)
	s.render.register(output, "summary; vllm,checks,table or evalscope,checks,table on a command line of those tools")
	for i := range s.foreign {
		s.foreign[i].register(c)
	}
	return s
}

// run puts the load on and reports.
func (s *runSettings) run(ctx context.Context, cfg sweep.Config, options report.Options, stdout, stderr io.Writer) (int, error) {
	watchers, stop, err := s.watchers(ctx, stderr)
	if err != nil {
		return exitNothing, err
	}
	defer stop()
	result, err := sweep.Run(ctx, cfg, watchers...)
	tell(stderr, result)
	if result.Attempted == 0 {
		if err == nil {
			err = errors.New("no request was sent")
		}
		return exitNothing, err
	}
	reportErr := s.report(result.Folder, options, stdout, stderr)
	switch {
	case err != nil: // which is the cause, if the report failed too
		return exitNothing, err
	case reportErr != nil:
		return exitNothing, fmt.Errorf("reporting (the traces are kept in %s): %w", result.Folder, reportErr)
	}
	return exitCode(result)
}

// tell writes what the user should know beside the report.
func tell(stderr io.Writer, result sweep.Result) {
	for _, note := range result.Notes {
		fmt.Fprintf(stderr, "accelbench: %s\n", note)
	}
}

// exitCode is the program's exit code for runs that were reported.
func exitCode(result sweep.Result) (int, error) {
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
func (s *runSettings) watchers(ctx context.Context, stderr io.Writer) (watchers []sweep.Watcher, stop func(), err error) {
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

// folderSuffix ends the name of a run's folder, which begins with the time.
func folderSuffix(model string) string {
	return "-" + render.FileName(filepath.Base(model), "model")
}
