package load

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func TestFailureRatio(t *testing.T) {
	failing := func(from, to int) func(int) openai.Reason {
		return func(seq int) openai.Reason {
			if seq >= from && seq < to {
				return openai.ReasonHTTP5xx
			}
			return ""
		}
	}
	failed := func(n int) map[openai.Reason]int { return map[openai.Reason]int{openai.ReasonHTTP5xx: n} }
	for name, c := range map[string]struct {
		step  runlog.Step
		fails func(int) openai.Reason
		want  runlog.StepEnd
	}{
		"not before 20 are over": {
			step:  runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 1, Requests: 1000, MaxFailureRatio: 0.5},
			fails: failing(0, 1000),
			want:  runlog.StepEnd{Stop: runlog.StopFailureRatio, Attempted: 20, Failed: failed(20)},
		},
		"a first round that fails is outvoted": {
			step:  runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 50, Requests: 1000, MaxFailureRatio: 0.5},
			fails: failing(0, 50),
			want:  runlog.StepEnd{Stop: runlog.StopRequests, Attempted: 1000, Succeeded: 950, Failed: failed(50)},
		},
		"just the ratio is allowed": {
			step:  runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 1, Requests: 40, MaxFailureRatio: 0.5},
			fails: failing(20, 40),
			want:  runlog.StepEnd{Stop: runlog.StopRequests, Attempted: 40, Succeeded: 20, Failed: failed(20)},
		},
		"a few are judged at the end": {
			step:  runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 1, Requests: 5, MaxFailureRatio: 0.5},
			fails: failing(0, 5),
			want:  runlog.StepEnd{Stop: runlog.StopFailureRatio, Attempted: 5, Failed: failed(5)},
		},
		"while what was due is sent after the time": {
			step:  runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 100, Duration: time.Second, MaxConcurrency: 1, MaxFailureRatio: 0.5},
			fails: failing(0, 100),
			want:  runlog.StepEnd{Stop: runlog.StopFailureRatio, Attempted: 20, Failed: failed(20)},
		},
		"none without a limit": {
			step:  runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 1, Requests: 100},
			fails: failing(0, 100),
			want:  runlog.StepEnd{Stop: runlog.StopRequests, Attempted: 100, Failed: failed(100)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := do(t.Context(), t, c.step, &prompts{}, &endpoint{takes: always(time.Second), fails: c.fails})
				got := r.outcome()
				got.Attempted -= got.Canceled // one more may be in flight when the limit is seen
				got.Canceled = 0
				if diff := cmp.Diff(c.want, got); diff != "" || r.err != nil {
					t.Errorf("error %v\n%s", r.err, diff)
				}
			})
		})
	}
}

func TestFailureRatioWithdrawsWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{
			takes: func(seq int) time.Duration {
				if seq%2 == 0 {
					return time.Hour
				}
				return time.Second
			},
			fails: func(int) openai.Reason { return openai.ReasonHTTP5xx },
		}
		step := runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 10, Requests: 1000, MaxFailureRatio: 0.1}
		begin := time.Now()
		r := do(t.Context(), t, step, &prompts{}, e)
		if r.end.Stop != runlog.StopFailureRatio || r.end.Canceled < 20 || time.Since(begin) > 10*time.Second {
			t.Errorf("%+v after %s", r.end, time.Since(begin))
		}
		if f := r.requests[0].Trace.Failure; f.Detail != errFailures.Error() {
			t.Errorf("the first request, in flight then, ended with: %v", f)
		}
	})
}

func TestInterrupt(t *testing.T) {
	for name, c := range map[string]struct {
		step  runlog.Step
		want  runlog.StepEnd
		never int
	}{
		"users": {
			step: runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 4, Requests: 1000},
			want: runlog.StepEnd{Stop: runlog.StopInterrupted, Attempted: 12, Succeeded: 8, Canceled: 4},
		},
		"users that queue": {
			step:  runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 4, MaxConcurrency: 3, Requests: 1000},
			want:  runlog.StepEnd{Stop: runlog.StopInterrupted, Attempted: 10, Succeeded: 6, Canceled: 4},
			never: 1,
		},
		"users that have not started": {
			step: runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 4, RampUp: time.Hour},
			want: runlog.StepEnd{Stop: runlog.StopInterrupted, Attempted: 3, Succeeded: 2, Canceled: 1},
		},
		"a rate": { // due at 0, 1, … 10 s
			step: runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 1},
			want: runlog.StepEnd{Stop: runlog.StopInterrupted, Attempted: 11, Succeeded: 7, Canceled: 4},
		},
		"a queue": {
			step:  runlog.Step{Arrival: runlog.ArrivalBurst, Requests: 5000, MaxConcurrency: 10},
			want:  runlog.StepEnd{Stop: runlog.StopInterrupted, Attempted: 5000, Succeeded: 20, Canceled: 4980},
			never: 4970,
		},
		"a queue, after the time": { // due at 0, 0.5, … 4.5 s
			step:  runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 2, Duration: 5 * time.Second, MaxConcurrency: 1},
			want:  runlog.StepEnd{Stop: runlog.StopInterrupted, Attempted: 10, Succeeded: 2, Canceled: 8},
			never: 7,
		},
		"when all was sent": {
			step: runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 3, Requests: 9},
			want: runlog.StepEnd{Stop: runlog.StopInterrupted, Attempted: 9, Succeeded: 6, Canceled: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// A deadline is told from a request's timeout.
				ctx, cancel := context.WithTimeout(t.Context(), 10400*time.Millisecond)
				defer cancel()
				begin := time.Now()
				r := do(ctx, t, c.step, &prompts{}, &endpoint{takes: always(4 * time.Second)})
				if diff := cmp.Diff(c.want, r.outcome()); diff != "" || r.err != nil {
					t.Errorf("error %v\n%s", r.err, diff)
				}
				if took := time.Since(begin); took != 10400*time.Millisecond {
					t.Errorf("ended after %s", took)
				}
				never := 0
				for _, q := range r.requests {
					if !q.Never {
						continue
					}
					never++
					if q.Trace.Planned.Before(begin) || !q.Trace.Started.IsZero() || q.Trace.Failure.Reason != openai.ReasonCanceled {
						t.Fatalf("withdrawn request: %+v", q)
					}
				}
				if never != c.never {
					t.Errorf("%d requests were withdrawn before they were sent, want %d", never, c.never)
				}
			})
		})
	}
}

func TestInterruptBeforeTheFirstPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		step := runlog.Step{Arrival: runlog.ArrivalBurst, Requests: 10}
		r := do(ctx, t, step, &prompts{pause: time.Hour}, &endpoint{takes: always(time.Second)})
		if diff := cmp.Diff(runlog.StepEnd{Stop: runlog.StopInterrupted}, r.outcome()); diff != "" || r.err != nil {
			t.Errorf("error %v\n%s", r.err, diff)
		}
	})
}

// Prompts that the server must tokenize come one by one: an interrupt must not wait
// for the rest of them, nor send those at hand.
func TestInterruptWhilePromptsAreReadAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		begin := time.Now()
		step := runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 1, Requests: 10}
		r := do(ctx, t, step, &prompts{pause: time.Second}, &endpoint{takes: always(time.Second)})
		if diff := cmp.Diff(runlog.StepEnd{Stop: runlog.StopInterrupted}, r.outcome()); diff != "" || r.err != nil {
			t.Errorf("error %v\n%s", r.err, diff)
		}
		if took := time.Since(begin); took != 3500*time.Millisecond {
			t.Errorf("ended after %s", took)
		}
	})
}

var errBroken = errors.New("line 7: broken")

func TestADatasetThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		step runlog.Step
		fail int
		want runlog.StepEnd
	}{
		"at once, users": {
			step: runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 4, Requests: 100},
			want: runlog.StepEnd{Stop: runlog.StopDataset},
		},
		"at once, a burst": {
			step: runlog.Step{Arrival: runlog.ArrivalBurst, Requests: 100},
			want: runlog.StepEnd{Stop: runlog.StopDataset},
		},
		"later, users": {
			step: runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 4, Requests: 100},
			fail: 10,
			want: runlog.StepEnd{Stop: runlog.StopDataset, Attempted: 10, Succeeded: 10},
		},
		"later, a rate": { // the eleventh is due and has no prompt
			step: runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 1, Requests: 100},
			fail: 10,
			want: runlog.StepEnd{Stop: runlog.StopDataset, Attempted: 11, Succeeded: 10, Canceled: 1},
		},
		"later, a replay": {
			step: runlog.Step{Arrival: runlog.ArrivalReplay},
			fail: 10,
			want: runlog.StepEnd{Stop: runlog.StopDataset, Attempted: 10, Succeeded: 10},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := &prompts{fail: errBroken, after: c.fail}
				r := do(t.Context(), t, c.step, source, &endpoint{takes: always(3 * time.Second)})
				if diff := cmp.Diff(c.want, r.outcome()); diff != "" {
					t.Error(diff)
				}
				if !errors.Is(r.err, errBroken) {
					t.Errorf("error %v", r.err)
				}
			})
		})
	}
}

// A step that is over before it comes to where its data set is broken is none the
// worse for having read that far.
func TestADatasetThatFailsBehindTheLastRequest(t *testing.T) {
	for _, step := range []runlog.Step{
		{Arrival: runlog.ArrivalConstant, Rate: 1, Duration: 4500 * time.Millisecond},
		{Arrival: runlog.ArrivalClosed, Concurrency: 1, Duration: 4500 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := do(t.Context(), t, step, &prompts{fail: errBroken, after: 10}, &endpoint{takes: always(time.Second)})
			if diff := cmp.Diff(runlog.StepEnd{Stop: runlog.StopDuration, Attempted: 5, Succeeded: 5}, r.outcome()); diff != "" || r.err != nil {
				t.Errorf("%s: error %v\n%s", step.Arrival, r.err, diff)
			}
		})
	}
}

func TestTracesThatCannotBeKeptEndTheRun(t *testing.T) {
	for _, step := range []runlog.Step{
		{Arrival: runlog.ArrivalClosed, Concurrency: 8, Requests: 100},
		{Arrival: runlog.ArrivalConstant, Rate: 10, Requests: 100},
		{Arrival: runlog.ArrivalBurst, MaxConcurrency: 3, Requests: 100},
	} {
		t.Run(string(step.Arrival), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				full := errors.New("no space left on device")
				calls := 0
				runner := Runner{
					Send: (&endpoint{takes: func(seq int) time.Duration { return time.Duration(1+seq) * time.Second }}).send,
					Done: func(*runlog.Request) error {
						if calls++; calls == 5 {
							return full
						}
						return nil
					},
				}
				begin := time.Now()
				end, err := runner.Run(t.Context(), Plan{Step: step}, &prompts{})
				if !errors.Is(err, full) || !strings.HasPrefix(err.Error(), "keeping traces: ") {
					t.Errorf("error %v", err)
				}
				if calls != 5 || end.Succeeded != 5 || end.Attempted != 5+end.Canceled || time.Since(begin) > 20*time.Second {
					t.Errorf("after %d calls and %s: %+v", calls, time.Since(begin), end)
				}
			})
		})
	}
}

func TestALostRequestIsTold(t *testing.T) {
	a := account{Meter: new(Meter), failed: make(map[openai.Reason]int)}
	a.attempt()
	a.attempt()
	a.end(nil)
	if err := a.check(); err == nil || !strings.HasPrefix(err.Error(), "accounting: 2 requests") {
		t.Errorf("one of two requests was lost: %v", err)
	}
}

func TestPlansThatCannotBeRun(t *testing.T) {
	for want, step := range map[string]runlog.Step{
		"at least 1":             {Arrival: runlog.ArrivalClosed},
		"number of requests":     {Arrival: runlog.ArrivalBurst},
		"no ramp-up":             {Arrival: runlog.ArrivalReplay, RampUp: time.Second},
		"a rate of 0":            {Arrival: runlog.ArrivalConstant},
		"a burstiness of 0":      {Arrival: runlog.ArrivalGamma, Rate: 1},
		"a failure ratio of 1.5": {Arrival: runlog.ArrivalPoisson, Rate: 1, MaxFailureRatio: 1.5},
		"negative":               {Arrival: runlog.ArrivalPoisson, Rate: 1, Duration: -1},
		`unknown arrival ""`:     {},
	} {
		var source dataset.Source = &prompts{}
		_, err := (&Runner{}).Run(t.Context(), Plan{Step: step}, source)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
