package load

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// from is an endpoint that fails in turn for these reasons, "" for a success, from
// the request on.
func from(seq int, reasons ...openai.Reason) func(int) openai.Reason {
	return func(n int) openai.Reason {
		if n < seq {
			return ""
		}
		return reasons[(n-seq)%len(reasons)]
	}
}

// row repeats a reason n times, with another at its end.
func row(n int, reason, last openai.Reason) []openai.Reason {
	var reasons []openai.Reason
	for range n {
		reasons = append(reasons, reason)
	}
	return append(reasons, last)
}

func TestUnreachable(t *testing.T) {
	const dns, connect, tls, busy = openai.ReasonDNS, openai.ReasonConnect, openai.ReasonTLS, openai.ReasonHTTP5xx
	type failed = map[openai.Reason]int
	for name, c := range map[string]struct {
		step  runlog.Step
		fails func(int) openai.Reason
		want  runlog.StepEnd
	}{
		"from the start": {
			step:  runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 1, Requests: 1000},
			fails: from(0, connect),
			want:  runlog.StepEnd{Stop: runlog.StopUnreachable, Failed: failed{connect: 20}},
		},
		"in mid-run": {
			step:  runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 50, Requests: 10000},
			fails: from(500, connect),
			want:  runlog.StepEnd{Stop: runlog.StopUnreachable, Succeeded: 500, Failed: failed{connect: 100}},
		},
		"with the last request": {
			step:  runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 1, Requests: 20},
			fails: from(0, connect),
			want:  runlog.StepEnd{Stop: runlog.StopUnreachable, Failed: failed{connect: 20}},
		},
		"for different reasons": {
			step:  runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 1},
			fails: from(10, dns, connect, tls, connect),
			want:  runlog.StepEnd{Stop: runlog.StopUnreachable, Succeeded: 10, Failed: failed{dns: 5, connect: 10, tls: 5}},
		},
		"a rate under a bound": {
			step:  runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: 10, MaxConcurrency: 15},
			fails: from(0, connect),
			want:  runlog.StepEnd{Stop: runlog.StopUnreachable, Failed: failed{connect: 30}},
		},
		"sooner than a failure ratio is told": {
			step:  runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 1, Requests: 1000, MaxFailureRatio: 0.5},
			fails: from(0, connect),
			want:  runlog.StepEnd{Stop: runlog.StopUnreachable, Failed: failed{connect: 20}},
		},
		"not with a success in between": {
			step:  runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 1, Requests: 100},
			fails: from(0, row(19, connect, "")...),
			want:  runlog.StepEnd{Stop: runlog.StopRequests, Succeeded: 5, Failed: failed{connect: 95}},
		},
		"not when the server answers that it cannot": {
			step:  runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 1, Requests: 100},
			fails: from(0, row(19, connect, busy)...),
			want:  runlog.StepEnd{Stop: runlog.StopRequests, Failed: failed{connect: 95, busy: 5}},
		},
		"not for what is lost on the way": {
			step:  runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 10, Requests: 100},
			fails: from(0, openai.ReasonTruncated, openai.ReasonTimeoutFirstToken, openai.ReasonProtocol, busy),
			want: runlog.StepEnd{Stop: runlog.StopRequests, Failed: failed{
				openai.ReasonTruncated: 25, openai.ReasonTimeoutFirstToken: 25, openai.ReasonProtocol: 25, busy: 25,
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := do(t.Context(), t, c.step, &prompts{}, &endpoint{takes: always(time.Millisecond), fails: c.fails})
				got := r.outcome()
				if inFlight := max(c.step.Concurrency, c.step.MaxConcurrency, 1); got.Canceled > inFlight {
					t.Errorf("%d requests were canceled, of %d in flight at most", got.Canceled, inFlight)
				}
				got.Attempted, got.Canceled = 0, 0 // do has seen to the sum
				if diff := cmp.Diff(c.want, got); diff != "" || r.err != nil {
					t.Errorf("error %v\n%s", r.err, diff)
				}
			})
		})
	}
}

// Refused at once, requests would be used up before anybody could look.
func TestUnreachableSavesRequests(t *testing.T) {
	for _, step := range []runlog.Step{
		{Arrival: runlog.ArrivalClosed, Concurrency: 16, Requests: 1e5},
		{Arrival: runlog.ArrivalBurst, MaxConcurrency: 16, Requests: 1e5},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := do(t.Context(), t, step, &prompts{}, &endpoint{takes: always(0), fails: from(0, openai.ReasonConnect)})
			// Those that ended while the first were still being counted are added.
			if n := r.end.Failed[openai.ReasonConnect]; n < 32 || n > 1000 || r.end.Stop != runlog.StopUnreachable {
				t.Errorf("%s: %d failed, %+v", step.Arrival, n, r.end.Stop)
			}
		})
	}
}

// What still streams from a server that takes no more requests is given up too.
func TestUnreachableWithdrawsWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{
			takes: func(seq int) time.Duration {
				if seq < 5 {
					return time.Hour
				}
				return 0
			},
			fails: from(5, openai.ReasonConnect),
		}
		begin := time.Now()
		r := do(t.Context(), t, runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 10, Requests: 1000}, &prompts{}, e)
		if r.end.Stop != runlog.StopUnreachable || time.Since(begin) > time.Second {
			t.Errorf("%+v after %s", r.end, time.Since(begin))
		}
		if f := r.requests[0].Trace.Failure; f == nil || f.Detail != errUnreachable.Error() {
			t.Errorf("the first request, in flight then, ended with: %v", f)
		}
	})
}
