package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/compare"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

type compareFlags struct {
	*program
	words    []string // folders; with servers to start the flags of run
	repeat   int      // 0 where not given
	ready    time.Duration
	output   string
	json     bool
	gates    []compare.Gate
	bindings string   // command whose bindings are the sides, if any
	commands []string // that are the sides, if any
	machine  machineFlags
}

func (p *program) addCompare() {
	c := p.Command("compare", "Compare runs: each folder is a side, and holds one run or several, each of a start of the server of its own. "+
		"With --command or --bindings the sides are servers that are started in turns; the flags of run for the load stand after --.")
	s := &compareFlags{program: p}
	c.Arg("FOLDER", "Folder of a side.").StringsVar(&s.words)
	c.Flag("command", "Command of a server that is a side, named by its number; give two or more: --command 'vllm serve MODEL' --command 'vllm serve MODEL --enforce-eager'.").
		PlaceHolder("COMMAND").StringsVar(&s.commands)
	c.Flag("bindings", "Command of a server, with {} where the binding goes: '{} vllm serve MODEL'. The sides are unbound, bound to the node of its cards, "+
		"bound to each other node, and interleaved over all nodes, by numactl and what the exporter's page says of the machine.").
		PlaceHolder("COMMAND").StringVar(&s.bindings)
	s.machine.register(c)
	c.Flag("repeat", "Number of times each server is started and measured. Default: the least that can find a difference between so many sides.").
		PlaceHolder("N").SetValue(parsed(&s.repeat, parseCount))
	c.Flag("ready-timeout", "Maximum time from the start of a server until it lists its models.").Default("15m").DurationVar(&s.ready)
	c.Flag("output", "Folder in which each comparison makes its own.").Default("results").StringVar(&s.output)
	c.Flag("json", "Print JSON.").BoolVar(&s.json)
	c.Flag("fail-on", "How much worse than on the first side a figure may be, such as ttft:p90>5% or failures>0.1%; repeatable. "+
		"One that was found to be worse makes the exit code 5, too few runs to tell 6.").PlaceHolder("GATE").SetValue(appended(&s.gates, compare.ParseGate))
	p.commands[c.Model().Name] = func(ctx context.Context) (int, error) {
		switch {
		case s.bindings != "" && s.commands != nil:
			return exitUsage, usage(errors.New("give --bindings or --command, not both"))
		case len(s.commands) == 1:
			return exitUsage, usage(errors.New("--command is given once: two sides or more are needed"))
		case s.bindings != "" || s.commands != nil:
			return s.measure(ctx)
		case len(s.words) < 2:
			return exitUsage, usage(errors.New("two folders of runs are needed, or --command or --bindings with the flags of run after --"))
		}
		var sides []compare.Side
		for _, folder := range s.words {
			side, err := s.readSide(filepath.Clean(folder), folder)
			if err != nil {
				return exitNothing, err
			}
			sides = append(sides, side)
		}
		return s.compare(sides, nil, "")
	}
}

func (s *compareFlags) readSide(name, folder string) (compare.Side, error) {
	side := compare.Side{Name: name}
	var opts result.Options
	for _, g := range s.gates {
		if g.Percentile > 0 {
			opts.Percentiles = append(opts.Percentiles, g.Percentile)
		}
	}
	logs, err := runlog.Find(folder)
	if err != nil {
		return side, err
	}
	for _, log := range logs {
		r, err := result.Read(opts, log)
		if err != nil {
			return side, err
		}
		side.Reports = append(side.Reports, r)
	}
	return side, nil
}

// compare compares sides, writes that into folder, unless it is empty, prints it, and returns what the gates say.
func (s *compareFlags) compare(sides []compare.Side, notes []string, folder string) (code int, err error) {
	c, err := compare.Compare(sides, s.gates, notes...)
	if err != nil {
		return exitNothing, err
	}
	asJSON := func(w io.Writer) error { return writeJSON(w, c) }
	if folder != "" {
		err = errors.Join(writeFile(filepath.Join(folder, "comparison.txt"), false, c.Text), writeFile(filepath.Join(folder, "comparison.json"), false, asJSON))
	}
	write := c.Text
	if s.json {
		write = asJSON
	}
	if err := cmp.Or(err, write(s.stdout)); err != nil {
		return exitNothing, err
	}
	worse, undecided := c.Check(s.gates)
	switch {
	case len(worse) > 0:
		return exitMissed, fmt.Errorf("worse than --fail-on allows: %s", strings.Join(worse, "; "))
	case len(undecided) > 0:
		return exitUndecided, fmt.Errorf("cannot say whether a figure is worse than --fail-on allows: %s", strings.Join(undecided, "; "))
	}
	return exitMeasured, nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// measure runs the servers in turns, under the load that the flags after -- say, and compares.
func (s *compareFlags) measure(ctx context.Context) (int, error) {
	plan, err := s.plan(ctx)
	if err != nil {
		return exitNothing, err
	}
	flags, err := s.parseRun()
	if err != nil {
		return exitNothing, err
	}
	if flags.team.lead != "" {
		return exitUsage, usage(errors.New("--lead: a comparison is of one machine"))
	}
	cfg, err := flags.config()
	if err != nil {
		return exitNothing, err
	}
	var all load.Result // of all turns together
	plan.Endpoint = flags.client
	plan.Measure = func(ctx context.Context, t compare.Turn) (goOn bool, err error) {
		cfg.Folder, cfg.FolderSuffix = t.Folder, nil
		cfg.Run.Side, cfg.Run.Server = t.Side.Name, &t.Side.Server
		one, err := flags.run(ctx, cfg, load.Run)
		all.Attempted += one.Attempted
		all.Succeeded += one.Succeeded
		all.Stop = one.Stop
		return !one.Stop.Early(), err
	}
	fmt.Fprintf(s.stderr, "accelbench: the runs go to %s\n", plan.Folder)
	notes, err := plan.Run(ctx)
	if err != nil || all.Attempted == 0 {
		return exitNothing, cmp.Or(err, errNothingSent)
	}
	var sides []compare.Side
	for _, planned := range plan.Sides {
		side, err := s.readSide(planned.Name, filepath.Join(plan.Folder, planned.Name))
		if err == nil { // else it was not measured
			sides = append(sides, side)
		}
	}
	gated, err := s.compare(sides, notes, plan.Folder)
	if gated == exitNothing {
		return gated, err
	}
	switch code, stopped := exitCode(all); {
	case code != exitMeasured:
		return code, stopped
	case len(notes) > 0:
		return exitFailures, errors.New("the servers of some sides did not start")
	}
	return gated, err
}

// plan returns the turns of the servers, and says how many there are. It fails where so few could find no difference.
func (s *compareFlags) plan(ctx context.Context) (*compare.Plan, error) {
	sides, err := s.sides(ctx)
	if err != nil {
		return nil, err
	}
	least := compare.LeastRuns(len(sides))
	repeats := cmp.Or(s.repeat, least)
	if repeats < least {
		return nil, usage(fmt.Errorf("--repeat %d: %d runs of each of %d sides can find no difference, however large: --repeat %d is the least", repeats, repeats, len(sides), least))
	}
	fmt.Fprintf(s.stderr, "accelbench: %d sides, %d runs of each, %d starts of the server; with fewer than %d runs of each no difference can be found\n",
		len(sides), repeats, len(sides)*repeats, least)
	return &compare.Plan{
		Sides: sides, Repeats: repeats, Ready: s.ready,
		Folder: filepath.Join(s.output, time.Now().Format(folderTime)+"-compare"),
		Log:    func(format string, args ...any) { fmt.Fprintf(s.stderr, "accelbench: "+format+"\n", args...) },
	}, nil
}

// sides are the servers to start: those of the commands, or one under each binding that the exporter's page asks for.
func (s *compareFlags) sides(ctx context.Context) (sides []compare.PlannedSide, err error) {
	for i, line := range s.commands {
		command, err := compare.ParseCommand(line)
		if err != nil {
			return nil, usage(fmt.Errorf("--command: %w", err))
		}
		sides = append(sides, compare.PlannedSide{Name: strconv.Itoa(i + 1), Command: command})
	}
	if s.bindings == "" {
		return sides, nil
	}
	machine, err := s.machine.read(ctx)
	if err != nil {
		return nil, err
	}
	bindings, err := machine.Sides()
	if err != nil {
		return nil, fmt.Errorf("--bindings: %w", err)
	}
	for _, b := range bindings {
		command, err := compare.ParseBound(s.bindings, strings.Fields(b.Command))
		if err != nil {
			return nil, usage(fmt.Errorf("--bindings: %w", err))
		}
		sides = append(sides, compare.PlannedSide{Name: b.Name, Command: command, Server: b.Server})
	}
	printNotes(s.stderr, machine.Judge().Remarks) // also with --quiet: a side may be killed
	return sides, nil
}

// parseRun reads the flags of run after --.
func (s *compareFlags) parseRun() (*runFlags, error) {
	app := kingpin.New("accelbench compare … --", "")
	c := app.Command(runCommand, "")
	flags := s.newRunFlags(c)
	acceptRepeats(c)
	if _, err := parse(app, append([]string{runCommand}, s.words...)); err != nil {
		return nil, err
	}
	if flags.load.repeat != 1 {
		return nil, usage(errors.New("--repeat belongs before --: repeats of one start of a server are not independent of each other"))
	}
	return flags, nil
}
