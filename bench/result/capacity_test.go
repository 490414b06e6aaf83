package result

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/capacity"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// searchLog is the log of a search for users whose TTFT p90 is at most 100 ms.
func searchLog() *memlog {
	log := newMemlog("a")
	log.run.Capacity = &runlog.Capacity{
		Variable: runlog.VariableConcurrency, From: 1, To: 8, Precision: 0.05, Repeat: 3,
		Objectives: []runlog.Limit{{Name: "ttft", Percentile: 90, Limit: 0.1}, {Name: runlog.LimitFailures, Limit: 0.01}},
	}
	return log
}

// level adds a step of so many users, one run after the other, with one TTFT for all.
func (l *memlog) level(users int, ttft time.Duration, change ...func(*runlog.Step, []runlog.Request)) *memlog {
	s := closed(users, 20*users)
	for _, r := range l.records {
		if r.Step != nil {
			s.Index++
			s.Repeat += map[bool]int{true: 1}[r.Step.Concurrency == users]
		}
	}
	requests := closedLoop(users, 20*users, func(_ int, start time.Duration) runlog.Request {
		return answered(start, 10, 3, ttft, ttft+20*time.Millisecond, ttft+40*time.Millisecond)
	})
	for _, c := range change {
		c(&s, requests)
	}
	l.begin(s, requests)
	l.end(s, requests, runlog.StopRequests)
	return l
}

func failing(share int) func(*runlog.Step, []runlog.Request) {
	return func(_ *runlog.Step, requests []runlog.Request) {
		for i := range requests {
			if i%share == share-1 {
				requests[i].Trace.Failure = &openai.Failure{Reason: openai.ReasonHTTP5xx}
			}
		}
	}
}

// gone is a server that cannot be reached any more at the end of a step.
func gone(_ *runlog.Step, requests []runlog.Request) {
	for i := range requests[15:] {
		requests[15+i].Trace.Failure = &openai.Failure{Reason: openai.ReasonConnect}
	}
}

// cut is a server that ends while it answers the last requests of a step.
func cut(_ *runlog.Step, requests []runlog.Request) {
	for i := range requests[len(requests)-2:] {
		requests[len(requests)-2+i].Trace.Failure = &openai.Failure{Reason: openai.ReasonTruncated}
	}
}

// silent is a server that hangs after so many requests of a step.
func silent(after int) func(*runlog.Step, []runlog.Request) {
	return func(_ *runlog.Step, requests []runlog.Request) {
		for i := after; i < len(requests); i++ {
			r := &requests[i].Trace
			*r = failed(r.Started.Sub(noon), r.End, openai.ReasonTimeoutFirstToken).Trace
		}
	}
}

// slow has instants of the load generator's own, which read late.
func slow(_ *runlog.Step, requests []runlog.Request) {
	for i := range requests {
		requests[i].Trace.Clock, requests[i].Trace.Lags = openai.ClockUser, []time.Duration{5 * time.Millisecond}
	}
}

// lags are read late, while the instants are the kernel's.
func lags(late ...time.Duration) func(*runlog.Step, []runlog.Request) {
	return func(_ *runlog.Step, requests []runlog.Request) {
		for i := range requests {
			requests[i].Trace.Lags = late
		}
	}
}

// tooFew is a step that is over before it is steady.
func tooFew(_ *runlog.Step, requests []runlog.Request) {
	for i := range requests {
		requests[i].Trace.Started = at(0) // all at once, so none is sent at the level
	}
}

// pausing are users who wait before each request, as they do where the load generator has
// no time for them.
func pausing(pause time.Duration) func(*runlog.Step, []runlog.Request) {
	return func(s *runlog.Step, requests []runlog.Request) {
		for i := range requests {
			t := &requests[i].Trace
			t.Started = t.Started.Add(time.Duration(i/s.Concurrency) * pause)
			t.Planned = t.Started
		}
	}
}

func TestCapacity(t *testing.T) {
	const ms = time.Millisecond
	type answer struct {
		Value, FailedAt, VoidAt float64
		Done, AtLeast           bool
		Binding                 string
		Next                    float64 // 0 for none
		Why                     string  // of the last level, a part
	}
	for name, c := range map[string]struct {
		log  *memlog
		want answer
	}{
		"the edge": {
			searchLog().level(1, 20*ms).level(2, 40*ms).level(4, 150*ms).level(3, 60*ms).level(4, 151*ms),
			answer{Value: 3, FailedAt: 4, Done: true, Binding: "ttft"},
		},
		"cut short":        {searchLog().level(1, 20*ms).level(2, 40*ms).level(4, 150*ms), answer{Value: 2, FailedAt: 4, AtLeast: true, Binding: "ttft", Next: 3}},
		"all meet":         {searchLog().level(1, 20*ms).level(2, 20*ms).level(4, 20*ms).level(8, 20*ms), answer{Value: 8, Done: true, AtLeast: true}},
		"the lowest":       {searchLog().level(1, 200*ms), answer{FailedAt: 1, Done: true, Binding: "ttft"}},
		"failures":         {searchLog().level(1, 20*ms, failing(4)), answer{FailedAt: 1, Done: true, Binding: "failures"}},
		"nothing succeeds": {searchLog().level(1, 20*ms, failing(1)), answer{FailedAt: 1, Done: true, Binding: "failures"}},
		"near the edge":    {searchLog().level(1, 97*ms), answer{Next: 1}},
		"near, and again":  {searchLog().level(1, 97*ms).level(1, 97*ms), answer{Value: 1, AtLeast: true, Next: 2}},
		"near and over":    {searchLog().level(1, 97*ms).level(1, 103*ms).level(1, 104*ms), answer{FailedAt: 1, Done: true, Binding: "ttft"}},
		"the client": {
			searchLog().level(1, 20*ms).level(2, 20*ms, slow).level(2, 20*ms, slow).level(2, 20*ms, slow),
			answer{Value: 1, VoidAt: 2, Done: true, AtLeast: true, Why: "the load generator was the limit: it read what had arrived 5.0 ms late (p99), and took its own time for that of the arrival"},
		},
		"the client, a late reader":      {searchLog().level(1, 20*ms).level(2, 20*ms, lags(4*ms)), answer{Value: 1, AtLeast: true, Next: 2, Why: "it read the ends of answers 4.0 ms late on the mean"}},
		"the client, late at the end":    {searchLog().level(1, 20*ms).level(2, 20*ms, lags(0, 0, 0, 4*ms)), answer{Value: 1, AtLeast: true, Next: 2, Why: "it read the ends of answers 4.0 ms late on the mean"}},
		"the client, late in the middle": {searchLog().level(1, 20*ms).level(2, 20*ms, lags(8*ms, 8*ms, 0)), answer{Value: 2, AtLeast: true, Next: 4}},
		// The kernel's time stamps keep this out of the latencies, and it is 2 ms of 60.
		"a delay that is in no figure": {searchLog().level(1, 20*ms).level(2, 20*ms, lags(2*ms)), answer{Value: 2, AtLeast: true, Next: 4}},
		"the client, once":             {searchLog().level(1, 20*ms).level(2, 20*ms, slow), answer{Value: 1, AtLeast: true, Next: 2, Why: "the load generator was the limit"}},
		"users that pause": {
			searchLog().level(1, 20*ms).level(2, 20*ms, pausing(10*ms)),
			answer{Value: 1, AtLeast: true, Next: 2, Why: "the load generator was the limit: 1.7 of 2 requests were in flight on the mean"},
		},
		"users that pause at the lowest": {
			searchLog().level(1, 20*ms, pausing(10*ms)).level(1, 20*ms, pausing(10*ms)).level(1, 20*ms, pausing(10*ms)),
			answer{VoidAt: 1, Done: true, Why: "the load generator was the limit: 0.9 of 1 requests were in flight on the mean"},
		},
		"users that pause shortly": {searchLog().level(1, 20*ms).level(2, 20*ms, pausing(2*ms)), answer{Value: 2, AtLeast: true, Next: 4}},
		// Who is refused is back at once, so that few are in flight: it is the server that does not bear more.
		"users that pause, and are refused": {
			searchLog().level(1, 20*ms).level(2, 20*ms, pausing(10*ms), failing(4)),
			answer{Value: 1, FailedAt: 2, AtLeast: true, Binding: "failures", Next: 1},
		},
		"the server ends":           {searchLog().level(1, 20*ms).level(2, 20*ms, gone), answer{Value: 1, AtLeast: true, Next: 2, Why: "the server could not be reached at its end"}},
		"the server ends, and cuts": {searchLog().level(1, 20*ms).level(2, 20*ms, cut), answer{Value: 1, AtLeast: true, Next: 2, Why: "answers were cut at its end"}},
		// Of a level that met the objectives before, nothing is too much for the server.
		"the server hangs": {
			searchLog().level(1, 20*ms).level(2, 20*ms).level(4, 20*ms, silent(0)).level(2, 20*ms, silent(0)),
			answer{Value: 2, AtLeast: true, Next: 4, Why: "the server did not answer any more"},
		},
		"the server hangs while it answers": {
			searchLog().level(1, 20*ms).level(2, 20*ms).level(4, 20*ms, silent(50)).level(3, 20*ms, silent(0)).level(1, 20*ms, silent(0)),
			answer{Value: 2, AtLeast: true, Next: 3, Why: "the server did not answer any more"},
		},
		"the server seems to hang": {
			searchLog().level(1, 20*ms).level(2, 20*ms).level(4, 20*ms, silent(0)).level(2, 20*ms),
			answer{Value: 2, FailedAt: 4, AtLeast: true, Binding: "failures", Next: 3},
		},
		"too much, or the server hangs": {
			searchLog().level(1, 20*ms).level(2, 20*ms).level(4, 20*ms, silent(0)),
			answer{Value: 2, FailedAt: 4, AtLeast: true, Binding: "failures", Next: 3},
		},
		"not steady": {searchLog().level(1, 20*ms).level(2, 20*ms, tooFew), answer{Value: 1, AtLeast: true, Next: 2, Why: "the load never was steady"}},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := reportOf(t, Options{}, c.log.over())
			if err != nil {
				t.Fatal(err)
			}
			a := r.Capacity
			next, _ := a.Search.Next(a.Trials)
			got := answer{a.Value, a.FailedAt, a.VoidAt, a.Done, a.AtLeast, a.Binding, next, ""}
			if why := a.Levels[len(a.Levels)-1].Why; c.want.Why != "" && strings.Contains(why, c.want.Why) {
				got.Why = c.want.Why
			} else {
				got.Why = why
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCapacityOfStepsThatDidNotEnd: what was withdrawn says nothing of its level.
func TestCapacityOfStepsThatDidNotEnd(t *testing.T) {
	for stop, sent := range map[runlog.Stop]int{
		runlog.StopInterrupted: 20, runlog.StopUnreachable: 20,
		runlog.StopDataset: 0, // the server makes the prompts, and has ended
	} {
		log := searchLog().level(1, 20*time.Millisecond)
		s := closed(2, 40)
		s.Index = 1
		requests := everySecond(sent, time.Second)
		log.begin(s, requests)
		log.end(s, requests, stop)
		r, err := reportOf(t, Options{}, log.over())
		if err != nil {
			t.Fatal(err)
		}
		if c := r.Capacity; c.Value != 1 || c.FailedAt != 0 || len(c.Levels) != 1 || !c.AtLeast {
			t.Errorf("%s: carries %v, %v miss, %d levels", stop, c.Value, c.FailedAt, len(c.Levels))
		}
	}
	if r, err := reportOf(t, Options{}, newMemlog("a").level(1, time.Second).over()); err != nil || r.Capacity != nil {
		t.Errorf("an answer that nobody searched for: %+v %v", r.Capacity, err)
	}
}

// TestCapacityOfTooFewRequests: a step that its number of requests cannot make steady is
// run once where a flag sets that number, as another has no more of them.
func TestCapacityOfTooFewRequests(t *testing.T) {
	for fixed, again := range map[int]bool{0: true, 40: false} {
		log := searchLog().level(1, 20*time.Millisecond).level(2, 20*time.Millisecond, tooFew)
		log.run.Capacity.StepRequests = fixed
		r, err := reportOf(t, Options{}, log.over())
		if err != nil {
			t.Fatal(err)
		}
		if l := r.Capacity.Answer.Levels[1]; l.Verdict != capacity.Void || l.Settled == again {
			t.Errorf("--step-requests %d: %+v", fixed, l)
		}
		if l := r.Capacity.Answer.Levels[0]; l.Verdict != capacity.Met {
			t.Errorf("--step-requests %d, below it: %+v", fixed, l)
		}
	}
}

// TestCapacityThatChanged is told as a warning about the report as a whole.
func TestCapacityThatChanged(t *testing.T) {
	const ms = time.Millisecond
	log := searchLog().level(1, 20*ms).level(2, 40*ms).level(4, 150*ms).level(3, 160*ms).level(2, 150*ms)
	r, err := reportOf(t, Options{}, log.over())
	if err != nil {
		t.Fatal(err)
	}
	want := "The server's capacity changed while it was measured: 2 users met the objectives at first and missed them later."
	if notes := strings.Join(r.Notes(), "\n"); !strings.HasPrefix(notes, want) {
		t.Errorf("notes %q", notes)
	}
}

// simulatedUsers are served with a TTFT that grows with their number: its p90 is 100 ms
// where there are as many as the server carries. The noise is lognormal.
func simulatedUsers(r *rand.Rand, carries, users float64) (runlog.Step, []runlog.Request) {
	const spread, p90 = 0.2, 1.2816
	n := int(users)
	requests := closedLoop(n, max(60, 12*n), func(_ int, start time.Duration) runlog.Request {
		ttft := time.Duration(1e8 * users / carries * users / carries * math.Exp(spread*(r.NormFloat64()-p90)))
		return answered(start, 10, 3, ttft, ttft+20*time.Millisecond, ttft+40*time.Millisecond)
	})
	return closed(n, len(requests)), requests
}

// simulatedRate is of a server that answers one request after the other: beyond its
// rate they pile up.
func simulatedRate(r *rand.Rand, carries, rate float64) (runlog.Step, []runlog.Request) {
	var requests []runlog.Request
	free, service := 0.0, 1/carries
	n := int(20 * rate)
	for i := range n {
		start := float64(i) / rate
		free = max(free, start) + service*(0.9+0.2*r.Float64())
		ttft := time.Duration((free - start) * 1e9)
		q := answered(time.Duration(start*1e9), 10, 3, ttft, ttft+20*time.Millisecond)
		q.Seq = i
		requests = append(requests, q)
	}
	return runlog.Step{Started: noon, Arrival: runlog.ArrivalConstant, Rate: rate, Requests: n}, requests
}
