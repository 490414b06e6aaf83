package load

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

func TestRequestsAreSentWhenDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: 20, Requests: 200}
		// Each takes far longer than the gaps: the server must not slow them down.
		r := do(t.Context(), t, step, &prompts{}, &endpoint{takes: always(time.Minute)})
		if diff := cmp.Diff(slices.Collect(offsets(step, 1)), r.starts()); diff != "" {
			t.Error(diff)
		}
		if r.end.Succeeded != 200 || r.end.Stop != runlog.StopRequests || r.err != nil {
			t.Errorf("%+v, error %v", r.end, r.err)
		}
	})
}

func TestABurstWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, bound = 1000, 100
		step := runlog.Step{Arrival: runlog.ArrivalBurst, Requests: n, MaxConcurrency: bound}
		source := &prompts{}
		e := &endpoint{takes: always(time.Second), from: source}
		begin := time.Now()
		r := do(t.Context(), t, step, source, e)
		if took := time.Since(begin); took != 10*time.Second || e.most != bound {
			t.Errorf("took %s with %d at once, want 10s with %d", took, e.most, bound)
		}
		for _, q := range r.requests {
			if want := time.Duration(q.Seq/bound) * time.Second; q.Queued != want || q.Trace.Started.Sub(q.Trace.Planned) != want {
				t.Fatalf("request %d: queued for %s, started after %s, want %s", q.Seq, q.Queued, q.Trace.Started.Sub(q.Trace.Planned), want)
			}
		}
		// A burst of a million must not hold a million prompts.
		if most := bound + readAhead + 2; e.ahead > most {
			t.Errorf("%d prompts were held at once, want at most %d", e.ahead, most)
		}
	})
}

func TestMeterShowsWhatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Meter
		runner := Runner{
			Send:  (&endpoint{takes: always(time.Second)}).send,
			Done:  func(*runlog.Request) error { return nil },
			Meter: &m,
		}
		over := make(chan error)
		go func() {
			step := runlog.Step{Arrival: runlog.ArrivalBurst, Requests: 10, MaxConcurrency: 3}
			_, err := runner.Run(t.Context(), Plan{Step: step}, &prompts{})
			over <- err
		}()
		time.Sleep(1500 * time.Millisecond)
		got := map[string]int64{
			"attempted": m.Attempted.Load(), "queued": m.Queued.Load(),
			"in flight": m.InFlight.Load(), "succeeded": m.Succeeded.Load(),
		}
		want := map[string]int64{"attempted": 10, "queued": 4, "in flight": 3, "succeeded": 3}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

func TestABurstIsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{takes: always(time.Second)}
		do(t.Context(), t, runlog.Step{Arrival: runlog.ArrivalBurst, Requests: 1000}, &prompts{}, e)
		if e.most != 1000 {
			t.Errorf("%d at once, want 1000", e.most)
		}
	})
}

// A client that is late sends late, and says so: a load that is left out, or
// planned anew, would hide what it did to the server.
func TestALateClientDropsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, gap = readAhead + 100, time.Millisecond
		step := runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 1000, Requests: n}
		r := do(t.Context(), t, step, &prompts{pause: time.Second, quick: readAhead}, &endpoint{takes: always(time.Second)})
		for _, q := range r.requests {
			if got, want := q.Trace.Planned.Sub(r.requests[0].Trace.Planned), time.Duration(q.Seq)*gap; got != want {
				t.Fatalf("request %d was planned for %s, want %s", q.Seq, got, want)
			}
			made := time.Duration(q.Seq-readAhead+1) * time.Second
			if got, want := q.Trace.Started.Sub(q.Trace.Planned), max(0, made-time.Duration(q.Seq)*gap); got != want || q.Queued != 0 {
				t.Fatalf("request %d: late by %s, queued for %s, want %s and 0s", q.Seq, got, q.Queued, want)
			}
		}
		if r.end.Succeeded != n {
			t.Errorf("%+v", r.end)
		}
	})
}

// Where the server must tokenize every prompt, the first ones are made before the
// clock starts: requests must be as punctual as without.
func TestPromptsAreMadeBeforeTheClockStarts(t *testing.T) {
	for name, c := range map[string]struct {
		requests int
		source   *prompts
		made     int // before the first request
	}{
		"all there are to be":         {requests: 20, source: &prompts{}, made: 20},
		"as many as may be held":      {requests: readAhead + 20, source: &prompts{}, made: readAhead},
		"all that a replay has":       {source: &prompts{at: make([]time.Duration, 7)}, made: 7},
		"all before the source fails": {requests: 20, source: &prompts{fail: errBroken, after: 5}, made: 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				step := runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 0.5, Requests: c.requests}
				if c.source.at != nil {
					step = runlog.Step{Arrival: runlog.ArrivalReplay}
				}
				c.source.pause = time.Second
				took := time.Duration(c.made) * time.Second
				if c.made < readAhead && c.made != c.requests {
					took += time.Second // the end of the source takes as long
				}
				begin := time.Now()
				r := do(t.Context(), t, step, c.source, &endpoint{takes: always(time.Second)})
				if got := r.requests[0].Trace.Planned.Sub(begin); got != took {
					t.Errorf("the clock started after %s, want %s", got, took)
				}
				for _, q := range r.requests {
					if late := q.Trace.Started.Sub(q.Trace.Planned); late != 0 && !q.Never {
						t.Errorf("request %d was %s late", q.Seq, late)
					}
				}
			})
		})
	}
}

// Places become free at the very instants at which requests are due.
func TestQueueingIsNotLateness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 4, Requests: 100, MaxConcurrency: 2}
		r := do(t.Context(), t, step, &prompts{}, &endpoint{takes: always(time.Second)})
		for _, q := range r.requests {
			if wait := q.Trace.Started.Sub(q.Trace.Planned); wait != q.Queued {
				t.Errorf("request %d started after %s, but queued for %s", q.Seq, wait, q.Queued)
			}
		}
		if last := r.requests[99]; last.Queued < 20*time.Second {
			t.Errorf("the last request queued for %s behind 50 s of work due in 25", last.Queued)
		}
	})
}

// What waits for a prompt while there is room does not wait for the bound.
func TestLatenessIsNotQueueing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := runlog.Step{Arrival: runlog.ArrivalBurst, Requests: readAhead + 3, MaxConcurrency: readAhead + 100}
		r := do(t.Context(), t, step, &prompts{pause: time.Second, quick: readAhead}, &endpoint{takes: always(time.Minute)})
		for _, q := range r.requests {
			if q.Queued != 0 {
				t.Errorf("request %d is said to have queued for %s", q.Seq, q.Queued)
			}
		}
	})
}

func TestReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := []time.Duration{0, 0, time.Second, 90 * time.Second}
		step := runlog.Step{Arrival: runlog.ArrivalReplay}
		r := do(t.Context(), t, step, &prompts{at: at}, &endpoint{takes: always(10 * time.Second)})
		if diff := cmp.Diff(at, r.starts()); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(runlog.StepEnd{Stop: runlog.StopDataset, Attempted: 4, Succeeded: 4}, r.outcome()); diff != "" || r.err != nil {
			t.Errorf("error %v\n%s", r.err, diff)
		}
	})
}

func TestAReplayUnderABoundHoldsFewPrompts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &prompts{at: make([]time.Duration, 5000)}
		e := &endpoint{takes: always(time.Second), from: source}
		step := runlog.Step{Arrival: runlog.ArrivalReplay, MaxConcurrency: 50}
		r := do(t.Context(), t, step, source, e)
		if r.end.Succeeded != 5000 || e.most != 50 || r.end.Stop != runlog.StopDataset {
			t.Errorf("%d at once, %+v", e.most, r.end)
		}
		if most := maxBacklog + readAhead + announced + 60; e.ahead > most {
			t.Errorf("%d prompts were held at once, want at most %d", e.ahead, most)
		}
	})
}

func TestAReplayOfSoManyRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &prompts{at: make([]time.Duration, 10)}
		step := runlog.Step{Arrival: runlog.ArrivalReplay, Requests: 3}
		r := do(t.Context(), t, step, source, &endpoint{takes: always(time.Second)})
		if diff := cmp.Diff(runlog.StepEnd{Stop: runlog.StopRequests, Attempted: 3, Succeeded: 3}, r.outcome()); diff != "" {
			t.Error(diff)
		}
	})
}
