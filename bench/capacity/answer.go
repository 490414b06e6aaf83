package capacity

import (
	"context"
	"errors"
	"fmt"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// BindingBacklog is the [Result.Binding] where requests pile up although no figure is
// over its limit.
const BindingBacklog = "backlog"

// Result is how much load the server carries within its objectives, from the steps of a
// run that searched for it.
type Result struct {
	Answer
	Search *runlog.Capacity
	// Binding is the name of the objective that FailedAt misses by most, or
	// [BindingBacklog]; empty without a FailedAt.
	Binding string
	// Contradiction are two levels of which the higher one has clearly the better figure, so that the server or
	// the machine was not the same throughout; 0 for none.
	Contradiction [2]float64
	Refused       string // how the server refused the requests for what they ask, its own words
	report        *result.Report
}

// FromReport is nil where nothing was searched for. The same steps give the same answer, be they just
// run or read from a log.
func FromReport(r *result.Report) *Result {
	if len(r.Runs) != 1 || r.Runs[0].Capacity == nil {
		return nil
	}
	search := r.Runs[0].Capacity
	c := &Result{Search: search, report: r}
	var trials []Trial
	for i := range r.Steps {
		s := &r.Steps[i]
		if err := end(s, search); err != nil {
			if errors.Is(err, ErrRefused) {
				c.Refused = s.FailedAs[openai.ReasonHTTP4xx]
			}
			break
		}
		if j := Judge(s, search); !j.Longer {
			trials = append(trials, Trial{Level: s.Level(), Verdict: j.Verdict, Step: i})
		}
	}
	c.Answer = newRange(search).Answer(trials)
	if s := c.Shown(c.FailedAt); s != nil {
		c.Binding = BindingBacklog
		if worst := Worst(s); worst != nil {
			c.Binding = string(worst.Measure)
		}
	}
	c.Contradiction = c.contradiction()
	return c
}

// newRange is the range of a search as its log has it.
func newRange(c *runlog.Capacity) Range {
	return Range{From: c.From, To: c.To, Whole: c.Variable == runlog.VariableConcurrency, Precision: c.Precision, Repeat: c.Repeat}
}

// Shown is the step whose figures stand for a level: the last one with its verdict, or else
// the last. It is nil for a level that was not run, and for 0.
func (c *Result) Shown(level float64) *result.Step {
	l := c.At(level)
	if l == nil {
		return nil
	}
	shown := &c.report.Steps[l.Steps[len(l.Steps)-1]]
	for _, i := range l.Steps {
		if s := &c.report.Steps[i]; Judge(s, c.Search).Verdict == l.Verdict {
			shown = s
		}
	}
	return shown
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

// contradiction looks for a level whose binding figure is clearly worse than that of a higher one: beyond
// both intervals, and by more than a tenth.
func (c *Result) contradiction() (levels [2]float64) {
	const clearly = 1.1
	for i := range c.Levels {
		for k := range c.Levels[:i] {
			low, high := c.Shown(c.Levels[k].Level), c.Shown(c.Levels[i].Level)
			for n, o := range low.Objectives {
				p := high.Objectives[n]
				if string(o.Measure) == c.Binding && o.Value > clearly*p.Value && o.Value-o.Error > p.Value+p.Error && low.Steady != nil && high.Steady != nil {
					levels = [2]float64{c.Levels[k].Level, c.Levels[i].Level}
				}
			}
		}
	}
	return levels
}

// ErrGone ends a search whose server no longer answers.
var ErrGone = errors.New("the server did not answer any more, so the search was stopped")

// ErrRefused ends a search in which the server refuses the requests for what they ask.
var ErrRefused = errors.New("the server refuses the requests")

// errCut ends a search at a step that did not come to its end.
var errCut = errors.New("the step was cut short")

// end says why there is no level behind a step, nil where there is: it was cut short, the server could not be
// reached any more, none of its requests got any text, as from a server that hangs, or requests were refused
// for what they ask (4xx), which is no verdict on the server.
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

// Finder runs the levels of a search.
type Finder struct {
	Search  *runlog.Capacity
	Most    runlog.Step // the greatest load, whose shape all levels have
	Options result.Options
	// Put puts a step's load on the server and returns the records of the run and the step.
	Put func(ctx context.Context, s runlog.Step) ([]runlog.Record, error)
	// Progress takes each step that was judged.
	Progress func(*result.Step, Judgement)
	done     []result.Step
}

// Run runs levels until the answer is known, or until an error of Put or one that says why the
// search cannot go on.
func (f *Finder) Run(ctx context.Context) error {
	_, err := Search(ctx, newRange(f.Search), func(ctx context.Context, level float64) (Verdict, error) {
		for {
			j, err := f.measure(ctx, nextStep(f.Most, level, f.Search, f.done))
			if err != nil || !j.Longer {
				return j.Verdict, err
			}
		}
	})
	if errors.Is(err, errCut) {
		return nil // the report says why
	}
	return err
}

// measure runs a step and judges it.
func (f *Finder) measure(ctx context.Context, step runlog.Step) (Judgement, error) {
	records, err := f.Put(ctx, step)
	if err != nil {
		return Judgement{}, err
	}
	report, err := result.NewReport(f.Options, records)
	if err != nil {
		return Judgement{}, err
	}
	s := report.Steps[0]
	f.done = append(f.done, s)
	if err := end(&s, f.Search); err != nil {
		return Judgement{}, err
	}
	j := Judge(&s, f.Search)
	f.Progress(&s, j)
	return j, nil
}
