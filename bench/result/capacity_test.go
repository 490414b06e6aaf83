package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// searchedStep is a step of a search for users whose TTFT p90 is at most 100 ms.
func searchedStep(users int, ttft float64, change ...func(*Step)) Step {
	s := Step{
		Step: runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: users}, Stop: runlog.StopRequests,
		Account: Account{Attempted: 20, Succeeded: 20}, Steady: &Figures{},
		Held: []Held{
			{Limit: runlog.Limit{Name: "ttft", Percentile: 90, Limit: 0.1}, Value: ttft, Known: true},
			{Limit: runlog.Limit{Name: runlog.LimitFailures, Limit: 0.01}, Known: true},
		},
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

func notSteady(s *Step) { s.Steady, s.NotSteady = nil, "not all users had started" }

func failing(share float64) func(*Step) {
	return func(s *Step) { s.Held[1].Value = share }
}

// silent is a step in which no request got any text.
func silent(s *Step) {
	s.Account = Account{Attempted: 20, Failed: map[openai.Reason]int{openai.ReasonTimeoutFirstToken: 20}}
}

func stopped(stop runlog.Stop) func(*Step) {
	return func(s *Step) { s.Stop = stop }
}

func TestStepVerdict(t *testing.T) {
	for name, tt := range map[string]struct {
		step Step
		want capacity.Verdict
		why  string
	}{
		"met":                          {searchedStep(8, 0.1), capacity.Met, ""},
		"missed":                       {searchedStep(8, 0.101), capacity.Missed, ""},
		"failures":                     {searchedStep(8, 0.05, failing(0.02)), capacity.Missed, ""},
		"failures, not steady":         {searchedStep(8, 0.05, failing(0.02), notSteady), capacity.Missed, ""},
		"not steady":                   {searchedStep(8, 0.2, notSteady), capacity.Void, "the load never was steady, as not all users had started"},
		"piles up":                     {searchedStep(8, 0.05, func(s *Step) { s.Steady, s.NotSteady = nil, pileUp }), capacity.Missed, ""},
		"the load generator":           {searchedStep(8, 0.2, func(s *Step) { s.ClientLimit = "late" }), capacity.Void, "the load generator was the limit: late"},
		"too few in flight":            {searchedStep(8, 0.2, func(s *Step) { s.Short = "6 of 8" }), capacity.Void, "the load generator was the limit: 6 of 8"},
		"too few as they were refused": {searchedStep(8, 0.2, func(s *Step) { s.Short = "6 of 8" }, failing(0.5)), capacity.Missed, ""},
		"no figure":                    {searchedStep(8, 0, func(s *Step) { s.Held[0].Known = false }), capacity.Void, "no request has a TTFT p90"},
		"no figure, but failures":      {searchedStep(8, 0, func(s *Step) { s.Held[0].Known = false }, failing(1)), capacity.Missed, ""},
	} {
		if got, why := tt.step.Verdict(); got != tt.want || why != tt.why {
			t.Errorf("%s: %v %q, want %v %q", name, got, why, tt.want, tt.why)
		}
	}
}

// The same steps give the same answer, be they just run or read from a log.
func TestCapacityOfSteps(t *testing.T) {
	met, missed := 0.05, 0.2
	for name, tt := range map[string]struct {
		steps   []Step
		want    capacity.Answer
		binding string
	}{
		"found": {
			[]Step{searchedStep(1, met), searchedStep(2, met), searchedStep(4, missed), searchedStep(3, missed), searchedStep(2, met), searchedStep(3, missed)},
			capacity.Answer{Value: 2, FailedAt: 3},
			"ttft",
		},
		"the majority":  {[]Step{searchedStep(1, met), searchedStep(8, missed), searchedStep(8, met), searchedStep(8, met)}, capacity.Answer{Value: 8, AtLeast: true}, ""},
		"none":          {[]Step{searchedStep(1, met, failing(0.5)), searchedStep(1, met, failing(0.5))}, capacity.Answer{FailedAt: 1}, runlog.LimitFailures},
		"the next one":  {[]Step{searchedStep(1, met, notSteady), searchedStep(1, met, notSteady), searchedStep(8, met)}, capacity.Answer{Value: 8, AtLeast: true}, ""},
		"an error":      {[]Step{searchedStep(1, met), searchedStep(2, met)}, capacity.Answer{Value: 2, AtLeast: true, Unfinished: true}, ""},
		"went away":     {[]Step{searchedStep(1, met), searchedStep(2, missed, stopped(runlog.StopUnreachable))}, capacity.Answer{Value: 1, AtLeast: true, Unfinished: true}, ""},
		"hangs":         {[]Step{searchedStep(1, met), searchedStep(2, missed, silent)}, capacity.Answer{Value: 1, AtLeast: true, Unfinished: true}, ""},
		"interrupted":   {[]Step{searchedStep(1, met), searchedStep(2, missed, stopped(runlog.StopInterrupted))}, capacity.Answer{Value: 1, AtLeast: true, Unfinished: true}, ""},
		"between edges": {[]Step{searchedStep(1, met), searchedStep(2, missed), searchedStep(1, met, stopped(""))}, capacity.Answer{Value: 1, FailedAt: 2, AtLeast: true, Unfinished: true}, "ttft"},
	} {
		t.Run(name, func(t *testing.T) {
			search := &runlog.Capacity{Variable: runlog.VariableConcurrency, From: 1, To: 8, Precision: 0.05, Repeat: 3}
			r := &Report{Runs: []runlog.Run{{Capacity: search}}, Steps: tt.steps}
			c := newCapacity(r)
			if diff := cmp.Diff(tt.want, c.Answer, cmpopts.IgnoreFields(capacity.Answer{}, "Levels", "VoidAt")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if c.Binding != tt.binding {
				t.Errorf("binding %q, want %q", c.Binding, tt.binding)
			}
			for i := range c.Levels {
				l := &c.Levels[i]
				shown := r.Shown(l)
				if v, _ := shown.Verdict(); float64(shown.Concurrency) != l.Level || v != l.Verdict {
					t.Errorf("level %v is shown by a step of %d users: %v, want %v", l.Level, shown.Concurrency, v, l.Verdict)
				}
			}
		})
	}
}
