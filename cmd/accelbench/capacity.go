package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
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
	*runFlags
	objectives   []string
	limits       []result.Limit // read from objectives
	users, rates levels
	precision    float64
	repeat       int
}

// levels are the least and the most load of a search; zero for none given.
type levels struct{ from, to float64 }

// registerCapacity adds the command.
func registerCapacity(app *kingpin.Application, in *invocation, commands map[string]command) {
	c := app.Command(capacityCommand, "Find how much load an endpoint carries within objectives: double the load until one is missed, then halve the gap.")
	s := &capacityFlags{runFlags: &runFlags{}}
	s.endpoint.register(c)
	s.register(c)
	s.load.registerShape(c)
	s.data.register(c)
	s.ask.register(c)
	s.out.registerRun(c)
	s.render.registerFormat(c)
	s.ignored = registerIgnored(c, ignoredFlags)
	registerRefused(c)
	commands[capacityCommand] = func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
		if err := s.check(); err != nil {
			return exitUsage, usage(err)
		}
		return s.search(ctx, in, stdout, stderr)
	}
}

func (s *capacityFlags) register(c *kingpin.CmdClause) {
	c.Flag("slo", "Objective such as ttft:p90<2s, tpot:p90<100ms, failures<1%; repeatable.").PlaceHolder("SLO").StringsVar(&s.objectives)
	c.Flag("max-concurrency", "Least and most users to try. Default: 1..256.").PlaceHolder("A..B").SetValue(parsed(&s.users, parseRange))
	c.Flag("request-rate", "Least and most requests per second, in place of users.").PlaceHolder("A..B").SetValue(parsed(&s.rates, parseRange))
	s.load.requests = math.MaxInt32
	c.Flag("num-prompts", "Requests of each level. Default: 6 for each user, or a minute of them, and enough for the percentiles.").
		PlaceHolder("N").IsSetByUser(&s.load.requestsSet).IntVar(&s.load.requests)
	c.Flag("duration", "How long each level sends requests, in place of their number.").PlaceHolder("D").DurationVar(&s.load.duration)
	c.Flag("precision", "How far off the answer may be; never less than one user.").Default("5%").SetValue(parsed(&s.precision, parsePrecision))
	c.Flag("repeat", "Number of times at most that a level at the edge is run.").Default("3").IntVar(&s.repeat)
}

// check says what is wrong with the flags of the search, and fills in what they leave
// unsaid.
func (s *capacityFlags) check() error {
	switch {
	case len(s.objectives) == 0:
		return errors.New("--slo is needed: what a user is to wait at most, such as --slo 'ttft:p90<2s' --slo 'tpot:p90<100ms'")
	case s.users != (levels{}) && s.rates != (levels{}):
		return errors.New("--max-concurrency is a closed loop and --request-rate an open one: give one of them")
	case s.users.from != math.Trunc(s.users.from) || s.users.to != math.Trunc(s.users.to):
		return errors.New("--max-concurrency is a number of users: give whole numbers")
	case s.data.kind == string(dataset.Replay):
		return errors.New("a timed_trace has its own times, so that capacity cannot choose its load: give another data set")
	case s.repeat < 1:
		return errors.New("--repeat must be at least 1")
	}
	for _, text := range s.objectives {
		limit, err := result.ParseLimit(text)
		if err != nil {
			return fmt.Errorf("--slo %q: %w", text, err)
		}
		s.limits = append(s.limits, limit)
	}
	// Percentiles are of the successes alone.
	if !slices.ContainsFunc(s.limits, func(l result.Limit) bool { return l.Name == runlog.LimitFailures }) {
		s.limits = append(s.limits, result.Limit{Name: runlog.LimitFailures, Limit: 0.01})
	}
	s.setMost()
	return nil
}

// setMost makes the greatest load of the search the one of the run: it must be possible.
func (s *capacityFlags) setMost() {
	s.load.repeat = 1
	if s.rates != (levels{}) {
		s.load.rates = []float64{s.rates.to}
		return
	}
	if s.users == (levels{}) {
		s.users = levels{1, 256}
	}
	s.load.users = []int{int(s.users.to)}
	if !s.load.rampUpSet { // so that not all wait for one another's prefill
		s.load.rampUp = time.Duration(s.users.to) * rampUpPerUser
	}
}

// logged is the search as the log keeps it.
func (s *capacityFlags) logged() *runlog.Capacity {
	c := &runlog.Capacity{Variable: runlog.VariableConcurrency, From: s.users.from, To: s.users.to, Precision: s.precision, Repeat: s.repeat}
	if s.rates != (levels{}) {
		c.Variable, c.From, c.To = runlog.VariableRequestRate, s.rates.from, s.rates.to
	}
	for _, l := range s.limits {
		c.Objectives = append(c.Objectives, runlog.Limit(l))
	}
	return c
}

// errGone is that a step says that there is to be no other.
var errGone = errors.New("the server did not answer any more, so the search was stopped")

// search runs the levels and reports.
func (s *capacityFlags) search(ctx context.Context, in *invocation, stdout, stderr io.Writer) (int, error) {
	cfg, options, err := s.prepare(in.args, stderr)
	if err != nil {
		return exitNothing, err
	}
	cfg.Run.Capacity = s.logged()
	for _, l := range s.limits {
		if l.Percentile > 0 && !slices.Contains(cfg.Run.Percentiles, l.Percentile) {
			cfg.Run.Percentiles = append(cfg.Run.Percentiles, l.Percentile)
		}
	}
	q := &search{flags: s, options: options, most: cfg.Steps[0], stderr: stderr}
	cfg.Steps = nil
	value := 0.0
	report := func(folder string) error {
		return s.report(folder, options, stdout, stderr, func(r *result.Report, _ io.Writer) error {
			value = r.Capacity.Value
			return nil
		})
	}
	code, err := s.putLoad(ctx, stderr, func(w ...load.Watcher) (load.Result, error) { return q.run(ctx, cfg, w) }, report)
	switch {
	case code != exitMeasured:
		return code, err
	case q.gone:
		return exitFailures, errGone
	case value == 0:
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
	step := result.NewStep(q.options, result.StepLog(*records))
	q.steps = append(q.steps, step)
	if step.EndsSearch() {
		return capacity.Void, errGone
	}
	verdict, why := step.Verdict()
	if !q.flags.out.quiet {
		texts := map[capacity.Verdict]string{capacity.Met: "met the objectives", capacity.Missed: "missed the objectives", capacity.Void: "could not be judged: " + why}
		fmt.Fprintf(q.stderr, "accelbench: %g %s\n", level, texts[verdict])
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
	for _, l := range f.limits { // two requests beyond the percentile
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

// parseRange reads 1..256 or 0.5..20.
func parseRange(text string) (levels, error) {
	from, to, found := strings.Cut(text, "..")
	low, errLow := strconv.ParseFloat(from, 64)
	high, errHigh := strconv.ParseFloat(to, 64)
	if !found || errLow != nil || errHigh != nil || !(low > 0) || !(low <= high) || math.IsInf(high, 0) {
		return levels{}, fmt.Errorf("%q is no range such as 1..256", text)
	}
	return levels{low, high}, nil
}

// parsePrecision reads 5% or 0.05.
func parsePrecision(text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0.001 && share <= 0.5) {
		return 0, fmt.Errorf("%q is no share from 0.1%% to 50%%, such as 5%%", text)
	}
	return share, nil
}
