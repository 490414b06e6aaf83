package capacity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// BindingBacklog is the [Result.Binding] where requests pile up although no figure is over its limit.
const BindingBacklog = "backlog"

// How long a level is, where nobody says.
const (
	leastRequests   = 20
	requestsPerUser = 8           // about five times the p90 of E2E
	firstLevel      = time.Minute // at a rate, before it is known how long an answer takes
	// A level at a rate lasts leastAnswers times the p90 of E2E at least. One that is too short to tell is run
	// again, longer, until it lasts mostAnswers times that, and has requests enough or takes mostTime.
	leastAnswers = 5
	mostAnswers  = 40
	mostTime     = 10 * time.Minute
	// Of n random arrivals the rate is right within 2/√n (95 %); near the edge latencies change twice as much.
	arrivalNoise = 2
	sensitivity  = 2
	similarRate  = 1.3 // times a rate
)

// Result is how much load the server carries within its objectives, from the steps of a run that searched for it.
type Result struct {
	Variable string `json:"variable"`
	// Value is the most load that met the objectives below any that missed them, FailedAt the least that missed
	// them, and VoidAt the least between the two that could not be judged.
	Value    Load `json:"value"`
	FailedAt Load `json:"failed_at"`
	VoidAt   Load `json:"-"`
	// AtLeast is true where the server may carry more than Value: no load missed, or the search is not Finished.
	AtLeast  bool `json:"at_least"`
	Finished bool `json:"finished"` // no other trial was to come
	// Low and High are how firm the answer is: all runs at Low and below met the objectives, all at High and
	// above missed them. They are Value and FailedAt where repeats agree.
	Low  Load `json:"low"`
	High Load `json:"high"`
	// Binding is the objective that FailedAt misses by most, or [BindingBacklog]; empty without a FailedAt.
	Binding string `json:"binding,omitempty"`
	// Contradiction are two levels of which the higher one has clearly the better figure, so
	// that the server or the machine was not the same throughout; 0 for none.
	Contradiction [2]float64  `json:"contradiction,omitzero"`
	Objectives    []Objective `json:"objectives"`
	Levels        []Level     `json:"levels"` // ascending

	Search *runlog.Capacity `json:"-"`
	Ended  error            `json:"-"` // why the search could not go on, such as [ErrGone]
	report *result.Report
}

// Objective is one of the search's, with its figures at Value and at FailedAt.
type Objective struct {
	openai.Objective
	Value       result.Value `json:"value"`
	ValueFailed result.Value `json:"value_failed"`
	AtLeast     bool         `json:"value_failed_at_least,omitempty"` // which falls among those who still waited
}

// FromReport is nil where nothing was searched for. Steps give the same answer just run and read from a log.
func FromReport(r *result.Report) *Result {
	if len(r.Runs) > 1 && r.Runs[0].Machines == 0 || r.Runs[0].Capacity == nil {
		return nil
	}
	search := r.Runs[0].Capacity
	tried, ended := trials(r.Steps, search)
	c := newResult(search, tried)
	c.report, c.Ended = r, ended
	value, failed := c.Shown(c.Value), c.Shown(c.FailedAt)
	if failed != nil {
		c.Binding = BindingBacklog
		if worst := Worst(failed); worst != nil {
			c.Binding = string(worst.Measure)
		}
	}
	for i, o := range search.Objectives {
		one := Objective{Objective: o, Value: result.Unknown(), ValueFailed: result.Unknown()}
		if value != nil {
			one.Value = value.Objectives[i].Value
		}
		if failed != nil {
			one.ValueFailed, one.AtLeast = failed.Objectives[i].Value, failed.Objectives[i].AtLeast
		}
		c.Objectives = append(c.Objectives, one)
	}
	c.Contradiction = c.contradiction()
	return c
}

// Shown is the step whose figures stand for a level: the last one with its verdict. It is nil for a level that was not
// run, and for none.
func (c *Result) Shown(level Load) *result.Step {
	for _, l := range c.Levels {
		if l.Level == level {
			return &c.report.Steps[l.last[l.Verdict]]
		}
	}
	return nil
}

// Worst is the figure that a step misses its objective with by most, nil where it misses none.
func Worst(s *result.Step) *result.ObjectiveResult {
	var worst *result.ObjectiveResult
	for i, o := range s.Objectives {
		if o.Value.Known() && o.Excess() > 1 && (worst == nil || o.Excess() > worst.Excess()) {
			worst = &s.Objectives[i]
		}
	}
	return worst
}

// contradiction is a level whose binding figure is worse than a higher one's: beyond both intervals, and by a tenth.
func (c *Result) contradiction() (levels [2]float64) {
	const clearly, widened = 1.1, 1.5 // since all pairs of levels are looked at
	for i, higher := range c.Levels {
		for _, lower := range c.Levels[:i] {
			low, high := c.Shown(lower.Level), c.Shown(higher.Level)
			for n, o := range low.Objectives {
				p := high.Objectives[n]
				isWorse := o.Value > clearly*p.Value && o.Value-widened*o.Error > p.Value+widened*p.Error
				if string(o.Measure) == c.Binding && isWorse && low.Steady != nil && high.Steady != nil {
					levels = [2]float64{float64(lower.Level), float64(higher.Level)}
				}
			}
		}
	}
	return levels
}

// What ends a search.
var (
	ErrGone    = errors.New("the server did not answer any more, so the search was stopped")
	ErrRefused = errors.New("the server refuses the requests") // for what they ask
	errCut     = errors.New("the step was cut short")
	errLost    = errors.New("a machine was lost, and the levels of a search need all")
)

// end says why there is no level behind a step, nil where there is: it was cut short, a machine was lost, the server is
// gone or hangs, or it refused the requests (4xx), which is no verdict on it.
func end(s *result.Step, search *runlog.Capacity) error {
	refused := float64(s.Account.Failed[openai.ReasonHTTP4xx])
	for _, o := range search.Objectives {
		if o.Measure == openai.Failures && refused > o.Limit*float64(s.Account.Attempted-s.Account.Canceled) {
			return fmt.Errorf("%w: %s", ErrRefused, s.FailedAs[openai.ReasonHTTP4xx])
		}
	}
	switch s.Stop {
	case "", runlog.StopInterrupted:
		return errCut
	case runlog.StopVoid:
		return errLost
	case runlog.StopUnreachable:
		return ErrGone
	}
	for reason := range s.Account.Failed {
		if reason != openai.ReasonTimeoutFirstToken && !reason.Unreached() {
			return nil
		}
	}
	if s.Account.Succeeded == 0 && s.Account.Failures() > 0 {
		return ErrGone
	}
	return nil
}

// trials are the steps that have a say, up to one that ended the search with an error.
func trials(steps []result.Step, search *runlog.Capacity) ([]Trial, error) {
	var tried []Trial
	for i := range steps {
		s := &steps[i]
		if err := end(s, search); err != nil {
			return tried, err
		}
		if j := Judge(s, search); !j.Longer {
			tried = append(tried, Trial{Level: s.Level(), Verdict: j.Verdict, Step: i})
		}
	}
	return tried, nil
}

// enoughRequests are those whose rate is as precise as the answer is to be.
func enoughRequests(precision float64) float64 {
	return arrivalNoise * arrivalNoise / (precision * precision)
}

// Judgement is what one step says of its level.
type Judgement struct {
	Verdict Verdict
	Why     string // why the step is void, too short or never steady, in a clause; else empty
	// Longer is true where the step was too short to tell: it has no say, and is run again.
	Longer bool
}

// Judge says whether a step of a search met its objectives. Requests that pile up are a miss, and so is a rate that
// does not become steady. A load generator that was the limit, or a load that was short, says nothing of the level.
func Judge(s *result.Step, search *runlog.Capacity) Judgement {
	isRandom := s.Rate > 0 && s.Arrival != runlog.ArrivalConstant
	hasFew := isRandom && float64(s.Account.Attempted) < enoughRequests(search.Precision)
	isShort := hasFew && s.Whole.Window.Duration() < mostTime
	grows := search.Grows && (lengthInP90s(s) < mostAnswers || isShort)
	noise := 0.0 // of the load, as a share of it
	if s.Steady != nil && isRandom {
		noise = arrivalNoise / math.Sqrt(float64(max(1, s.Steady.Account.Attempted)))
	}
	missed, isClose, unknown := false, false, ""
	for _, o := range s.Objectives {
		isFailures := o.Measure == openai.Failures
		switch {
		case !o.Value.Known():
			unknown = "no request has a " + o.Label()
		case isFailures && o.Value == 0 || !isFailures && (s.Steady == nil || s.Short != ""): // which says nothing of the level
		case grows && !o.AtLeast && isNear(o, noise, search.Precision):
			isClose = true
		case o.Excess() > 1:
			missed = true
		}
	}
	const clientWas = "the load generator was the limit: "
	switch {
	case (s.Overloaded() || missed) && s.ClientLimit == "":
		return Judgement{Verdict: Missed}
	case s.ClientLimit != "":
		return Judgement{Why: clientWas + s.ClientLimit}
	case s.Steady == nil && s.Rate > 0 && search.Grows && s.Account.Succeeded > 0:
		if grows {
			return Judgement{Why: s.NotSteady, Longer: true}
		}
		return Judgement{Verdict: Missed, Why: fmt.Sprintf("not steady within %d times the p90 of E2E", mostAnswers)}
	case s.Steady == nil:
		return Judgement{Why: "no steady state (" + s.NotSteady + ")"}
	case s.Short != "":
		return Judgement{Why: clientWas + s.Short}
	case unknown != "":
		return Judgement{Why: unknown}
	case isClose, grows && s.Rate > 0 && lengthInP90s(s) < leastAnswers:
		return Judgement{Why: "too short to tell", Longer: true}
	}
	return Judgement{Verdict: Met}
}

// isNear reports whether a figure is so close to its limit that a longer step could say another thing.
func isNear(o result.ObjectiveResult, noise, precision float64) bool {
	if !o.Error.Known() { // too few samples for an interval
		return math.Abs(float64(o.Value)-o.Limit) <= o.Limit/2
	}
	off := max(float64(o.Error), sensitivity*noise*o.Limit)
	isPrecise := float64(o.Error) <= sensitivity*precision*o.Limit && noise <= precision
	return !isPrecise && math.Abs(float64(o.Value)-o.Limit) <= off
}

// lengthInP90s is how many times the p90 of E2E a step lasted, 0 where there is none.
func lengthInP90s(s *result.Step) float64 {
	if p90, ok := s.Whole.Of(result.E2E).At(90); ok && p90.Value > 0 {
		return s.Whole.Window.Duration().Seconds() / p90.Value
	}
	return 0
}

// nextStep is the step at a level behind others of the search, of the shape of most.
func nextStep(most runlog.Step, level float64, search *runlog.Capacity, done []result.Step) runlog.Step {
	s := most
	s.Index = len(done)
	least, longest := level*requestsPerUser, 0.0
	if s.Concurrency > 0 {
		s.RampUp = time.Duration(float64(s.RampUp) * level / float64(s.Concurrency))
		s.Concurrency = int(level)
	} else {
		s.Rate = level
		for i := range done {
			if p90, _ := done[i].Whole.Of(result.E2E).At(90); done[i].Rate <= level {
				longest = max(longest, p90.Value)
			}
		}
		least = level * (s.RampUp.Seconds() + cmp.Or((leastAnswers+1)*longest, firstLevel.Seconds()))
	}
	for _, o := range search.Objectives { // two requests beyond the percentile
		least = max(least, leastRequests, 2*100/(100-o.Percentile))
	}
	for i := range done {
		last := &done[i]
		requests := float64(last.Requests)
		if last.Rate < similarRate*level && level < similarRate*last.Rate { // as long as the rates that it is held against
			least = max(least, requests)
		}
		if last.Concurrency != s.Concurrency || last.Rate != s.Rate {
			continue
		}
		s.Repeat++
		least = max(least, requests)
		if j := Judge(last, search); j.Longer || last.Steady == nil {
			least = max(least, 2*requests)
			if s.Concurrency == 0 {
				inMostTime := level * max(mostAnswers*longest, mostTime.Seconds())
				least = max(least, min(enoughRequests(search.Precision), inMostTime))
			}
		}
	}
	if search.Grows {
		s.Requests = int(math.Ceil(least))
	}
	return s
}

// Finder runs the levels of a search.
type Finder struct {
	Search *runlog.Capacity
	Most   runlog.Step // the greatest load, whose shape all levels have
	// Put puts a step's load on the server and returns the records of the run and the step.
	Put func(ctx context.Context, s runlog.Step) ([]runlog.Record, error)
	// Progress takes each step that was judged.
	Progress func(*result.Step, Judgement)
}

// Run runs levels until the answer is known, or cannot be, as [Result.Ended] then says, or until an error of Put.
func (f *Finder) Run(ctx context.Context) error {
	var done []result.Step
	for {
		tried, ended := trials(done, f.Search)
		if n := len(done); n > 0 && ended == nil {
			f.Progress(&done[n-1], Judge(&done[n-1], f.Search))
		}
		level, more := next(f.Search, tried)
		if ended != nil || !more {
			return nil //nolint:nilerr // the report says it
		}
		records, err := f.Put(ctx, nextStep(f.Most, level, f.Search, done))
		if err != nil {
			return err
		}
		report, err := result.NewReport(result.Options{}, records)
		if err != nil {
			return err
		}
		done = append(done, report.Steps[0])
	}
}
