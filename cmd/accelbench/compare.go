package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/compare"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/placement"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const compareCommand = "compare"

// compareFlags are the flags of a comparison.
type compareFlags struct {
	words   []string // folders; with bindings the flags of run
	repeat  int
	ready   time.Duration
	output  string
	json    bool
	server  []string // command whose bindings are the sides, if any
	machine machineFlags
}

func registerCompare(app *kingpin.Application, args []string, commands map[string]command) {
	c := app.Command(compareCommand, "Compare runs: each folder is a side, and holds one run or repeats of it. "+
		"With --bindings, the sides are NUMA bindings of one server, which is started under each in turns; the flags of run for the load stand after --.")
	s := &compareFlags{}
	c.Arg("FOLDER", "Folder of a side.").StringsVar(&s.words)
	c.Flag("bindings", "Command of a server, with {} where the binding goes: '{} vllm serve MODEL'. The sides are unbound, bound to the node of its cards, "+
		"bound to each other node, and interleaved over all nodes, by numactl and what the exporter's page says of the machine.").
		PlaceHolder("COMMAND").SetValue(parsed(&s.server, compare.ParseCommand))
	s.machine.register(c)
	c.Flag("repeat", "Number of times each side of --bindings is measured, in turns.").Default("5").SetValue(parsed(&s.repeat, parseCount))
	c.Flag("ready-timeout", "Maximum time from the start of the server until it lists its models.").Default("15m").DurationVar(&s.ready)
	c.Flag("output", "Folder in which each comparison makes its own.").Default("results").StringVar(&s.output)
	c.Flag("json", "Print JSON.").BoolVar(&s.json)
	commands[compareCommand] = func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		switch {
		case s.server != nil:
			return s.measure(ctx, args, stdout, stderr)
		case len(s.words) < 2:
			return exitUsage, usage(errors.New("two folders of runs are needed, or --bindings COMMAND with the flags of run after --"))
		}
		return s.compare(stdout)
	}
}

// compare compares the sides in the folders, whose names are theirs.
func (s *compareFlags) compare(stdout io.Writer) (int, error) {
	var sides []compare.Side
	for _, folder := range s.words {
		side, err := readSide(filepath.Clean(folder), folder)
		if err != nil {
			return exitNothing, err
		}
		sides = append(sides, side)
	}
	c, err := compare.Compare(sides)
	if err != nil {
		return exitNothing, err
	}
	return exitMeasured, s.print(stdout, c)
}

// readSide reads the runs of a folder.
func readSide(name, folder string) (compare.Side, error) {
	side := compare.Side{Name: name}
	logs, err := runlog.Find(folder)
	if err != nil {
		return side, err
	}
	for _, log := range logs {
		r, err := result.Read(result.Options{}, log)
		if err != nil {
			return side, err
		}
		side.Reports = append(side.Reports, r)
	}
	return side, nil
}

// print writes the comparison as text or as JSON.
func (s *compareFlags) print(w io.Writer, c *compare.Comparison) error {
	if s.json {
		return c.JSON(w)
	}
	return c.Text(w)
}

// measure runs the server under its bindings in turns, under the load that the flags after
// -- say, and compares.
func (s *compareFlags) measure(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	plan, err := s.plan(ctx, stderr)
	if err != nil {
		return exitNothing, err
	}
	m, err := newMeasurement(s.words, args, stderr)
	if err != nil {
		return exitNothing, err
	}
	plan.Endpoint, plan.Measure = m.flags.client, m.turn
	fmt.Fprintf(stderr, "accelbench: the runs go to %s\n", plan.Folder)
	notes, err := plan.Run(ctx)
	if err != nil || m.all.Attempted == 0 {
		return exitNothing, cmp.Or(err, errNothingSent)
	}
	if err := s.report(plan, notes, stdout); err != nil {
		return exitNothing, err
	}
	if code, err := exitCode(m.all); code != exitMeasured || len(notes) == 0 {
		return code, err
	}
	return exitFailures, errors.New("the server did not start under some bindings")
}

// plan starts the server under each binding that the exporter's page asks for.
func (s *compareFlags) plan(ctx context.Context, stderr io.Writer) (*compare.Plan, error) {
	machine, err := s.machine.read(ctx)
	if err != nil {
		return nil, err
	}
	sides, err := machine.Sides()
	if err != nil {
		return nil, fmt.Errorf("--bindings: %w", err)
	}
	fmt.Fprintf(stderr, "accelbench: %d bindings, %d starts of the server\n", len(sides), len(sides)*s.repeat)
	printNotes(stderr, placement.Judge(machine).Remarks) // also with --quiet: a side may be killed
	return &compare.Plan{
		Command: s.server, Sides: sides, Repeats: s.repeat, Ready: s.ready,
		Folder: filepath.Join(s.output, time.Now().Format(folderTime)+"-"+compareCommand),
		Log:    func(format string, args ...any) { fmt.Fprintf(stderr, "accelbench: "+format+"\n", args...) },
	}, nil
}

// parseRun reads flags of run.
func parseRun(words []string) (*runFlags, error) {
	app := kingpin.New("accelbench compare … --", "")
	c := app.Command(runCommand, "")
	s := newRunFlags(c)
	acceptRepeats(c)
	if _, err := parse(app, append([]string{runCommand}, words...)); err != nil {
		return nil, err
	}
	if s.load.repeat != 1 {
		return nil, usage(errors.New("--repeat belongs before --: repeats of one start of a server are not independent of each other"))
	}
	return s, nil
}

// measurement is the load of a comparison and what became of it.
type measurement struct {
	flags  *runFlags
	cfg    load.Config
	stderr io.Writer
	all    load.Result // of all turns together
}

// newMeasurement reads the flags of run in words; args are those of the whole program.
func newMeasurement(words, args []string, stderr io.Writer) (*measurement, error) {
	flags, err := parseRun(words)
	if err != nil {
		return nil, err
	}
	cfg, _, err := flags.prepare(args, stderr)
	return &measurement{flags: flags, cfg: cfg, stderr: stderr}, err
}

// turn puts the load on the server under one binding.
func (m *measurement) turn(ctx context.Context, t compare.Turn) (goOn bool, err error) {
	cfg := m.config(t)
	watchers, stop, err := m.flags.watchers(ctx, m.stderr)
	if err != nil {
		return false, err
	}
	one, err := load.Run(ctx, cfg, watchers...)
	stop()
	printNotes(m.stderr, one.Notes)
	m.all.Attempted += one.Attempted
	m.all.Succeeded += one.Succeeded
	m.all.Stop = one.Stop
	return !one.Stop.Early(), err
}

// config is what to run under one binding.
func (m *measurement) config(t compare.Turn) load.Config {
	cfg := m.cfg
	cfg.Folder, cfg.FolderSuffix = t.Folder, nil
	cfg.Run.Side = t.Side.Name
	cfg.Run.Server = &runlog.Server{Command: strings.Join(t.Side.Prefix, " "), Binding: t.Side.Meaning, Recommended: t.Side.Recommended}
	cfg.Steps = slices.Clone(cfg.Steps)
	for i := range cfg.Steps {
		cfg.Steps[i].Repeat = t.Repeat
	}
	return cfg
}

// report compares the sides that were measured, prints that and writes it beside them.
func (s *compareFlags) report(plan *compare.Plan, notes []string, stdout io.Writer) error {
	var sides []compare.Side
	for _, one := range plan.Sides {
		side, err := readSide(one.Name, filepath.Join(plan.Folder, one.Name))
		if err == nil { // else it was not measured
			sides = append(sides, side)
		}
	}
	c, err := compare.Compare(sides, notes...)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(plan.Folder, "comparison.txt"), false, c.Text); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(plan.Folder, "comparison.json"), false, c.JSON); err != nil {
		return err
	}
	return s.print(stdout, c)
}
