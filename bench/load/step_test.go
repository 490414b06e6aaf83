package load

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/accelerator-exporter/accelerator_exporter/bench/dataset"
	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// prompts is a source of numbered prompts.
type prompts struct {
	at      []time.Duration // of a replay, which ends after them
	fail    error           // instead of the prompt after
	after   int
	pause   time.Duration // before each but the first quick ones
	quick   int
	records int // in the file, which is begun again at its end; 0 for no end

	mu           sync.Mutex
	given, count int
}

func (p *prompts) Next(ctx context.Context) (dataset.Prompt, error) {
	p.mu.Lock()
	n := p.given
	p.mu.Unlock()
	if p.pause > 0 && n >= p.quick {
		select {
		case <-time.After(p.pause):
		case <-ctx.Done():
			return dataset.Prompt{}, ctx.Err()
		}
	}
	switch {
	case p.fail != nil && n == p.after:
		return dataset.Prompt{}, p.fail
	case p.at != nil && n == len(p.at):
		return dataset.Prompt{}, io.EOF
	}
	p.mu.Lock()
	p.given++
	p.mu.Unlock()
	prompt := dataset.Prompt{Text: "?", ExpectedTokens: n + 1}
	if p.at != nil {
		prompt.At = p.at[n]
	}
	return prompt, nil
}

func (p *prompts) Close() {}

func (p *prompts) Count() runlog.DatasetCount {
	c := runlog.DatasetCount{Prompts: 1}
	if p.records > 0 && p.count > 0 && p.count%p.records == 0 {
		c.Passes = 1
	}
	p.count++
	return c
}

// standIn answers after some time, and notes how many requests it has at once.
type standIn struct {
	takes func(seq int) time.Duration
	fails func(seq int) openai.Reason // "" for success

	mu   sync.Mutex
	now  int
	most int
}

func (m *standIn) send(ctx context.Context, j job) *openai.Trace {
	m.mu.Lock()
	m.now++
	m.most = max(m.most, m.now)
	m.mu.Unlock()
	t := &openai.Trace{Started: time.Now()}
	select {
	case <-time.After(m.takes(j.seq)):
		if m.fails != nil {
			if r := m.fails(j.seq); r != "" {
				t.Failure = &openai.Failure{Reason: r}
			}
		}
	case <-ctx.Done():
		t.Failure = &openai.Failure{Reason: openai.ReasonCanceled, Detail: context.Cause(ctx).Error()}
	}
	t.End = time.Since(t.Started)
	m.mu.Lock()
	m.now--
	m.mu.Unlock()
	return t
}

func always(d time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return d }
}

// firstTake is of a server that takes so long for its first n requests, and a second for others.
func firstTake(n int, d time.Duration) func(int) time.Duration {
	return func(seq int) time.Duration {
		if seq < n {
			return d
		}
		return time.Second
	}
}

// newStep is a step before it runs.
func newStep(send func(context.Context, job) *openai.Trace, done func(*runlog.Request) error) *activeStep {
	return &activeStep{send: send, done: done, meter: new(Meter), prefixes: &prefixes{sent: map[uint64]int{}}, clock: newClock(time.Now()), lastReceived: func() time.Time { return time.Time{} }}
}

// outcome is what a step left behind.
type outcome struct {
	end      runlog.StepEnd
	err      error
	requests []*runlog.Request // by Seq
	took     time.Duration
}

// do runs a step and checks what holds for every step.
func do(ctx context.Context, t *testing.T, step runlog.Step, source dataset.Source, m *standIn) *outcome {
	t.Helper()
	var r outcome
	run := newStep(m.send, func(q *runlog.Request) error { r.requests = append(r.requests, q); return nil })
	run.seed = 1
	meter := run.meter
	begin := time.Now()
	r.end, r.err = run.run(ctx, step, source)
	r.took = time.Since(begin)
	slices.SortFunc(r.requests, func(a, b *runlog.Request) int { return cmp.Compare(a.Seq, b.Seq) })
	if r.end.Attempted != len(r.requests) {
		t.Errorf("%d requests were attempted, %d handed on", r.end.Attempted, len(r.requests))
	}
	for seq, q := range r.requests {
		if q.Seq != seq || q.ExpectedTokens != seq+1 {
			t.Fatalf("request %d with prompt %d follows %d", q.Seq, q.ExpectedTokens-1, seq-1)
		}
	}
	if n := meter.InFlight.Load() + meter.Queued.Load(); n != 0 || !meter.SendingEnded.Load() {
		t.Errorf("the meter shows %d requests queued or in flight after the end", n)
	}
	if got := meter.Succeeded.Load() + meter.Failed.Load() + meter.Canceled.Load(); got != int64(r.end.Attempted) {
		t.Errorf("the meter shows %d requests over, %d were attempted", got, r.end.Attempted)
	}
	return &r
}

// starts are the instants of sending since the first, in order.
func (r *outcome) starts() []time.Duration {
	var starts []time.Duration
	for _, q := range r.requests {
		if !q.Never {
			starts = append(starts, q.Trace.Started.Sub(r.requests[0].Trace.Planned))
		}
	}
	return starts
}

// account is the end without what other tests look at.
func (r *outcome) account() runlog.StepEnd {
	e := r.end
	e.Ended, e.Dataset = time.Time{}, runlog.DatasetCount{}
	return e
}

// In evalscope-perf 0.5.5 each of these failures would have cost a worker and its
// requests.
func TestFailuresCostNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hung, users, requests = 12, 16, 200
		m := &standIn{takes: firstTake(hung, 120*time.Second), fails: failing(openai.ReasonTimeoutFirstToken, 0, hung)}
		step := runlog.Step{Index: 3, Arrival: runlog.ArrivalClosed, Concurrency: users, Requests: requests}
		r := do(t.Context(), t, step, &prompts{}, m)
		want := runlog.StepEnd{Step: 3, Stop: runlog.StopRequests, Account: runlog.Account{Attempted: requests, Succeeded: requests - hung, Failed: map[openai.Reason]int{openai.ReasonTimeoutFirstToken: hung}}}
		if diff := gocmp.Diff(want, r.account()); diff != "" || r.err != nil || m.most != users {
			t.Errorf("error %v, %d at once\n%s", r.err, m.most, diff)
		}
		for _, q := range r.requests {
			if q.Trace.Started != q.Trace.Planned {
				t.Fatalf("request %d waited %s for its user", q.Seq, q.Trace.Started.Sub(q.Trace.Planned))
			}
		}
	})
}

// However long answers take, requests are sent when they are due, and a step ends with the last of them.
func TestWhenRequestsAreSent(t *testing.T) {
	const second = time.Second
	poisson := runlog.Step{Arrival: runlog.ArrivalPoisson, Rate: 20, Requests: 200}
	recorded := []time.Duration{0, 0, second, 90 * second}
	for name, tt := range map[string]struct {
		step  runlog.Step
		at    []time.Duration // of prompts that end
		takes time.Duration
		want  []time.Duration
		stop  runlog.Stop
	}{
		"users, over the ramp": {
			runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 4, Requests: 6, RampUp: 2 * second},
			nil, 1200 * time.Millisecond,
			[]time.Duration{0, second / 2, second, 1200 * time.Millisecond, 1500 * time.Millisecond, 1700 * time.Millisecond},
			runlog.StopRequests,
		},
		"a rate that the server must not slow down": {poisson, nil, time.Minute, instants(poisson, 1, 200), runlog.StopRequests},
		"a replay":                   {runlog.Step{Arrival: runlog.ArrivalReplay}, recorded, 10 * second, recorded, runlog.StopDataset},
		"a part of a replay":         {runlog.Step{Arrival: runlog.ArrivalReplay, Requests: 3}, recorded, 10 * second, recorded[:3], runlog.StopRequests},
		"users who all find the end": {runlog.Step{Arrival: runlog.ArrivalClosed, Concurrency: 8}, make([]time.Duration, 8), second, make([]time.Duration, 8), runlog.StopDataset},
	} {
		inBubble(t, name, func(t *testing.T) {
			r := do(t.Context(), t, tt.step, &prompts{at: tt.at}, &standIn{takes: always(tt.takes)})
			equal(t, "instants", tt.want, r.starts())
			if r.end.Succeeded != len(tt.want) || r.end.Stop != tt.stop || r.err != nil {
				t.Errorf("%+v, error %v", r.end, r.err)
			}
		})
	}
}

// Who waits for a turn gets it when another leaves.
func TestABurstWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, bound = 1000, 100
		step := runlog.Step{Arrival: runlog.ArrivalBurst, Requests: n, MaxConcurrency: bound}
		m := &standIn{takes: always(time.Second)}
		r := do(t.Context(), t, step, &prompts{}, m)
		if r.took != 10*time.Second || m.most != bound {
			t.Errorf("took %s with %d at once, want 10s with %d", r.took, m.most, bound)
		}
		seconds := map[time.Duration]int{}
		for _, q := range r.requests {
			if seconds[q.Queued/time.Second]++; q.Trace.Started.Sub(q.Trace.Planned) != q.Queued {
				t.Fatalf("request %d: queued for %s, started after %s", q.Seq, q.Queued, q.Trace.Started.Sub(q.Trace.Planned))
			}
		}
		for s := range time.Duration(n / bound) {
			if seconds[s] != bound {
				t.Errorf("%d requests queued for %d s, want %d", seconds[s], s, bound)
			}
		}
	})
}

func TestMeterShowsWhatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStep((&standIn{takes: always(time.Second)}).send, func(*runlog.Request) error { return nil })
		m := r.meter
		over := make(chan error)
		go func() {
			_, err := r.run(t.Context(), runlog.Step{Arrival: runlog.ArrivalBurst, Requests: 10, MaxConcurrency: 3}, &prompts{})
			over <- err
		}()
		time.Sleep(1500 * time.Millisecond)
		got := []int64{m.Attempted.Load(), m.Queued.Load(), m.InFlight.Load(), m.Succeeded.Load()}
		equal(t, "attempted, queued, in flight, succeeded", []int64{10, 4, 3, 3}, got)
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

// setClock is an instant whose wall clock was set forward, as NTP does, and whose monotonic reading was not.
func setClock(t time.Time, forward time.Duration) time.Time {
	seconds := (*uint64)(unsafe.Pointer(&t))
	*seconds += uint64(forward/time.Second) << 30 // where package time keeps them beside a monotonic reading
	return t
}

// A clock that is set during the run is in no instant of the log, which keeps wall clocks alone.
func TestAClockThatIsSet(t *testing.T) {
	var kept runlog.Request
	r := newStep(func(context.Context, job) *openai.Trace {
		return &openai.Trace{Started: setClock(time.Now(), time.Hour), End: time.Millisecond}
	}, func(q *runlog.Request) error { kept = *q; return nil })
	if _, err := r.run(t.Context(), runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 1, Requests: 1}, &prompts{}); err != nil {
		t.Fatal(err)
	}
	line, _ := json.Marshal(kept)
	var read runlog.Request
	noError(t, json.Unmarshal(line, &read))
	if late := read.Trace.Started.Sub(read.Trace.Planned); late < 0 || late > time.Minute {
		t.Errorf("the log says that the request was sent %s late", late)
	}
}

// A client that is late sends late, and says so: a load that is left out, or
// planned anew, would hide what it did to the server.
func TestALateClientDropsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, gap = readAhead + 100, time.Millisecond
		for _, step := range []runlog.Step{{Requests: n}, {Duration: n * gap}} {
			step.Arrival, step.Rate = runlog.ArrivalConstant, 1000
			r := do(t.Context(), t, step, &prompts{pause: time.Second, quick: readAhead}, &standIn{takes: always(time.Second)})
			for _, q := range r.requests {
				if got, want := q.Trace.Planned.Sub(r.requests[0].Trace.Planned), time.Duration(q.Seq)*gap; got != want {
					t.Fatalf("request %d was planned for %s, want %s", q.Seq, got, want)
				}
				made := time.Duration(q.Seq-readAhead+1) * time.Second
				if got, want := q.Trace.Started.Sub(q.Trace.Planned), max(0, made-time.Duration(q.Seq)*gap); got != want || q.Queued != 0 {
					t.Fatalf("request %d: late by %s, queued for %s, want %s and 0s", q.Seq, got, q.Queued, want)
				}
			}
			if r.err != nil || r.end.Succeeded != n || r.end.Attempted != n {
				t.Errorf("error %v, %+v", r.err, r.end)
			}
		}
	})
}

// Prompts may take a while to make: the first are made before the clock starts, so that
// requests are as punctual as without.
func TestPromptsAreMadeBeforeTheClockStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		step := runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 1000, Requests: 20}
		begin := time.Now()
		r := do(t.Context(), t, step, &prompts{pause: time.Second}, &standIn{takes: always(time.Second)})
		if got := r.requests[0].Trace.Planned.Sub(begin); got != 20*time.Second || r.starts()[19] != 19*time.Millisecond {
			t.Errorf("the clock started after %s, and the last request after %s", got, r.starts()[19])
		}
	})
}

// A short file is read through many times before the first request: told is how often
// the step began it again.
func TestPassesOfWhatWasSent(t *testing.T) {
	for records, want := range map[int]int{30: 3, 50: 1, 100: 0, 2000: 0} {
		synctest.Test(t, func(t *testing.T) {
			step := runlog.Step{Arrival: runlog.ArrivalConstant, Rate: 10, Duration: 10 * time.Second}
			r := do(t.Context(), t, step, &prompts{records: records}, &standIn{takes: always(time.Second)})
			equal(t, fmt.Sprintf("%d records", records), runlog.DatasetCount{Prompts: 100, Passes: want}, r.end.Dataset)
		})
	}
}

// inBubble runs a subtest on synctest's clock.
func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}
