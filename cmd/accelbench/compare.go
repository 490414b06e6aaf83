package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/compare"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
	"github.com/accelerator-exporter/accelerator_exporter/bench/side"
)

// compareFlags are the flags of a comparison.
type compareFlags struct {
	folders []string
	sides   []string
	repeat  int
	ready   time.Duration
	output  string
	formats []string
	goodput []string

	bindings string // command of a server whose bindings are the sides
	machine  machineFlags
}

const compareCommand = "compare"

func registerCompare(app *kingpin.Application, in *invocation, commands map[string]command) {
	c := app.Command(compareCommand, "Compare runs: each folder is a side, and holds one run or repeats of it. "+
		"With --side, start each side's command in turn and put load on it; with --bindings, the sides are NUMA bindings of one command. "+
		"The flags of run for that load stand after --.")
	s := &compareFlags{formats: []string{"text"}}
	bind(c.Arg("FOLDER", "Folder of a side."), filenames(&s.folders))
	c.Flag("side", "Side to measure, NAME=COMMAND: the command serves the endpoint and is run without a shell; repeatable.").StringsVar(&s.sides)
	c.Flag("bindings", "Command of a server, {} where what binds it goes: '{} vllm serve MODEL'. The sides are none, the binding to the node of its cards, "+
		"that to each other node and all nodes interleaved, by numactl and what the exporter's page says of the machine.").StringVar(&s.bindings)
	s.machine.register(c)
	c.Flag("repeat", "Number of times each side is measured, in turns.").Default("5").IntVar(&s.repeat)
	c.Flag("ready-timeout", "Maximum time from the start of a command until the endpoint lists its models.").Default("15m").DurationVar(&s.ready)
	bind(c.Flag("output", "Folder in which each comparison creates its own.").Default("results"), filename(&s.output))
	bind(c.Flag("format", "What to print: text, md, json. Default: text."), choices(&s.formats, "text", "md", "json"))
	c.Flag("goodput", "What a good request meets, in milliseconds: ttft:500 tpot:50 itl:80 e2el:30000.").StringsVar(&s.goodput)
	commands[compareCommand] = func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		if err := s.check(in.after); err != nil {
			return exitUsage, usage(err)
		}
		options, err := (&renderFlags{goodput: s.goodput}).options()
		if err != nil {
			return exitUsage, usage(err)
		}
		if len(s.sides) == 0 && s.bindings == "" {
			defer endAtOnce(ctx)()
			folders := s.folders
			if len(folders) == 1 {
				if folders, err = sidesIn(folders[0]); err != nil {
					return exitNothing, err
				}
			}
			c, err := compareFolders(folders, options)
			if err != nil {
				return exitNothing, err
			}
			return exitMeasured, s.print(stdout, c)
		}
		return s.measure(ctx, in.after, options, stdout, stderr)
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

// compareFolders compares the sides in the folders. A side has the last element of its
// path for a name, or all of it where those are not distinct.
func compareFolders(folders []string, options result.Options) (*compare.Comparison, error) {
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
			run, err := headOf(log)
			if err != nil {
				return nil, err
			}
			if run.Server != nil && run.Server.NotStarted != "" {
				sides[i].NotStarted = &run
				continue
			}
			r, err := result.Read(options, log)
			if err != nil {
				return nil, err
			}
			sides[i].Reports = append(sides[i].Reports, r)
		}
	}
	return compare.Compare(sides)
}

// headOf is what a log says of its run.
func headOf(log string) (runlog.Run, error) {
	in, err := runlog.Open(log)
	if err != nil {
		return runlog.Run{}, err
	}
	run := in.Run()
	_ = in.Close() // it was only read
	return run, nil
}

// sidesIn are the folders in a folder that hold runs, in the order in which they
// were first run, as a comparison by --side leaves them.
func sidesIn(folder string) ([]string, error) {
	logs, err := filepath.Glob(filepath.Join(folder, "*", "*", runlog.FileName+"*"))
	if err != nil {
		return nil, err
	}
	first := map[string]time.Time{}
	for _, log := range logs {
		run, err := headOf(log)
		if err != nil {
			return nil, err
		}
		started, side := run.Started, filepath.Dir(filepath.Dir(log))
		if known, ok := first[side]; !ok || started.Before(known) {
			first[side] = started
		}
	}
	if len(first) < 2 {
		return nil, fmt.Errorf("%s does not hold two sides with runs: name two folders", folder)
	}
	return slices.SortedFunc(maps.Keys(first), func(a, b string) int { return first[a].Compare(first[b]) }), nil
}

// print writes the comparison in the formats asked for.
func (s *compareFlags) print(w io.Writer, c *compare.Comparison) error {
	for _, format := range s.formats {
		render := map[string]func(io.Writer) error{"text": c.Text, "md": c.Markdown, "json": c.JSON}[format]
		if err := render(w); err != nil {
			return fmt.Errorf("printing the comparison: %w", err)
		}
	}
	return nil
}

// writeComparison writes every form of c into folder.
func writeComparison(folder string, c *compare.Comparison) error {
	for _, f := range []file{{"comparison.txt", c.Text}, {"comparison.md", c.Markdown}, {"comparison.json", c.JSON}} {
		if err := writeFile(filepath.Join(folder, f.name), f.write); err != nil {
			return err
		}
	}
	return nil
}

// measure runs the sides' commands in turns under the load that the flags after
// -- say, and compares.
func (s *compareFlags) measure(ctx context.Context, after []string, options result.Options, stdout, stderr io.Writer) (int, error) {
	plan, err := s.plan(ctx, after, stderr)
	if err != nil {
		return exitNothing, err
	}
	inHead(&plan.Config.Run, options)
	defer onSecondSignal(ctx, plan.Kill)()
	result, err := plan.Run(ctx)
	tell(stderr, result.Notes)
	if result.Attempted > 0 {
		fmt.Fprintf(stderr, "accelbench: the runs are in %s\n", result.Folder)
	}
	if err != nil || result.Attempted == 0 {
		return exitNothing, err
	}
	folders, err := sidesIn(result.Folder)
	if err != nil {
		fmt.Fprintf(stderr, "accelbench: only one side was measured, so there is nothing to compare\n")
		return exitCode(result)
	}
	c, err := compareFolders(folders, options)
	if err != nil {
		return exitNothing, err
	}
	if err := writeComparison(result.Folder, c); err != nil {
		return exitNothing, err
	}
	if err := s.print(stdout, c); err != nil {
		return exitNothing, err
	}
	code, err := exitCode(result)
	if code == exitMeasured && len(result.NotStarted) > 0 {
		return exitFailures, fmt.Errorf("without %s, whose server could not be started", strings.Join(result.NotStarted, ", "))
	}
	return code, err
}

// plan is what the flags of both halves of the command line ask for.
func (s *compareFlags) plan(ctx context.Context, after []string, stderr io.Writer) (*load.Sides, error) {
	sides, shown, err := s.started(ctx, stderr)
	if err != nil {
		return nil, err
	}
	r, cfg, err := parseRun(append(append(shown, "--"), after...), after, stderr)
	if err != nil {
		return nil, err
	}
	cfg.Folder, cfg.FolderSuffix = filepath.Join(s.output, time.Now().Format(folderTime)+"-"+compareCommand), nil
	return &load.Sides{
		Config: cfg, Sides: sides, Repeats: s.repeat, Ready: s.ready,
		Watch: func() ([]load.Watcher, func(), error) { return r.watchers(ctx, stderr) },
		Turn: func(one side.Side, repeat int) {
			fmt.Fprintf(stderr, "accelbench: side %s, repeat %d of %d: starting its command and waiting for %s\n", one.Name, repeat+1, s.repeat, cfg.Run.URL)
		},
		GivenUp: func(one side.Side, why error) {
			fmt.Fprintf(stderr, "accelbench: %v\naccelbench: going on without side %s\n", why, one.Name)
		},
	}, nil
}

// started are the sides whose commands are started, and the command line as the log may
// tell it.
func (s *compareFlags) started(ctx context.Context, stderr io.Writer) ([]side.Side, []string, error) {
	shown := []string{"accelbench", compareCommand, "--repeat=" + strconv.Itoa(s.repeat)}
	if s.bindings != "" {
		sides, command, err := s.bound(ctx, stderr)
		return sides, append(shown, "--bindings", command), err
	}
	sides := make([]side.Side, 0, len(s.sides))
	for _, text := range s.sides {
		one, err := side.Parse(text)
		if err != nil {
			return nil, nil, usage(err)
		}
		sides = append(sides, one)
		shown = append(shown, "--side", one.String())
	}
	return sides, shown, nil
}

// parseRun reads flags of run that stand after another command's. shown is the whole
// command line as the log may tell it.
func parseRun(shown, args []string, stderr io.Writer) (*runFlags, load.Config, error) {
	in := &invocation{}
	app := kingpin.New("accelbench compare … --", "")
	s := newRunFlags(app.Command(runCommand, ""))
	_, err := in.parse(app, append([]string{runCommand}, respell(args)...))
	switch {
	case err != nil:
	case in.run.wasTyped("repeat"):
		err = usage(errors.New("--repeat belongs before --: repeats of one start of a server are not independent of each other"))
	case in.run.wasTyped("format", "goodput", "save-result", "append-result", "save-evalscope"):
		err = usage(errors.New("after -- stands what is put on the endpoint: --format and --goodput belong before it, and result files are made by accelbench report"))
	}
	if err != nil {
		return nil, load.Config{}, in.run.withTypedNames(err)
	}
	cfg, notes, err := s.config(shown)
	if err == nil {
		tell(stderr, append(in.run.notes, notes...))
	}
	cfg.Run.Percentiles = s.render.percentiles
	return s, cfg, in.run.withTypedNames(err)
}

// onSecondSignal calls kill and ends the program on the first signal after ctx has
// ended: without it a second Ctrl-C would leave a side's server behind. It returns
// what takes that back.
func onSecondSignal(ctx context.Context, kill func()) (takeBack func()) {
	second := make(chan os.Signal, 1)
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		signal.Notify(second, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		select {
		case <-second:
			kill()
			os.Exit(exitInterrupted)
		case <-over:
		}
	})
	return func() {
		stop()
		signal.Stop(second)
		close(over)
	}
}
