package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/compare"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/placement"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// measure runs the sides' commands in turns under the load that the flags after
// -- say, and compares.
func (s *compareFlags) measure(ctx context.Context, in *invocation, stdout, stderr io.Writer) (int, error) {
	sides, err := s.started(ctx, stderr)
	if err != nil {
		return exitNothing, err
	}
	r, cfg, err := parseRun(in, stderr)
	if err != nil {
		return exitNothing, err
	}
	var all load.Result
	plan := &compare.Plan{
		Sides: sides, Repeats: s.repeat, Endpoint: cfg.Client, Ready: s.ready,
		Folder: filepath.Join(s.output, time.Now().Format(folderTime)+"-"+compareCommand),
		Log:    func(format string, args ...any) { fmt.Fprintf(stderr, "accelbench: "+format+"\n", args...) },
	}
	plan.Measure = func(ctx context.Context, m compare.Measurement) (bool, error) {
		one, err := r.measureSide(ctx, cfg, m, stderr)
		all.Attempted += one.Attempted
		all.Succeeded += one.Succeeded
		all.Stop = one.Stop
		return !one.Stop.Early(), err
	}
	notStarted, err := plan.Run(ctx)
	if all.Attempted > 0 {
		fmt.Fprintf(stderr, "accelbench: the runs are in %s\n", plan.Folder)
	}
	if err != nil || all.Attempted == 0 {
		return exitNothing, err
	}
	if err := s.report(plan, notStarted, stdout); err != nil {
		return exitNothing, err
	}
	code, err := exitCode(all)
	if code == exitMeasured && len(notStarted) > 0 {
		return exitFailures, fmt.Errorf("without %d of the sides, whose servers could not be started", len(notStarted))
	}
	return code, err
}

// measureSide puts the load on a side's server.
func (s *runFlags) measureSide(ctx context.Context, cfg load.Config, m compare.Measurement, stderr io.Writer) (load.Result, error) {
	cfg.Folder, cfg.FolderSuffix = m.Folder, nil
	cfg.Run.Side, cfg.Run.Server = m.Side.Name, m.Server
	cfg.Steps = slices.Clone(cfg.Steps)
	for i := range cfg.Steps {
		cfg.Steps[i].Repeat = m.Repeat
	}
	watchers, stop, err := s.watchers(ctx, stderr)
	if err != nil {
		return load.Result{}, err
	}
	defer stop()
	measured, err := load.Run(ctx, cfg, watchers...)
	printNotes(stderr, measured.Notes)
	return measured, err
}

// report compares the sides that were measured, prints that and writes it beside them.
func (s *compareFlags) report(plan *compare.Plan, notStarted []compare.NotStarted, stdout io.Writer) error {
	var sides []compare.Side
	for _, one := range plan.Sides {
		folder := filepath.Join(plan.Folder, one.Name)
		if _, err := runlog.Find(folder); err != nil { // it was not measured
			continue
		}
		side, err := readSide(one.Name, folder)
		if err != nil {
			return err
		}
		sides = append(sides, side)
	}
	c, err := compare.Compare(sides, notStarted...)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(plan.Folder, "comparison.txt"), c.Text); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(plan.Folder, "comparison.json"), c.JSON); err != nil {
		return err
	}
	return s.print(stdout, c)
}

// started are the sides whose commands are started.
func (s *compareFlags) started(ctx context.Context, stderr io.Writer) ([]compare.Command, error) {
	if s.bindings != "" {
		return s.bound(ctx, stderr)
	}
	var sides []compare.Command
	for _, text := range s.sides {
		one, err := compare.ParseCommand(text)
		switch {
		case err != nil:
			return nil, usage(err)
		case slices.ContainsFunc(sides, func(c compare.Command) bool { return c.Name == one.Name }):
			return nil, usage(fmt.Errorf("two sides are named %s", one.Name))
		}
		sides = append(sides, one)
	}
	return sides, nil
}

// bound are the sides of a comparison of bindings: the server's command under each that
// the exporter's page asks for.
func (s *compareFlags) bound(ctx context.Context, stderr io.Writer) ([]compare.Command, error) {
	command, err := compare.ParseTemplate(s.bindings)
	if err != nil {
		return nil, usage(fmt.Errorf("--bindings: %w", err))
	}
	machine, err := s.machine.read(ctx)
	if err != nil {
		return nil, err
	}
	bindings, err := machine.Sides()
	if err != nil {
		return nil, fmt.Errorf("--bindings: %w", err)
	}
	var sides []compare.Command
	for _, b := range bindings {
		sides = append(sides, compare.Command{Name: b.Name, Argv: command(b.Prefix...), Binding: b.Meaning, Recommended: b.Recommended})
	}
	fmt.Fprintf(stderr, "accelbench: %d bindings, %d starts of the server\n", len(sides), len(sides)*s.repeat)
	printNotes(stderr, placement.Judge(machine).Remarks) // also with --quiet: a side may be killed
	return sides, nil
}

// parseRun reads the flags of run that stand after --.
func parseRun(in *invocation, stderr io.Writer) (*runFlags, load.Config, error) {
	app := kingpin.New("accelbench compare … --", "")
	c := app.Command(runCommand, "")
	s := newRunFlags(c)
	acceptRepeats(c)
	if _, err := parse(app, append([]string{runCommand}, in.after...)); err != nil {
		return nil, load.Config{}, err
	}
	if s.load.repeat != 1 {
		return nil, load.Config{}, usage(errors.New("--repeat belongs before --: repeats of one start of a server are not independent of each other"))
	}
	cfg, _, err := s.prepare(in.args, stderr)
	return s, cfg, err
}
