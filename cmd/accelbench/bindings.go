package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/compare"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/placement"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// measure runs the sides' commands in turns under the load that the flags after
// -- say, and compares.
func (s *compareFlags) measure(ctx context.Context, after []string, stdout, stderr io.Writer) (int, error) {
	sides, shown, err := s.started(ctx, stderr)
	if err != nil {
		return exitNothing, err
	}
	r, cfg, err := parseRun(append(append(shown, "--"), after...), after, stderr)
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
	watchers, stop, err := s.watchers(stderr)
	if err != nil {
		return load.Result{}, err
	}
	defer stop()
	measured, err := load.Run(ctx, cfg, watchers...)
	tell(stderr, measured.Notes)
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

// started are the sides whose commands are started, and the command line as the log may
// have it.
func (s *compareFlags) started(ctx context.Context, stderr io.Writer) ([]compare.Command, []string, error) {
	shown := []string{"accelbench", compareCommand, "--repeat=" + strconv.Itoa(s.repeat)}
	if s.bindings != "" {
		sides, command, err := s.bound(ctx, stderr)
		return sides, append(shown, "--bindings", command), err
	}
	var sides []compare.Command
	for _, text := range s.sides {
		one, err := compare.ParseCommand(text)
		switch {
		case err != nil:
			return nil, nil, usage(err)
		case slices.ContainsFunc(sides, func(c compare.Command) bool { return c.Name == one.Name }):
			return nil, nil, usage(fmt.Errorf("two sides are named %s", one.Name))
		}
		sides = append(sides, one)
		shown = append(shown, "--side", one.String())
	}
	return sides, shown, nil
}

// bound are the sides of a comparison of bindings: the server's command under each that
// the exporter's page asks for. shown is the command as the log may have it.
func (s *compareFlags) bound(ctx context.Context, stderr io.Writer) (sides []compare.Command, shown string, err error) {
	command, err := compare.ParseTemplate(s.bindings)
	if err != nil {
		return nil, "", usage(fmt.Errorf("--bindings: %w", err))
	}
	machine, err := s.machine.read(ctx)
	if err != nil {
		return nil, "", err
	}
	bindings, err := machine.Sides()
	if err != nil {
		return nil, "", fmt.Errorf("--bindings: %w", err)
	}
	var names []string
	for _, b := range bindings {
		sides = append(sides, compare.Command{Name: b.Name, Argv: command(b.Prefix...), Binding: b.Meaning, Recommended: b.Recommended})
		name := b.Name
		if b.Recommended {
			name += " (the node of the cards)"
		}
		names = append(names, name)
	}
	fmt.Fprintf(stderr, "accelbench: %d bindings, %d starts of the server: %s\n", len(sides), len(sides)*s.repeat, strings.Join(names, ", "))
	tell(stderr, placement.Judge(machine).Remarks) // also with --quiet: one may say that a side will be killed
	return sides, compare.Command{Argv: command("{}")}.Line(), nil
}

// parseRun reads flags of run that stand after another command's. shown is the whole
// command line as the log may have it.
func parseRun(shown, args []string, stderr io.Writer) (*runFlags, load.Config, error) {
	app := kingpin.New("accelbench compare … --", "")
	c := app.Command(runCommand, "")
	s := newRunFlags(c)
	acceptRepeats(c)
	_, err := parse(app, append([]string{runCommand}, args...))
	switch {
	case err != nil:
	case s.load.repeat != 1:
		err = usage(errors.New("--repeat belongs before --: repeats of one start of a server are not independent of each other"))
	}
	if err != nil {
		return nil, load.Config{}, err
	}
	cfg, _, err := s.prepare(shown, stderr)
	return s, cfg, err
}
