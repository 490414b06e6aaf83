package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const capacityCommand = "capacity"

// capacityFlags are the flags of a search for the capacity: those of a run, with a
// range in place of its levels.
type capacityFlags struct {
	*runFlags
	limits       []result.Limit
	users, rates levels
	stepRequests int
	requestsSet  bool
	stepDuration time.Duration
	durationSet  bool
	precision    float64
	repeat       int
}

// levels are the least and the most load of a search; zero for none given.
type levels struct{ from, to float64 }

// serverGone is why a search ends before it is done.
const serverGone = "the server did not answer any more, so the search was stopped"

// failuresMost is the share of failures that is allowed where no objective says so:
// percentiles are of the successes alone.
const failuresMost = 0.01

// registerCapacity adds the command and returns its flags in their groups.
func registerCapacity(app *kingpin.Application, in *invocation, commands map[string]command) []*flagGroup {
	c := app.Command(capacityCommand, "Find how much load an endpoint carries within objectives: double the load until one is missed, then halve the gap.")
	s := &capacityFlags{runFlags: &runFlags{command: c}}
	s.endpoint.register(s.group("Server"))
	s.register(s.group("Search"))
	s.load.registerShape(s.group("Load"))
	s.data.register(s.group("Data"))
	s.ask.register(s.group("Sampling"))
	output := s.group("Output")
	s.out.registerFolder(output)
	s.out.registerSources(output)
	s.render.registerFormat(output, strings.Join(capacityFormats(), ","))
	commands[capacityCommand] = func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		if err := s.check(); err != nil {
			return exitUsage, usage(err)
		}
		return s.measure(ctx, in, stdout, stderr)
	}
	return s.groups
}

func (s *capacityFlags) register(c flagSet) {
	bind(c.Flag("slo", "Objective: a latency's percentile or the share of failures, and its limit, such as ttft:p90<2s, tpot:p90<100ms, failures<1%; repeatable. "+
		"Without one on failures it is failures<1%."), repeated(&s.limits, result.ParseLimit))
	bind(c.Flag("concurrency", "Closed loop: least and most users to try. Default: 1..256."), scalar(&s.users, parseUserRange))
	bind(c.Flag("request-rate", "Open loop: least and most requests per second to try, such as 0.5..20, in place of users."), scalar(&s.rates, parseRateRange))
	c.Flag("step-requests", "Number of requests of each level. Default: 6 for each user, or a minute of them, and enough for the percentiles.").
		IsSetByUser(&s.requestsSet).IntVar(&s.stepRequests)
	bind(c.Flag("step-duration", "Duration of each level, in place of a number of requests.").IsSetByUser(&s.durationSet), duration(&s.stepDuration))
	s.precision = 0.05
	bind(c.Flag("precision", "How far off the answer may be, as a share of it; never less than one user. Default: 5%."), scalar(&s.precision, parsePrecision))
	c.Flag("repeat", "Number of times at most that a level near the edge is run.").Default("3").IntVar(&s.repeat)
}

// check says what is wrong with the flags of the search, and fills in what they leave
// unsaid.
func (s *capacityFlags) check() error {
	switch {
	case len(s.limits) == 0:
		return errors.New("--slo is needed: what a user is to wait at most, such as --slo 'ttft:p90<2s' --slo 'tpot:p90<100ms'")
	case s.users != (levels{}) && s.rates != (levels{}):
		return errors.New("--concurrency is a closed loop and --request-rate an open one: give one of them")
	case s.requestsSet && s.durationSet:
		return errors.New("--step-requests and --step-duration both say when a level is over: give one of them")
	case s.requestsSet && s.stepRequests < 1:
		return errors.New("--step-requests must be at least 1")
	case s.durationSet && s.stepDuration <= 0:
		return errors.New("--step-duration must be above 0")
	case s.repeat < 1 || s.repeat > 20:
		return errors.New("--repeat must be from 1 to 20")
	}
	for i, l := range s.limits {
		if slices.ContainsFunc(s.limits[:i], func(o result.Limit) bool { return o.Name == l.Name && o.Percentile == l.Percentile }) {
			return fmt.Errorf("--slo gives two limits of %s: give one", l.Label())
		}
	}
	if !slices.ContainsFunc(s.limits, func(l result.Limit) bool { return l.Name == runlog.LimitFailures }) {
		s.limits = append(s.limits, result.Limit{Name: runlog.LimitFailures, Limit: failuresMost})
	}
	if s.users == (levels{}) && s.rates == (levels{}) {
		s.users = levels{1, 256}
	}
	s.load.repeat = 1
	return nil
}

// search is what the log keeps of the flags.
func (s *capacityFlags) search() *runlog.Capacity {
	c := &runlog.Capacity{
		Variable: runlog.VariableConcurrency, From: s.users.from, To: s.users.to, Precision: s.precision, Repeat: s.repeat, StepRequests: s.stepRequests,
	}
	if s.rates != (levels{}) {
		c.Variable, c.From, c.To = runlog.VariableRequestRate, s.rates.from, s.rates.to
	}
	for _, l := range s.limits {
		c.Objectives = append(c.Objectives, runlog.Limit(l))
	}
	return c
}

// measure searches and reports.
func (s *capacityFlags) measure(ctx context.Context, in *invocation, stdout, stderr io.Writer) (int, error) {
	if data, err := s.data.dataset(); err == nil && data.Kind == dataset.Replay {
		return exitUsage, usage(errors.New("a replay has its own times, so that capacity cannot choose its load: give another data set"))
	}
	q := &search{capacityFlags: s, log: s.search(), stderr: stderr}
	s.load = q.load(q.log.To, 0) // the most that it comes to must be possible
	cfg, notes, err := s.config(in.args)
	if err != nil {
		return exitNothing, err
	}
	tell(stderr, notes)
	if q.options, err = s.render.options(); err != nil {
		return exitUsage, usage(err)
	}
	q.options.AsRun = true
	cfg.Run.Capacity, cfg.Run.Percentiles = q.log, percentilesOf(s.limits)
	cfg.Steps, cfg.Next = nil, q.next
	return s.putLoad(ctx, cfg, stderr, func(result load.Result, err error) (int, error) {
		code, reportErr := q.answer(result, stdout, stderr)
		switch {
		case err == nil:
			return code, reportErr
		case isServerFailure(err) && result.Succeeded > 0:
			return exitFailures, fmt.Errorf(serverGone+": %w", err)
		}
		return exitNothing, err // which is the cause, if the report failed too
	})
}

// isServerFailure reports whether the server was asked for something and failed.
func isServerFailure(err error) bool {
	var failure *openai.Failure
	return errors.As(err, &failure) && !failure.Local && !failure.Unsent && failure.Reason != openai.ReasonCanceled
}

// answer reports on what was measured, and returns the exit code.
func (q *search) answer(result load.Result, stdout, stderr io.Writer) (int, error) {
	r, err := q.soFar(result.Folder)
	if err == nil {
		err = writeReport(result.Folder, r, stderr)
	}
	if err == nil {
		err = q.render.print(stdout, r)
	}
	if err != nil {
		return exitNothing, fmt.Errorf("reporting (the traces are kept in %s): %w", result.Folder, err)
	}
	code, err := exitCode(result)
	if code == exitMeasured && q.gone {
		return exitFailures, errors.New(serverGone)
	}
	if code == exitMeasured && r.Capacity.Value == 0 {
		code = exitNothing
	}
	return code, err
}

// percentilesOf are those of objectives, for the tables.
func percentilesOf(limits []result.Limit) []float64 {
	var all []float64
	for _, l := range limits {
		if l.Percentile > 0 && !slices.Contains(all, l.Percentile) {
			all = append(all, l.Percentile)
		}
	}
	return all
}
