package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func TestDuration(t *testing.T) {
	for name, c := range map[string]struct {
		step runlog.Step
		want runlog.StepEnd
		took time.Duration
	}{
		"users let their last request end": {
			step: runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 2},
			want: runlog.StepEnd{Stop: runlog.StopDuration, Attempted: 8, Succeeded: 8},
			took: 12 * time.Second,
		},
		"a rate has none at the end itself": {
			step: runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 2},
			want: runlog.StepEnd{Stop: runlog.StopDuration, Attempted: 20, Succeeded: 20},
			took: 9500*time.Millisecond + 3*time.Second,
		},
		"a lone request does not end the step early": {
			step: runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 0.01},
			want: runlog.StepEnd{Stop: runlog.StopDuration, Attempted: 1, Succeeded: 1},
			took: 10 * time.Second,
		},
		"what was due waits for its turn": {
			step: runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 2, MaxConcurrency: 1},
			want: runlog.StepEnd{Stop: runlog.StopDuration, Attempted: 20, Succeeded: 20},
			took: 60 * time.Second,
		},
		"all requests are due in time, and sent after it": {
			step: runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 2, MaxConcurrency: 1, Requests: 10},
			want: runlog.StepEnd{Stop: runlog.StopRequests, Attempted: 10, Succeeded: 10},
			took: 30 * time.Second,
		},
		"a burst is due at once": {
			step: runlog.Step{Arrival: runlog.ArrivalBurst, Requests: 10, MaxConcurrency: 2},
			want: runlog.StepEnd{Stop: runlog.StopRequests, Attempted: 10, Succeeded: 10},
			took: 15 * time.Second,
		},
		"users who wait for their turn go home": {
			step: runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 3, MaxConcurrency: 2},
			want: runlog.StepEnd{Stop: runlog.StopDuration, Attempted: 9, Succeeded: 8, Canceled: 1},
			took: 12 * time.Second,
		},
		"all requests before the end of time": {
			step: runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 2, Requests: 4},
			want: runlog.StepEnd{Stop: runlog.StopRequests, Attempted: 4, Succeeded: 4},
			took: 6 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.step.Duration = 10 * time.Second
				begin := time.Now()
				r := do(t.Context(), t, c.step, &prompts{}, &endpoint{takes: always(3 * time.Second)})
				if diff := cmp.Diff(c.want, r.outcome()); diff != "" || r.err != nil {
					t.Errorf("error %v\n%s", r.err, diff)
				}
				if took := time.Since(begin); took != c.took {
					t.Errorf("took %s, want %s", took, c.took)
				}
			})
		})
	}
}

// Load that comes faster than the server takes it is the case in which queueing
// must show: a bound would hide it if it withdrew what waits.
func TestDurationDoesNotHideTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 2, MaxConcurrency: 1, Duration: 10 * time.Second}
		r := do(t.Context(), t, step, &prompts{}, &endpoint{takes: always(3 * time.Second)})
		for _, q := range r.requests {
			if want := time.Duration(q.Seq) * 2500 * time.Millisecond; q.Never || q.Queued != want {
				t.Errorf("request %d: queued for %s, withdrawn: %t, want %s", q.Seq, q.Queued, q.Never, want)
			}
		}
	})
}

func TestDurationOfALateClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 1000, Duration: 1100 * time.Millisecond}
		r := do(t.Context(), t, step, &prompts{pause: time.Second, quick: readAhead}, &endpoint{takes: always(time.Second)})
		if diff := cmp.Diff(runlog.StepEnd{Stop: runlog.StopDuration, Attempted: 1100, Succeeded: 1100}, r.outcome()); diff != "" || r.err != nil {
			t.Errorf("error %v\n%s", r.err, diff)
		}
	})
}

// More are due in time than a replay reads ahead.
func TestDurationOfAReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const due = 3 * maxBacklog
		source := &prompts{at: make([]time.Duration, due+100)}
		for i := range source.at {
			source.at[i] = time.Duration(i) * time.Second / due
		}
		step := runlog.Step{Arrival: runlog.ArrivalReplay, MaxConcurrency: 50, Duration: time.Second}
		r := do(t.Context(), t, step, source, &endpoint{takes: always(time.Second)})
		if diff := cmp.Diff(runlog.StepEnd{Stop: runlog.StopDuration, Attempted: due, Succeeded: due}, r.outcome()); diff != "" || r.err != nil {
			t.Errorf("error %v\n%s", r.err, diff)
		}
	})
}

// A short file is read through many times before the first request: told is how often
// the step began it again.
func TestPassesOfWhatWasSent(t *testing.T) {
	for records, want := range map[int]int{30: 3, 50: 1, 100: 0, 2000: 0} {
		synctest.Test(t, func(t *testing.T) {
			step := runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 10, Duration: 10 * time.Second}
			r := do(t.Context(), t, step, &prompts{records: records}, &endpoint{takes: always(time.Second)})
			if d := r.end.Dataset; d.Passes != want || d.Prompts != 100 {
				t.Errorf("%d records were begun again %d times for %d prompts, want %d for 100", records, d.Passes, d.Prompts, want)
			}
		})
	}
}

// Prompts that were read and not sent are not told.
func TestEstimatesOfWhatWasSent(t *testing.T) {
	for guessed, want := range map[int]runlog.DatasetCount{
		3:  {Prompts: 10, Estimated: 7, EstimatedWhy: "no tokens"},
		10: {Prompts: 10},
	} {
		synctest.Test(t, func(t *testing.T) {
			step := runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 1, Duration: 10 * time.Second}
			r := do(t.Context(), t, step, &prompts{guessed: guessed}, &endpoint{takes: always(time.Second)})
			if diff := cmp.Diff(want, r.end.Dataset); diff != "" {
				t.Errorf("estimated from the %d. on:\n%s", guessed+1, diff)
			}
		})
	}
}
