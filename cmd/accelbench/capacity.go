package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/load"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

const capacityCommand = "capacity"

// How long a level is where no flag says so.
const (
	leastRequests   = 20
	requestsPerUser = 6
	rateTime        = time.Minute
	rampUpPerUser   = 20 * time.Millisecond
)

// capacityFlags are the flags of a search for the capacity: those of a run, with a
// range in place of its levels.
type capacityFlags struct {
	runFlags
	search runlog.Capacity
}

// registerCapacity adds the command.
func registerCapacity(app *kingpin.Application, args []string, commands map[string]command) {
	c := app.Command(capacityCommand, "Find how much load an endpoint carries within objectives: double the load until one is missed, then halve the gap.")
	s := &capacityFlags{}
	s.register(c, s.registerRange)
	commands[capacityCommand] = func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		return s.find(ctx, args, stdout, stderr)
	}
}

// registerRange adds what is searched for, and where.
func (s *capacityFlags) registerRange(c *kingpin.CmdClause) {
	s.search = runlog.Capacity{Variable: runlog.VariableConcurrency, From: 1, To: 256}
	s.load.requests, s.load.repeat = math.MaxInt32, 1
	c.Flag("slo", "Objective such as ttft:p90<2s, tpot:p90<100ms, failures<1%; repeatable.").Required().PlaceHolder("SLO").SetValue(parsedFlag(s.addObjective))
	c.Flag("max-concurrency", "Least and most users to try. Default: 1..256.").PlaceHolder("A..B").SetValue(s.between(runlog.VariableConcurrency))
	c.Flag("request-rate", "Least and most requests per second, in place of users.").PlaceHolder("A..B").SetValue(s.between(runlog.VariableRequestRate))
	c.Flag("num-prompts", "Requests of each level. Default: 6 for each user, or a minute of them, and enough for the percentiles.").
		PlaceHolder("N").IsSetByUser(&s.load.requestsSet).SetValue(parsed(&s.load.requests, parseCount))
	c.Flag("duration", "How long each level sends requests, in place of their number.").PlaceHolder("D").DurationVar(&s.load.duration)
	c.Flag("precision", "How far off the answer may be; never less than one user.").Default("5%").SetValue(parsed(&s.search.Precision, parseShare(0.1, 50)))
	c.Flag("repeat", "Number of times at most that a level at the edge is run.").Default("3").SetValue(parsed(&s.search.Repeat, parseCount))
}

// addObjective reads an objective.
func (s *capacityFlags) addObjective(text string) error {
	limit, err := runlog.ParseLimit(text)
	if err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	s.search.Objectives = append(s.search.Objectives, limit)
	return nil
}

// between is a flag with the least and the most load of a search, 1..256 or 0.5..20.
func (s *capacityFlags) between(variable string) parsedFlag {
	return func(text string) error {
		from, to, _ := strings.Cut(text, "..")
		low, errLow := parseRate(from)
		high, errHigh := parseRate(to)
		if errLow != nil || errHigh != nil || low > high || math.IsInf(high, 0) {
			return fmt.Errorf("%q is no range such as 1..256", text)
		}
		if variable == runlog.VariableConcurrency {
			low, high = math.Ceil(low), math.Ceil(high)
		}
		s.search.Variable, s.search.From, s.search.To = variable, low, high
		return nil
	}
}

// setMost gives the run the greatest load of the search, so that its flags are checked for it.
func (s *capacityFlags) setMost() {
	// Percentiles are of the successes alone.
	if !slices.ContainsFunc(s.search.Objectives, func(l runlog.Limit) bool { return l.Name == runlog.LimitFailures }) {
		s.search.Objectives = append(s.search.Objectives, runlog.Limit{Name: runlog.LimitFailures, Limit: 0.01})
	}
	if s.search.Variable == runlog.VariableRequestRate {
		s.load.rates = []float64{s.search.To}
		return
	}
	s.load.users = []int{int(s.search.To)}
	if !s.load.rampUpSet { // so that not all wait for one another's prefill
		s.load.rampUp = time.Duration(s.search.To) * rampUpPerUser
	}
}

// errGone ends a search whose server no longer answers.
var errGone = errors.New("the server did not answer any more, so the search was stopped")

// find runs the levels of the search and reports.
func (s *capacityFlags) find(ctx context.Context, args []string, stdout, stderr io.Writer) (int, error) {
	s.setMost()
	cfg, options, err := s.prepare(args, stderr)
	if err != nil {
		return exitNothing, err
	}
	if cfg.Steps[0].Arrival == runlog.ArrivalReplay {
		return exitUsage, usage(errors.New("a timed_trace has its own times, so that capacity cannot choose its load: give another data set"))
	}
	cfg.Run.Capacity = &s.search
	for _, l := range s.search.Objectives {
		if l.Percentile > 0 && !slices.Contains(cfg.Run.Percentiles, l.Percentile) {
			cfg.Run.Percentiles = append(cfg.Run.Percentiles, l.Percentile)
		}
	}
	q := &search{flags: s, options: options, most: cfg.Steps[0], stderr: stderr}
	cfg.Steps = nil
	run := func(w ...load.Watcher) (load.Result, error) { return q.run(ctx, cfg, w) }
	r, code, err := s.putLoad(ctx, options, stdout, stderr, run, s.saveResults)
	switch {
	case code != exitMeasured:
		return code, err
	case q.gone:
		return exitFailures, errGone
	case r.Capacity.Value == 0:
		return exitNothing, nil
	}
	return exitMeasured, nil
}

// search runs the levels of a search.
type search struct {
	flags   *capacityFlags
	session *load.Session
	options result.Options
	most    runlog.Step // the greatest load
	stderr  io.Writer
	steps   []result.Step // that were run
	gone    bool          // the server did not answer any more
}

// run searches, and returns how the run ended.
func (q *search) run(ctx context.Context, cfg load.Config, watchers []load.Watcher) (load.Result, error) {
	var err error
	if q.session, err = load.Open(ctx, cfg, watchers...); err != nil {
		return load.Result{}, err
	}
	_, err = capacity.Search(ctx, result.NewRange(cfg.Run.Capacity), q.measure)
	if q.gone = errors.Is(err, errGone); q.gone {
		err = nil
	}
	ended, closing := q.session.Close()
	return ended, cmp.Or(err, closing)
}

// measure runs a level.
func (q *search) measure(ctx context.Context, level float64) (capacity.Verdict, error) {
	records, err := q.session.Step(ctx, q.step(level))
	if err != nil {
		return capacity.Void, err
	}
	report, err := result.NewReport(q.options, records)
	if err != nil {
		return capacity.Void, err
	}
	step := report.Steps[0]
	q.steps = append(q.steps, step)
	if step.EndsSearch() {
		return capacity.Void, errGone
	}
	verdict, why := step.Verdict()
	if !q.flags.out.quiet {
		texts := map[capacity.Verdict]string{capacity.Met: "met the objectives", capacity.Missed: "missed the objectives", capacity.Void: "could not be judged: " + why}
		fmt.Fprintf(q.stderr, "accelbench: %s %s\n", step.Title(), texts[verdict])
	}
	return verdict, nil
}

// step is the next step, at a level. A level that is run again as it could not be judged
// is twice as long: it may have been too short to be steady.
func (q *search) step(level float64) runlog.Step {
	s, f := q.most, q.flags
	least := level * requestsPerUser
	if s.Concurrency > 0 {
		s.RampUp = time.Duration(float64(s.RampUp) * level / float64(s.Concurrency))
		s.Concurrency = int(level)
	} else {
		s.Rate = level
		least = level * rateTime.Seconds()
	}
	for _, l := range f.search.Objectives { // two requests beyond the percentile
		least = max(least, leastRequests, 2*100/(100-l.Percentile))
	}
	s.Index = len(q.steps)
	for _, last := range q.steps {
		if last.Concurrency == s.Concurrency && last.Rate == s.Rate {
			s.Repeat++
			if last.Steady == nil {
				least = 2 * float64(last.Requests)
			}
		}
	}
	if !f.load.requestsSet && f.load.duration == 0 {
		s.Requests = int(math.Ceil(least))
	}
	return s
}
