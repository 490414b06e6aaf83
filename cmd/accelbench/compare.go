package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
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
			return s.measure(ctx, in, stdout, stderr)
		}
		defer endAtOnce(ctx)()
		return s.compare(stdout)
	}
}

func (s *compareFlags) check(after []string) error {
	started := len(s.sides) > 0 || s.bindings != ""
	switch {
	case started && len(s.folders) > 0, len(s.sides) > 0 && s.bindings != "":
		return errors.New("give one of folders, --side and --bindings")
	case !started && len(s.folders) < 2, !started && after != nil, len(s.sides) == 1:
		return errors.New("two sides or more are needed: folders of runs, or --side NAME=COMMAND or --bindings COMMAND with the flags of run after --")
	case s.bindings == "" && s.machine.given():
		return errors.New("--exporter, --devices and --target before -- go with --bindings; those of the load stand after --")
	case s.repeat < 1:
		return errors.New("--repeat must be at least 1")
	}
	return nil
}

// compare compares the sides in the folders, whose names are theirs.
func (s *compareFlags) compare(stdout io.Writer) (int, error) {
	var sides []compare.Side
	for _, folder := range s.folders {
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
	render := c.Text
	if s.json {
		render = c.JSON
	}
	if err := render(w); err != nil {
		return fmt.Errorf("printing the comparison: %w", err)
	}
	return nil
}
