package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// rampUpPerUser is how long after one another users start, so that not all wait for one another's prefill.
const rampUpPerUser = 20 * time.Millisecond

// capacityFlags are the flags of a search for the capacity: those of a run, with a range in place of its levels.
type capacityFlags struct {
	runFlags
	search       runlog.Capacity
	users, rates []float64 // the least and the most; nil where not given
}

func (p *program) addCapacity() {
	c := p.Command("capacity", "Find how much load an endpoint carries within objectives: double the load until one is missed, then halve the gap.")
	s := &capacityFlags{runFlags: runFlags{program: p}}
	s.register(c, s.registerRange)
	p.commands[c.Model().Name] = s.find
}

func (s *capacityFlags) registerRange(c *kingpin.CmdClause) {
	s.load.Requests, s.load.repeat = math.MaxInt32, 1
	c.Flag("slo", "Objective such as ttft:p90<2s, tpot:p90<100ms, failures<1%; repeatable.").Required().PlaceHolder("SLO").SetValue(appended(&s.search.Objectives, parseSLO))
	c.Flag("max-concurrency", "Least and most users to try. Default: 1..256.").PlaceHolder("A..B").SetValue(parsed(&s.users, parseRange(true)))
	c.Flag("request-rate", "Least and most requests per second, in place of users.").PlaceHolder("A..B").SetValue(parsed(&s.rates, parseRange(false)))
	c.Flag("num-prompts", "Requests of each level. Default: 8 for each user, or five times the p90 of E2E at a rate, and more while that is too short to tell.").
		PlaceHolder("N").IsSetByUser(&s.load.requestsSet).SetValue(parsed(&s.load.Requests, parseCount))
	c.Flag("duration", "How long each level sends requests, in place of their number.").PlaceHolder("D").DurationVar(&s.load.Duration)
	c.Flag("precision", "How far off the answer may be; never less than one user.").Default("5%").SetValue(parsed(&s.search.Precision, parseShare(0.1, 50)))
	c.Flag("repeat", "Number of times at most that a level at the edge is run.").Default("3").SetValue(parsed(&s.search.Repeat, parseCount))
}

// parseSLO reads an objective of a percentile, or of failures.
func parseSLO(text string) (openai.Objective, error) {
	o, err := openai.ParseObjective(text)
	if err == nil && o.Percentile == 0 && o.Measure != openai.Failures {
		err = errors.New("want a percentile and a time, such as ttft:p90<2s")
	}
	if err != nil {
		return o, fmt.Errorf("%q: %w", text, err)
	}
	return o, nil
}

// addObjectives has the percentiles of objectives reported.
func addObjectives(cfg *load.Config, objectives []openai.Objective) error {
	for _, o := range objectives {
		if strings.HasPrefix(string(o.Measure), "ttft_") && cfg.Dataset.Kind != dataset.MultiTurn {
			return usage(fmt.Errorf("--slo %s is of conversations: give --dataset-name multi_turn", o.Measure))
		}
		if o.Percentile > 0 && !slices.Contains(cfg.Run.Percentiles, o.Percentile) {
			cfg.Run.Percentiles = append(cfg.Run.Percentiles, o.Percentile)
		}
	}
	return nil
}

// parseRange reads the least and the most load of a search, 1..256 or 0.5..20.
func parseRange(isWhole bool) func(string) ([]float64, error) {
	return func(text string) ([]float64, error) {
		from, to, _ := strings.Cut(text, "..")
		low, errLow := parseRate(from)
		high, errHigh := parseRate(to)
		switch {
		case errLow != nil || errHigh != nil || low > high || math.IsInf(high, 0):
			return nil, fmt.Errorf("%q is no range such as 1..256", text)
		case isWhole && (low != math.Trunc(low) || high != math.Trunc(high)):
			return nil, fmt.Errorf("%q is no range of whole numbers such as 1..256", text)
		}
		return []float64{low, high}, nil
	}
}

// setSearch completes the search, and gives the run its greatest load, so that its flags are checked for it.
func (s *capacityFlags) setSearch() error {
	if s.users != nil && s.rates != nil {
		return errors.New("--max-concurrency and --request-rate are given: one of them is searched for")
	}
	// Percentiles are of the successes and of those who waited: refusals are in none.
	if !slices.ContainsFunc(s.search.Objectives, func(o openai.Objective) bool { return o.Measure == openai.Failures }) {
		s.search.Objectives = append(s.search.Objectives, openai.Objective{Measure: openai.Failures, Limit: 0.01})
	}
	s.search.Grows = !s.load.requestsSet && s.load.Duration == 0
	if s.rates != nil {
		s.search.Variable, s.search.From, s.search.To = runlog.VariableRequestRate, s.rates[0], s.rates[1]
		s.load.rates = []float64{s.search.To}
		return nil
	}
	if s.users == nil {
		s.users = []float64{1, 256}
	}
	s.search.Variable, s.search.From, s.search.To = runlog.VariableConcurrency, s.users[0], s.users[1]
	s.load.users = []int{int(s.search.To)}
	if !s.load.rampUpSet {
		s.load.RampUp = time.Duration(s.search.To) * rampUpPerUser
	}
	return nil
}

func (s *capacityFlags) find(ctx context.Context) (int, error) {
	if err := s.setSearch(); err != nil {
		return exitUsage, usage(err)
	}
	cfg, err := s.config()
	if err != nil {
		return exitNothing, err
	}
	most := cfg.Steps[0]
	if err := addObjectives(&cfg, s.search.Objectives); err != nil {
		return exitUsage, err
	}
	if s.team.AllowFewer {
		return exitUsage, usage(errors.New("--allow-fewer: the levels of a search need all machines"))
	}
	cfg.Run.Capacity, cfg.Steps = &s.search, nil
	search := func(ctx context.Context, cfg load.Config, watchers ...load.Watcher) (load.Result, error) {
		session, err := load.Open(ctx, cfg, watchers...)
		if err != nil {
			return load.Result{}, err
		}
		finder := capacity.Finder{Search: &s.search, Most: most, Put: session.Step, Progress: s.progress}
		err = finder.Run(ctx)
		ended, closing := session.Close()
		return ended, cmp.Or(err, closing)
	}
	r, code, err := s.putAndReport(ctx, cfg, search, s.saveResults)
	if r == nil {
		return code, err
	}
	switch c := capacity.FromReport(r); {
	case errors.Is(c.Ended, capacity.ErrRefused) && c.Value == 0:
		return exitNothing, c.Ended
	case c.Ended != nil && (code == exitMeasured || code == exitFailures):
		return exitFailures, c.Ended
	case code == exitMeasured && err == nil && c.Value == 0:
		return exitNothing, nil
	}
	return code, err
}

func (s *capacityFlags) progress(step *result.Step, j capacity.Judgement) {
	if s.out.quiet {
		return
	}
	text := [...]string{capacity.Met: "met the objectives", capacity.Missed: "missed the objectives", capacity.Void: "could not be judged"}[j.Verdict]
	if j.Why != "" {
		text += ": " + j.Why
	}
	fmt.Fprintf(s.stderr, "accelbench: %s %s\n", step.Label.Long, text)
}
