package load

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
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
			want: runlog.StepEnd{Stop: runlog.StopDuration, Account: runlog.Account{Attempted: 8, Succeeded: 8}},
			took: 12 * time.Second,
		},
		"a rate has none at the end itself": {
			step: runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 2},
			want: runlog.StepEnd{Stop: runlog.StopDuration, Account: runlog.Account{Attempted: 20, Succeeded: 20}},
			took: 9500*time.Millisecond + 3*time.Second,
		},
		"a lone request does not end the step early": {
			step: runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: 0.01},
			want: runlog.StepEnd{Stop: runlog.StopDuration, Account: runlog.Account{Attempted: 1, Succeeded: 1}},
			took: 10 * time.Second,
		},
		"what was due waits for its turn": {
			step: runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 2, MaxConcurrency: 1},
			want: runlog.StepEnd{Stop: runlog.StopDuration, Account: runlog.Account{Attempted: 20, Succeeded: 20}},
			took: 60 * time.Second,
		},
		"all requests are due in time, and sent after it": {
			step: runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 2, MaxConcurrency: 1, Requests: 10},
			want: runlog.StepEnd{Stop: runlog.StopRequests, Account: runlog.Account{Attempted: 10, Succeeded: 10}},
			took: 30 * time.Second,
		},
		"a burst is due at once": {
			step: runlog.Step{Arrival: runlog.ArrivalBurst, Requests: 10, MaxConcurrency: 2},
			want: runlog.StepEnd{Stop: runlog.StopRequests, Account: runlog.Account{Attempted: 10, Succeeded: 10}},
			took: 15 * time.Second,
		},
		"all requests before the end of time": {
			step: runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 2, Requests: 4},
			want: runlog.StepEnd{Stop: runlog.StopRequests, Account: runlog.Account{Attempted: 4, Succeeded: 4}},
			took: 6 * time.Second,
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			c.step.Duration = 10 * time.Second
			r := do(t.Context(), t, c.step, &prompts{}, &standIn{takes: always(3 * time.Second)})
			if diff := cmp.Diff(c.want, r.account()); diff != "" || r.err != nil || r.took != c.took {
				t.Errorf("error %v, took %s, want %s\n%s", r.err, r.took, c.took, diff)
			}
			// Load that comes faster than the server takes it must show as queueing.
			if last := r.requests[len(r.requests)-1]; name == "what was due waits for its turn" && last.Queued != 19*2500*time.Millisecond {
				t.Errorf("the last request queued for %s", last.Queued)
			}
		})
	}
}

// failing is a model that fails from a request to another.
func failing(reason openai.Reason, from, to int) func(int) openai.Reason {
	return func(seq int) openai.Reason {
		if seq >= from && seq < to {
			return reason
		}
		return ""
	}
}

// inTurn is a model that fails with these reasons in turn, "" for a success.
func inTurn(reasons ...openai.Reason) func(int) openai.Reason {
	return func(seq int) openai.Reason { return reasons[seq%len(reasons)] }
}

func TestFailuresThatEndAStep(t *testing.T) {
	const dns, connect, tls, busy = openai.ReasonDNS, openai.ReasonConnect, openai.ReasonTLS, openai.ReasonHTTP5xx
	type failed = map[openai.Reason]int
	one := runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 1, Requests: 100}
	half := one
	half.MaxFailureRatio = 0.5
	for name, c := range map[string]struct {
		step  runlog.Step
		fails func(int) openai.Reason
		want  runlog.StepEnd
	}{
		"not before 20 are over": {half, failing(busy, 0, 100), runlog.StepEnd{Stop: runlog.StopFailureRatio, Account: runlog.Account{Failed: failed{busy: 20}}}},
		"a first round that fails is outvoted": {
			runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 50, Requests: 1000, MaxFailureRatio: 0.5},
			failing(busy, 0, 50),
			runlog.StepEnd{Stop: runlog.StopRequests, Account: runlog.Account{Succeeded: 950, Failed: failed{busy: 50}}},
		},
		"just the ratio is allowed": {half, failing(busy, 50, 100), runlog.StepEnd{Stop: runlog.StopRequests, Account: runlog.Account{Succeeded: 50, Failed: failed{busy: 50}}}},
		"while what was due is sent after the time": {
			runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 100, Duration: time.Second, MaxConcurrency: 1, MaxFailureRatio: 0.5},
			failing(busy, 0, 100),
			runlog.StepEnd{Stop: runlog.StopFailureRatio, Account: runlog.Account{Failed: failed{busy: 20}}},
		},
		"judged at the end of a short step": {
			runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 8, Requests: 8, MaxFailureRatio: 0.5},
			failing(busy, 0, 5),
			runlog.StepEnd{Stop: runlog.StopFailureRatio, Account: runlog.Account{Succeeded: 3, Failed: failed{busy: 5}}},
		},
		"none without a limit": {one, failing(busy, 0, 100), runlog.StepEnd{Stop: runlog.StopRequests, Account: runlog.Account{Failed: failed{busy: 100}}}},

		"unreachable from the start": {half, failing(connect, 0, 100), runlog.StepEnd{Stop: runlog.StopUnreachable, Account: runlog.Account{Failed: failed{connect: 20}}}},
		"unreachable in mid-run": {
			runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 50, RampUp: time.Second, Requests: 10000},
			failing(connect, 500, 10000),
			runlog.StepEnd{Stop: runlog.StopUnreachable, Account: runlog.Account{Succeeded: 500, Failed: failed{connect: 201}}},
		},
		"unreachable for different reasons": {
			runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 0.1},
			inTurn(dns, connect, tls, connect),
			runlog.StepEnd{Stop: runlog.StopUnreachable, Account: runlog.Account{Failed: failed{dns: 5, connect: 10, tls: 5}}},
		},
		"unreachable, a rate under a bound": {
			runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: 0.1, MaxConcurrency: 15},
			failing(connect, 0, 100),
			runlog.StepEnd{Stop: runlog.StopUnreachable, Account: runlog.Account{Failed: failed{connect: 20}}},
		},
		"reached now and then": {
			one, inTurn(append(slices.Repeat([]openai.Reason{connect}, 18), "", busy)...),
			runlog.StepEnd{Stop: runlog.StopRequests, Account: runlog.Account{Succeeded: 5, Failed: failed{connect: 90, busy: 5}}},
		},
		"lost on the way": {
			one, inTurn(openai.ReasonTruncated, openai.ReasonTimeoutFirstToken),
			runlog.StepEnd{Stop: runlog.StopRequests, Account: runlog.Account{Failed: failed{openai.ReasonTruncated: 50, openai.ReasonTimeoutFirstToken: 50}}},
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			r := do(t.Context(), t, c.step, &prompts{}, &standIn{takes: always(time.Second), fails: c.fails})
			got := r.account()
			if inFlight := max(c.step.Concurrency, c.step.MaxConcurrency, 1); c.step.Duration == 0 && got.Canceled > inFlight {
				t.Errorf("%d requests were canceled, of %d in flight at most", got.Canceled, inFlight)
			}
			got.Attempted, got.Canceled = 0, 0 // do has seen to the sum
			if diff := cmp.Diff(c.want, got); diff != "" || r.err != nil {
				t.Errorf("error %v\n%s", r.err, diff)
			}
		})
	}
}

// A moment of refusals, as while a gateway reloads or while this machine is out of files, is no end: what
// streams goes on, and so does the load.
func TestAMomentOfRefusals(t *testing.T) {
	refused := failing(openai.ReasonConnect, 300, 500)
	for name, c := range map[string]struct {
		step     runlog.Step
		received time.Duration // how long ago bytes were last received
		fails    func(int) openai.Reason
		want     runlog.Stop
	}{
		"a rate":                        {runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 1000, Requests: 1000}, time.Hour, refused, runlog.StopRequests},
		"users":                         {runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 300, Requests: 1000}, time.Hour, refused, runlog.StopRequests},
		"streams go on":                 {runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 10, Requests: 200}, time.Second, failing(openai.ReasonConnect, 20, 200), runlog.StopRequests},
		"nothing for long":              {runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 10, Requests: 200}, time.Hour, failing(openai.ReasonConnect, 20, 200), runlog.StopUnreachable},
		"refused, and nobody was there": {runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 20, Duration: time.Hour}, time.Hour, failing(openai.ReasonConnect, 0, 1e9), runlog.StopUnreachable},
	} {
		inBubble(t, name, func(t *testing.T) {
			m := &standIn{fails: c.fails, takes: func(seq int) time.Duration {
				if c.fails(seq) != "" {
					return time.Millisecond
				}
				return 20 * time.Second
			}}
			r := newStep(m.send, func(*runlog.Request) error { return nil })
			r.lastReceived = func() time.Time { return time.Now().Add(-c.received) }
			end, err := r.run(t.Context(), c.step, &prompts{})
			if err != nil || end.Stop != c.want || c.want == runlog.StopRequests && end.Canceled > 0 {
				t.Errorf("%+v, error %v", end, err)
			}
			if end.Attempted > 1000 {
				t.Errorf("%d requests were used up", end.Attempted)
			}
		})
	}
}

// What still streams is given up too.
func TestFailuresWithdrawWhatIsInFlight(t *testing.T) {
	for reason, want := range map[openai.Reason]runlog.Stop{openai.ReasonConnect: runlog.StopUnreachable, openai.ReasonHTTP5xx: runlog.StopFailureRatio} {
		synctest.Test(t, func(t *testing.T) {
			m := &standIn{fails: failing(reason, 5, 1000), takes: firstTake(5, time.Hour)}
			step := runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 10, Requests: 1000, MaxFailureRatio: 0.1}
			if reason == openai.ReasonConnect {
				step.MaxFailureRatio = 0
			}
			r := do(t.Context(), t, step, &prompts{}, m)
			if f := r.requests[0].Trace.Failure; f == nil || f.Detail != stopError(want).Error() || r.took > 10*time.Second {
				t.Errorf("the first request, in flight then, ended with %v; the step after %s", f, r.took)
			}
		})
	}
}

func TestInterrupt(t *testing.T) {
	for name, c := range map[string]struct {
		step   runlog.Step
		source *prompts
		want   runlog.StepEnd
		never  int
	}{
		"users": {
			step: runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 4, Requests: 1000},
			want: runlog.StepEnd{Account: runlog.Account{Attempted: 12, Succeeded: 8, Canceled: 4}},
		},
		"users that have not started": {
			step: runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 4, RampUp: time.Hour},
			want: runlog.StepEnd{Account: runlog.Account{Attempted: 3, Succeeded: 2, Canceled: 1}},
		},
		"a rate": { // due at 0, 1, … 10 s
			step: runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 1},
			want: runlog.StepEnd{Account: runlog.Account{Attempted: 11, Succeeded: 7, Canceled: 4}},
		},
		"a queue": {
			step:  runlog.Step{Arrival: runlog.ArrivalBurst, Requests: 5000, MaxConcurrency: 10},
			want:  runlog.StepEnd{Account: runlog.Account{Attempted: 5000, Succeeded: 20, Canceled: 4980}},
			never: 4970,
		},
		"a queue, after the time": { // due at 0, 0.5, … 4.5 s
			step:  runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 2, Duration: 5 * time.Second, MaxConcurrency: 1},
			want:  runlog.StepEnd{Account: runlog.Account{Attempted: 10, Succeeded: 2, Canceled: 8}},
			never: 7,
		},
		"when all was sent": {
			step: runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 3, Requests: 9},
			want: runlog.StepEnd{Account: runlog.Account{Attempted: 9, Succeeded: 6, Canceled: 3}},
		},
		"while prompts are made": {
			step:   runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 1, Requests: 20},
			source: &prompts{pause: time.Second},
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			// A deadline is told from a request's timeout.
			ctx, cancel := context.WithTimeout(t.Context(), 10400*time.Millisecond)
			defer cancel()
			begin := time.Now()
			if c.source == nil {
				c.source = &prompts{}
			}
			r := do(ctx, t, c.step, c.source, &standIn{takes: always(4 * time.Second)})
			c.want.Stop = runlog.StopInterrupted
			if diff := cmp.Diff(c.want, r.account()); diff != "" || r.err != nil || r.took != 10400*time.Millisecond {
				t.Errorf("error %v after %s\n%s", r.err, r.took, diff)
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
	}
}

var errBroken = errors.New("line 7: broken")

func TestADatasetThatFails(t *testing.T) {
	users := runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 4, Requests: 100}
	for name, c := range map[string]struct {
		step runlog.Step
		fail int
		want runlog.StepEnd
	}{
		"at once, users":   {users, 0, runlog.StepEnd{}},
		"at once, a burst": {runlog.Step{Arrival: runlog.ArrivalBurst, Requests: 100}, 0, runlog.StepEnd{}},
		"later, users":     {users, 10, runlog.StepEnd{Account: runlog.Account{Attempted: 10, Succeeded: 10}}},
		"later, a rate": {
			runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 1, Requests: 100}, 10, runlog.StepEnd{Account: runlog.Account{Attempted: 10, Succeeded: 10}},
		},
		"later, a replay": {runlog.Step{Arrival: runlog.ArrivalReplay}, 10, runlog.StepEnd{Account: runlog.Account{Attempted: 10, Succeeded: 10}}},
	} {
		inBubble(t, name, func(t *testing.T) {
			source := &prompts{fail: errBroken, after: c.fail, pause: time.Second}
			r := do(t.Context(), t, c.step, source, &standIn{takes: always(30 * time.Second)})
			c.want.Stop = runlog.StopDataset
			if diff := cmp.Diff(c.want, r.account()); diff != "" || !errors.Is(r.err, errBroken) {
				t.Errorf("error %v\n%s", r.err, diff)
			}
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
			r := do(t.Context(), t, step, &prompts{fail: errBroken, after: 10}, &standIn{takes: always(time.Second)})
			if diff := cmp.Diff(runlog.StepEnd{Stop: runlog.StopDuration, Account: runlog.Account{Attempted: 5, Succeeded: 5}}, r.account()); diff != "" || r.err != nil {
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
		synctest.Test(t, func(t *testing.T) {
			full := errors.New("keeping traces: no space left on device")
			calls := 0
			var sent atomic.Int64 // in whatever order they get a turn
			send := (&standIn{takes: func(int) time.Duration { return time.Duration(sent.Add(1)) * time.Second }}).send
			r := newStep(send, func(*runlog.Request) error {
				if calls++; calls == 5 {
					return full
				}
				return nil
			})
			begin := time.Now()
			end, err := r.run(t.Context(), step, &prompts{})
			if err == nil || err.Error() != full.Error() {
				t.Errorf("error %v, want %v", err, full)
			}
			if calls != 5 || end.Succeeded != 5 || end.Attempted != 5+end.Canceled || time.Since(begin) > 20*time.Second {
				t.Errorf("%s: after %d calls and %s: %+v", step.Arrival, calls, time.Since(begin), end)
			}
		})
	}
}

func TestLostRequest(t *testing.T) {
	s := newStep(nil, nil)
	s.inFlight, s.sending = t.Context(), t.Context()
	s.meter.Attempted.Store(2)
	s.count(&runlog.Request{})
	if _, err := s.end(); err == nil || !strings.HasPrefix(err.Error(), "accounting: 2 requests") {
		t.Errorf("one of two requests was lost: %v", err)
	}
}
