package capacity

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/result"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// searchedStep is a step of a search for users whose TTFT p90 is at most 100 ms.
func searchedStep(users int, ttft float64, change ...func(*result.Step)) result.Step {
	s := result.Step{
		Step: runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: users}, Stop: runlog.StopRequests,
		Account: runlog.Account{Attempted: 20, Succeeded: 20}, Steady: &result.Figures{},
		Objectives: []result.ObjectiveResult{
			{Objective: openai.Objective{Measure: "ttft", Percentile: 90, Limit: 0.1}, Value: result.Value(ttft)},
			{Objective: openai.Objective{Measure: openai.Failures, Limit: 0.01}},
		},
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

func notSteady(s *result.Step) { s.Steady, s.NotSteady = nil, "not all users had started" }

func failing(share float64) func(*result.Step) {
	return func(s *result.Step) { s.Objectives[1].Value = result.Value(share) }
}

// silent is a step in which no request got any text.
func silent(s *result.Step) {
	s.Account = runlog.Account{Attempted: 20, Failed: map[openai.Reason]int{openai.ReasonTimeoutFirstToken: 20}}
}

func stopped(stop runlog.Stop) func(*result.Step) {
	return func(s *result.Step) { s.Stop = stop }
}

func TestStepVerdict(t *testing.T) {
	for name, tt := range map[string]struct {
		step result.Step
		want Verdict
		why  string
	}{
		"met":                  {searchedStep(8, 0.1), Met, ""},
		"missed":               {searchedStep(8, 0.101), Missed, ""},
		"failures":             {searchedStep(8, 0.05, failing(0.02)), Missed, ""},
		"failures, not steady": {searchedStep(8, 0.05, failing(0.02), notSteady), Missed, ""},
		"not steady":           {searchedStep(8, 0.2, notSteady), Void, "no steady state (not all users had started)"},
		"piles up": {searchedStep(8, 0.05, func(s *result.Step) {
			s.Steady, s.NotSteady = nil, "the server did not keep up with the rate, so requests piled up: lower it"
		}), Missed, ""},
		"the load generator":           {searchedStep(8, 0.2, func(s *result.Step) { s.ClientLimit = "late" }), Void, "the load generator was the limit: late"},
		"too few in flight":            {searchedStep(8, 0.2, func(s *result.Step) { s.Short = "6 of 8" }), Void, "the load generator was the limit: 6 of 8"},
		"too few as they were refused": {searchedStep(8, 0.2, func(s *result.Step) { s.Short = "6 of 8" }, failing(0.5)), Missed, ""},
		"no figure":                    {searchedStep(8, 0, func(s *result.Step) { s.Objectives[0].Value = result.Value(math.NaN()) }), Void, "no request has a TTFT p90"},
		"no figure, but failures":      {searchedStep(8, 0, func(s *result.Step) { s.Objectives[0].Value = result.Value(math.NaN()) }, failing(1)), Missed, ""},
	} {
		search := &runlog.Capacity{Precision: 0.05}
		equal(t, name, Judgement{Verdict: tt.want, Why: tt.why}, Judge(&tt.step, search))
	}
}

// The same steps give the same answer, be they just run or read from a log.
func TestCapacityOfSteps(t *testing.T) {
	met, missed := 0.05, 0.2
	for name, tt := range map[string]struct {
		steps   []result.Step
		want    Result
		binding string
	}{
		"found": {
			[]result.Step{searchedStep(1, met), searchedStep(2, met), searchedStep(4, missed), searchedStep(3, missed), searchedStep(2, met), searchedStep(3, missed)},
			Result{Value: 2, FailedAt: 3, Finished: true},
			"ttft",
		},
		"the majority":  {[]result.Step{searchedStep(1, met), searchedStep(8, missed), searchedStep(8, met), searchedStep(8, met)}, Result{Value: 8, AtLeast: true, Finished: true}, ""},
		"none":          {[]result.Step{searchedStep(1, met, failing(0.5)), searchedStep(1, met, failing(0.5))}, Result{FailedAt: 1, Finished: true}, string(openai.Failures)},
		"the next one":  {[]result.Step{searchedStep(1, met, notSteady), searchedStep(1, met, notSteady), searchedStep(8, met)}, Result{Value: 8, AtLeast: true, Finished: true}, ""},
		"an error":      {[]result.Step{searchedStep(1, met), searchedStep(2, met)}, Result{Value: 2, AtLeast: true}, ""},
		"went away":     {[]result.Step{searchedStep(1, met), searchedStep(2, missed, stopped(runlog.StopUnreachable))}, Result{Value: 1, AtLeast: true}, ""},
		"hangs":         {[]result.Step{searchedStep(1, met), searchedStep(2, missed, silent)}, Result{Value: 1, AtLeast: true}, ""},
		"void":          {[]result.Step{searchedStep(1, met), searchedStep(2, missed, stopped(runlog.StopVoid))}, Result{Value: 1, AtLeast: true}, ""},
		"interrupted":   {[]result.Step{searchedStep(1, met), searchedStep(2, missed, stopped(runlog.StopInterrupted))}, Result{Value: 1, AtLeast: true}, ""},
		"between edges": {[]result.Step{searchedStep(1, met), searchedStep(2, missed), searchedStep(1, met, stopped(""))}, Result{Value: 1, FailedAt: 2, AtLeast: true}, "ttft"},
	} {
		t.Run(name, func(t *testing.T) {
			search := &runlog.Capacity{Variable: runlog.VariableConcurrency, From: 1, To: 8, Precision: 0.05, Repeat: 3}
			r := &result.Report{Runs: []runlog.Run{{Capacity: search}}, Steps: tt.steps}
			c := FromReport(r)
			if diff := cmp.Diff(tt.want, *c, ignoreLevels, cmpopts.IgnoreFields(Result{}, "VoidAt")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if c.Binding != tt.binding {
				t.Errorf("binding %q, want %q", c.Binding, tt.binding)
			}
			for _, l := range c.Levels {
				shown := c.Shown(l.Level)
				if v := Judge(shown, search).Verdict; shown.Level() != float64(l.Level) || v != l.Verdict {
					t.Errorf("level %v is shown by a step of %d users: %v, want %v", l.Level, shown.Concurrency, v, l.Verdict)
				}
			}
		})
	}
}

// noError ends the test where it could not go on.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// equal fails the test where two values differ.
func equal(t *testing.T, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
