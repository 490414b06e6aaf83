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
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// compareFlags are the flags of a comparison.
type compareFlags struct {
	folders []string
	sides   []string
	repeat  int
	ready   time.Duration
	output  string
	json    bool

	bindings string // command of a server whose bindings are the sides
	machine  machineFlags
}

const compareCommand = "compare"

func registerCompare(app *kingpin.Application, in *invocation, commands map[string]command) {
	c := app.Command(compareCommand, "Compare runs: each folder is a side, and holds one run or repeats of it. "+
		"With --side, start each side's command in turn and put load on it; with --bindings, the sides are NUMA bindings of one command. "+
		"The flags of run for that load stand after --.")
	s := &compareFlags{}
	c.Arg("FOLDER", "Folder of a side.").StringsVar(&s.folders)
	c.Flag("side", "Side to measure, NAME=COMMAND: the command serves the endpoint and is run without a shell; repeatable.").StringsVar(&s.sides)
	c.Flag("bindings", "Command of a server, {} where what binds it goes: '{} vllm serve MODEL'. The sides are none, the binding to the node of its cards, "+
		"that to each other node and all nodes interleaved, by numactl and what the exporter's page says of the machine.").StringVar(&s.bindings)
	s.machine.register(c)
	c.Flag("repeat", "Number of times each side is measured, in turns.").Default("5").IntVar(&s.repeat)
	c.Flag("ready-timeout", "Maximum time from the start of a command until the endpoint lists its models.").Default("15m").DurationVar(&s.ready)
	c.Flag("output", "Folder in which each comparison makes its own.").Default("results").StringVar(&s.output)
	c.Flag("json", "Print JSON.").BoolVar(&s.json)
	commands[compareCommand] = func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		if err := s.check(in.after); err != nil {
			return exitUsage, usage(err)
		}
		if len(s.sides) > 0 || s.bindings != "" {
			return s.measure(ctx, in.after, stdout, stderr)
		}
		defer endAtOnce(ctx)()
		return s.compare(stdout)
	}
}

func (s *compareFlags) check(after []string) error {
	started := len(s.sides) > 0 || s.bindings != ""
	switch {
	case !started && len(s.folders) == 0:
		return errors.New("two sides or more are needed: folders of runs, a folder of such folders, --side NAME=COMMAND, or --bindings COMMAND")
	case !started && after != nil:
		return errors.New("flags of run after -- go with --side or --bindings")
	case started && len(s.folders) > 0:
		return errors.New("give folders or --side, not both")
	case len(s.sides) > 0 && s.bindings != "":
		return errors.New("give --side or --bindings, not both")
	case s.bindings == "" && s.machine.given():
		return errors.New("--exporter, --devices and --target before -- go with --bindings; those of the load stand after --")
	case len(s.sides) == 1:
		return errors.New("two sides or more are needed")
	case s.repeat < 1:
		return errors.New("--repeat must be at least 1")
	}
	return nil
}

// compare compares the sides in the folders, or in the folders of a folder.
func (s *compareFlags) compare(stdout io.Writer) (int, error) {
	folders := s.folders
	if len(folders) == 1 {
		logs, err := filepath.Glob(filepath.Join(folders[0], "*", "*", runlog.FileName+"*"))
		if err != nil {
			return exitNothing, err
		}
		folders = nil
		for _, log := range logs {
			folders = append(folders, filepath.Dir(filepath.Dir(log)))
		}
		if folders = slices.Compact(folders); len(folders) < 2 {
			return exitNothing, fmt.Errorf("%s does not hold two sides with runs: name two folders", s.folders[0])
		}
	}
	sides, err := readSides(folders)
	if err != nil {
		return exitNothing, err
	}
	if len(s.folders) == 1 { // as a comparison that started them leaves them: in the order of their first runs
		slices.SortFunc(sides, func(a, b compare.Side) int {
			return a.Reports[0].Runs[0].Started.Compare(b.Reports[0].Runs[0].Started)
		})
	}
	c, err := compare.Compare(sides)
	if err != nil {
		return exitNothing, err
	}
	return exitMeasured, s.print(stdout, c)
}

// readSides reads the runs of each folder. A side has the last element of its path for a
// name, or all of it where those are not distinct.
func readSides(folders []string) ([]compare.Side, error) {
	names := map[string]bool{}
	for _, folder := range folders {
		names[filepath.Base(filepath.Clean(folder))] = true
	}
	sides := make([]compare.Side, len(folders))
	for i, folder := range folders {
		sides[i].Name = folder
		if len(names) == len(folders) {
			sides[i].Name = filepath.Base(filepath.Clean(folder))
		}
		logs, err := runlog.Find(folder)
		if err != nil {
			return nil, err
		}
		for _, log := range logs {
			r, err := result.Read(result.Options{}, log)
			if err != nil {
				return nil, err
			}
			sides[i].Reports = append(sides[i].Reports, r)
		}
	}
	return sides, nil
}

// print writes the comparison as text or as JSON.
func (s *compareFlags) print(w io.Writer, c *compare.Comparison) error {
	render := c.Text
	if s.json {
		render = c.JSON
	}
	if err := render(w); err != nil {
		return fmt.Errorf("printing the comparison: %w", err)
	}
	return nil
}
