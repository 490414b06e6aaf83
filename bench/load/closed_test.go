package load

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// In evalscope-perf 0.5.5 each of these failures would have cost a worker and its
// requests.
func TestFailuresCostNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hung, users, requests = 12, 16, 200
		const timeout, answer = 120 * time.Second, time.Second
		e := &endpoint{
			takes: func(seq int) time.Duration {
				if seq < hung {
					return timeout
				}
				return answer
			},
			fails: func(seq int) openai.Reason {
				if seq < hung {
					return openai.ReasonTimeoutFirstToken
				}
				return ""
			},
		}
		step := runlog.Step{Index: 3, Arrival: runlog.ArrivalClosed, Concurrency: users, Requests: requests}
		r := do(t.Context(), t, step, &prompts{}, e)
		want := runlog.StepEnd{
			Step: 3, Stop: runlog.StopRequests,
			Attempted: requests, Succeeded: requests - hung,
			Failed: map[openai.Reason]int{openai.ReasonTimeoutFirstToken: hung},
		}
		if diff := cmp.Diff(want, r.outcome()); diff != "" || r.err != nil {
			t.Errorf("error %v\n%s", r.err, diff)
		}
		if r.end.Dataset.Prompts != requests {
			t.Errorf("%d prompts were used, want %d", r.end.Dataset.Prompts, requests)
		}
	})
}

func TestUsersLiveOnAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users = 16
		e := &endpoint{
			takes: always(time.Second),
			fails: func(seq int) openai.Reason {
				if seq < users {
					return openai.ReasonConnect
				}
				return ""
			},
		}
		step := runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: users, Requests: 10 * users}
		begin := time.Now()
		r := do(t.Context(), t, step, &prompts{}, e)
		if took := time.Since(begin); took != 10*time.Second || e.most != users {
			t.Errorf("%d users took %s for 10 requests of 1 s each", e.most, took)
		}
		for _, q := range r.requests {
			if q.Trace.Started != q.Trace.Planned {
				t.Fatalf("request %d waited %s for its user", q.Seq, q.Trace.Started.Sub(q.Trace.Planned))
			}
		}
	})
}

func TestUsersStartOverTheRamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 4, Requests: 6, RampUp: 2 * time.Second}
		e := &endpoint{takes: always(1200 * time.Millisecond)}
		r := do(t.Context(), t, step, &prompts{}, e)
		const ms = time.Millisecond
		want := []time.Duration{0, 500 * ms, 1000 * ms, 1200 * ms, 1500 * ms, 1700 * ms}
		if diff := cmp.Diff(want, r.starts()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestARampDoesNotOutlastTheRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 10, Requests: 2, RampUp: time.Hour}
		begin := time.Now()
		do(t.Context(), t, step, &prompts{}, &endpoint{takes: always(time.Second)})
		if took := time.Since(begin); took != 2*time.Second {
			t.Errorf("two requests of a second each took %s", took)
		}
	})
}

// Users who would find nothing to send are not started: they would be without end.
func TestMoreUsersThanRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: math.MaxInt, Requests: 4}
		e := &endpoint{takes: always(time.Second)}
		r := do(t.Context(), t, step, &prompts{}, e)
		if e.most != 4 || r.end.Succeeded != 4 || r.end.Stop != runlog.StopRequests {
			t.Errorf("%d at once, %+v", e.most, r.end)
		}
	})
}

func TestUsersQueueUnderABound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 4, MaxConcurrency: 2, Requests: 8}
		e := &endpoint{takes: always(time.Second)}
		r := do(t.Context(), t, step, &prompts{}, e)
		if e.most != 2 || r.end.Succeeded != 8 || r.end.Stop != runlog.StopRequests {
			t.Errorf("%d at once, %+v", e.most, r.end)
		}
		var queued []time.Duration
		for _, q := range r.requests {
			queued = append(queued, q.Queued)
			if late := q.Trace.Started.Sub(q.Trace.Planned) - q.Queued; late != 0 {
				t.Errorf("request %d was %s late beside its %s in the queue", q.Seq, late, q.Queued)
			}
		}
		slices.Sort(queued)
		const s = time.Second
		if diff := cmp.Diff([]time.Duration{0, 0, s, s, s, s, s, s}, queued); diff != "" {
			t.Error(diff)
		}
	})
}

func TestASlowDatasetDelaysUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: readAhead + 2, Requests: readAhead + 2}
		r := do(t.Context(), t, step, &prompts{pause: time.Second}, &endpoint{takes: always(time.Minute)})
		// The clock starts when so many prompts were read ahead; that the others were
		// late is the client's own delay.
		want := []time.Duration{0, time.Second, 2 * time.Second}
		if diff := cmp.Diff(want, r.starts()[readAhead-1:]); diff != "" {
			t.Error(diff)
		}
	})
}

func TestThousandsOfUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const users = 5000
		step := runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: users, Requests: 2 * users}
		e := &endpoint{takes: always(time.Second)}
		r := do(t.Context(), t, step, &prompts{}, e)
		if e.most != users || r.end.Succeeded != 2*users {
			t.Errorf("%d at once, %d succeeded", e.most, r.end.Succeeded)
		}
	})
}
