package result

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// paced are n requests at a rate, each of which takes as long as takes says of its instant.
func paced(n int, rate float64, random *rand.Rand, takes func(start time.Duration) time.Duration) []runlog.Request {
	var all []runlog.Request
	for at := time.Duration(0); len(all) < n; {
		took := takes(at)
		all = append(all, answered(at, 100, 2, took/50, took))
		gap := 1 / rate
		if random != nil {
			gap = random.ExpFloat64() / rate
		}
		at += time.Duration(gap * 1e9)
	}
	return all
}

// A batch of long answers is not full when the shortest of them is there: what is measured while it fills is not what
// the rate does to the server.
func TestARateIsJudgedWhenTheBatchIsFull(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	fills := func(start time.Duration) time.Duration { // answers of 6 to 34 s in an empty server, three times as long in a full one
		return time.Duration((6 + 28*r.Float64()) * (3 - 2*math.Exp(-start.Seconds()/100)) * 1e9)
	}
	step := runlog.Step{Started: noon, Arrival: runlog.ArrivalPoisson, Rate: 1}
	s := stepOf(t, Options{}, newMemlog("a").step(step, paced(1500, 1, r, fills), false).ended())
	full, _ := s.Whole.Of(E2E).At(90)
	if s.Steady == nil || s.Steady.Window.From.Before(at(time.Duration(full.Value*1e9))) {
		t.Errorf("steady %v (%s), and the p90 of E2E is %.0f s", s.Steady, s.NotSteady, full.Value)
	}
	s = stepOf(t, Options{}, newMemlog("a").step(step, paced(100, 1, r, fills), false).ended())
	if s.Steady != nil {
		t.Errorf("steady from %s on, while the batch still filled", s.Steady.Window.From)
	}
}

// Of requests of which 40 % wait for 10 s in vain, nine in ten do not get their first token within 1 s.
func TestThoseWhoNeverGotATokenCount(t *testing.T) {
	slo := []openai.Objective{{Measure: TTFT, Percentile: 90, Limit: 2}, {Measure: TTFT, Percentile: 50, Limit: 2}, {Measure: E2E, Percentile: 90, Limit: 60}}
	for name, tt := range map[string]struct {
		reason openai.Reason
		after  time.Duration
		p90    float64
		waits  bool
	}{
		"timeout":            {openai.ReasonTimeoutFirstToken, 10 * time.Second, 10, true},
		"refused after long": {openai.ReasonHTTP5xx, 5 * time.Second, 5, true},
		"cut by a proxy":     {openai.ReasonTruncated, 3 * time.Second, 3, true},
		"refused at once":    {openai.ReasonHTTP429, 3 * time.Millisecond, 1, false},
	} {
		requests := closedLoop(10, 500, func(i int, start time.Duration) runlog.Request {
			if i%5 < 2 {
				return failed(start, tt.after, tt.reason)
			}
			return answered(start, 10, 3, time.Second, 3*time.Second)
		})
		l := newMemlog("a").step(closed(10, 500), requests, false).ended()
		l.run.Capacity = &runlog.Capacity{Objectives: slo}
		s := stepOf(t, Options{}, l)
		p, _ := s.SteadyOrWhole().Of(TTFT).At(90)
		if p.Value != tt.p90 || p.AtLeast != tt.waits {
			t.Errorf("%s: TTFT p90 %v, at least %v; want %v and %v", name, p.Value, p.AtLeast, tt.p90, tt.waits)
		}
		for i, wantMiss := range []bool{tt.waits, false, tt.waits} {
			if o := s.Objectives[i]; o.Excess() > 1 != wantMiss {
				t.Errorf("%s: %s of %v is %v times its limit", name, o.Label(), o.Value, o.Excess())
			}
		}
	}
}

// A replay whose client is late, and one whose server falls behind, are no measurements of the trace.
func TestReplaysThatAreLate(t *testing.T) {
	step := runlog.Step{Started: noon, Arrival: runlog.ArrivalReplay}
	late := everySecond(200, 500*time.Millisecond)
	for i := range late {
		late[i].Trace.Started = late[i].Trace.Planned.Add(3 * time.Second)
	}
	s := stepOf(t, Options{}, newMemlog("a").step(step, late, false).ended())
	if s.ClientLimit == "" {
		t.Errorf("sent 3 s late, and warned of %q", s.Warnings)
	}
	slow := queued(400, 1, always(time.Second), always(2*time.Second))
	if s = stepOf(t, Options{}, newMemlog("a").step(step, slow, false).ended()); !s.Overloaded() {
		t.Errorf("a server at half the recorded rate: steady %v, warned of %q", s.Steady != nil, s.Warnings)
	}
}

// Two hours of 4 a second after one another are not 8 a second.
func TestRunsThatNeverOverlapped(t *testing.T) {
	log := func(host string, begins time.Duration) *memlog {
		requests := everySecond(60, time.Second)
		for i := range requests {
			requests[i].Trace.Planned = requests[i].Trace.Planned.Add(begins)
			requests[i].Trace.Started = requests[i].Trace.Planned
		}
		return newMemlog(host).step(runlog.Step{Started: at(begins), Arrival: runlog.ArrivalConstant, Rate: 1}, requests, false).ended()
	}
	for begins, wantErr := range map[time.Duration]bool{0: false, 20 * time.Second: false, 40 * time.Second: true, 2 * time.Hour: true} {
		_, err := reportOf(t, Options{}, log("a", 0), log("b", begins))
		if (err != nil) != wantErr || wantErr && !strings.Contains(err.Error(), "--lead") {
			t.Errorf("begun %s later: %v", begins, err)
		}
	}
}

// What a step's checks find, of 1,000 requests in steady state.
func TestStationarity(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	noise := func(time.Duration) time.Duration { return time.Duration((5 + r.Float64()) * 1e9) }
	grows := func(start time.Duration) time.Duration { return noise(start) + start/300 }
	poisson := runlog.Step{Started: noon, Arrival: runlog.ArrivalPoisson, Rate: 1}
	for name, tt := range map[string]struct {
		requests []runlog.Request
		want     string // in the warnings, empty for none
	}{
		"as it should be":                             {paced(1000, 1, r, noise), ""},
		"latency that grows":                          {paced(1000, 1, r, grows), "TTFT was not stationary: it changed by"},
		"equal gaps where random ones were asked for": {paced(1000, 1, nil, noise), "Requests did not arrive as asked for"},
	} {
		s := stepOf(t, Options{Percentiles: []float64{90}}, newMemlog("a").step(poisson, tt.requests, false).ended())
		if all := strings.Join(s.Warnings, "\n"); s.Steady == nil || !strings.Contains(all, tt.want) || tt.want == "" && all != "" {
			t.Errorf("%s: not steady as %q, warnings %q", name, s.NotSteady, s.Warnings)
		}
	}
}

// Of samples of which each is nearly the one before there are few independent ones, and the interval of their mean is
// as wide as it is.
func TestIndependentSamples(t *testing.T) {
	const n, runs = 2000, 200
	for _, memory := range []float64{0, 0.9} {
		r, held, independent := rand.New(rand.NewPCG(5, 6)), 0, 0.0
		for range runs {
			samples, x := make([]Value, n), 0.0
			for i := range samples {
				x = memory*x + math.Sqrt(1-memory*memory)*r.NormFloat64()
				samples[i] = Value(int64(1e6 * (10 + x)))
			}
			p, _ := newDistribution(slices.Clone(samples), []float64{50}, 1e6).At(50)
			independent += float64(p.Independent) / runs
			if math.Abs(p.Value-10) < float64(p.Error) {
				held++
			}
		}
		want := n * (1 - memory) / (1 + memory)
		if independent < 0.6*want || independent > 1.7*want || float64(held) < 0.88*runs {
			t.Errorf("memory %v: %.0f independent samples, want about %.0f; %d of %d intervals hold the truth", memory, independent, want, held, runs)
		}
	}
}

// A step whose index was damaged is an error that names its line.
func TestDamagedStep(t *testing.T) {
	for _, index := range []int{math.MinInt64, -1, math.MaxInt64} {
		l := newMemlog("a").step(runlog.Step{Index: index, Arrival: runlog.ArrivalClosed, Concurrency: 1}, everySecond(3, time.Second), false).ended()
		l.run.Steps = []string{"1"}
		if _, err := reportOf(t, Options{}, l); err == nil || !strings.Contains(err.Error(), "line 2: ") {
			t.Errorf("index %d: %v", index, err)
		}
	}
}

// A log whose numbers are damaged, and a run during which a clock was set back by years, give a report or an error, and
// no panic.
func TestDamagedNumbers(t *testing.T) {
	l := newMemlog("a").step(closed(4, 100), everySecond(100, time.Second), false).ended()
	l.run.Percentiles = []float64{-7, 500}
	l.run.Capacity = &runlog.Capacity{Objectives: []openai.Objective{{Measure: TTFT, Percentile: -7, Limit: 1}}}
	stepOf(t, Options{}, l)
	for _, step := range []runlog.Step{{Arrival: runlog.ArrivalPoisson, Rate: -1}, {Arrival: runlog.ArrivalGamma, Rate: 1, Burstiness: -1}} {
		if _, err := reportOf(t, Options{}, newMemlog("a").step(step, everySecond(100, time.Second), false).ended()); err == nil {
			t.Errorf("%+v is taken", step)
		}
	}
	requests := everySecond(150, time.Second)
	for i := range requests[:40] {
		requests[i].Trace.Started = requests[i].Trace.Started.AddDate(-56, 0, 0)
		requests[i].Trace.Planned = requests[i].Trace.Started
	}
	step := runlog.Step{Started: noon, Arrival: runlog.ArrivalPoisson, Rate: 1}
	stepOf(t, Options{}, newMemlog("a").step(step, requests, false).ended())
}

// Records of a step of which the first line is torn are not those of the step before.
func TestTornStep(t *testing.T) {
	l := newMemlog("a").step(closed(1, 3), everySecond(3, time.Second), false)
	begins := len(l.records)
	second := closed(2, 5)
	second.Index = 1
	l.step(second, everySecond(5, time.Second), false).ended()
	l.records = slices.Delete(l.records, begins, begins+1)
	if s := stepOf(t, Options{}, l); s.Account.Attempted != 3 || s.Whole.Completed != 3 {
		t.Errorf("%d attempted, %d completed, want 3", s.Account.Attempted, s.Whole.Completed)
	}
}

// Under a bound on concurrency, requests that wait for a slot are load too: in a healthy run nothing grows, and above what
// the bound lets through the wait does, although no more are in flight.
func TestRatesUnderABound(t *testing.T) {
	for name, tt := range map[string]struct {
		rate   float64 // of 8 in flight for 1 s each
		steady int     // of 20 runs
	}{"healthy": {6.4, 18}, "too much": {9, 2}} {
		steady := 0
		for seed := range uint64(20) {
			r := rand.New(rand.NewPCG(seed, 9))
			slots := make([]time.Duration, 8)
			var all []runlog.Request
			for at := time.Duration(0); len(all) < 1000; at += time.Duration(r.ExpFloat64() / tt.rate * 1e9) {
				took := time.Duration((0.5 + r.Float64()) * 1e9)
				slot := slices.Index(slots, slices.Min(slots))
				start := max(at, slots[slot])
				slots[slot] = start + took
				q := answered(start, 100, 2, took/50, took)
				q.Trace.Planned, q.Queued = noon.Add(at), start-at
				all = append(all, q)
			}
			step := runlog.Step{Started: noon, Arrival: runlog.ArrivalPoisson, Rate: tt.rate, MaxConcurrency: 8}
			if stepOf(t, Options{}, newMemlog("a").step(step, all, false).ended()).Steady != nil {
				steady++
			}
		}
		if name == "healthy" && steady < tt.steady || name != "healthy" && steady > tt.steady {
			t.Errorf("%s: %d of 20 runs are steady, want %d", name, steady, tt.steady)
		}
	}
}

// The interval of a percentile that ends beyond all samples is not known.
func TestIntervalsBeyondAllSamples(t *testing.T) {
	requests := closedLoop(10, 100, func(int, time.Duration) runlog.Request { return answered(0, 10, 3, time.Second, 3*time.Second) })
	s := stepOf(t, Options{Percentiles: []float64{50, 99}}, newMemlog("a").step(closed(10, 100), requests, false).ended())
	p50, _ := s.Whole.Of(TTFT).At(50)
	p99, _ := s.Whole.Of(TTFT).At(99)
	if !p50.Error.Known() || p99.Error.Known() {
		t.Errorf("p50 ± %v, p99 ± %v of 100 requests", p50.Error, p99.Error)
	}
}

// A server that is three times slower in its first 90 s, as one that still compiles, is not steady then: a rate is from
// there on, and of users the report says it.
func TestSlowStarts(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 6))
		warmsUp := func(start time.Duration) time.Duration {
			took := time.Duration((5 + r.Float64()) * 1e9)
			if start < 90*time.Second {
				took *= 3
			}
			return took
		}
		step := runlog.Step{Started: noon, Arrival: runlog.ArrivalPoisson, Rate: 1}
		s := stepOf(t, Options{}, newMemlog("a").step(step, paced(1000, 1, r, warmsUp), false).ended())
		if s.Steady == nil || s.Steady.Window.From.Before(at(80*time.Second)) {
			t.Errorf("seed %d: a rate is steady from %v on (%s)", seed, s.Steady, s.NotSteady)
		}
		users := closedLoop(16, 2000, func(_ int, start time.Duration) runlog.Request {
			took := warmsUp(start)
			return answered(start, 100, 2, took/50, took)
		})
		s = stepOf(t, Options{}, newMemlog("a").step(closed(16, 2000), users, false).ended())
		if !strings.Contains(strings.Join(s.Warnings, " "), "E2E was not stationary") {
			t.Errorf("seed %d: users, warned of %q", seed, s.Warnings)
		}
	}
}

// At a low rate most of the time nothing is in flight, and the step may end so: it is steady all the same.
func TestLowRates(t *testing.T) {
	steady := 0
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 5))
		takes := func(time.Duration) time.Duration { return time.Duration((6 + 28*r.Float64()) * 1e9) }
		step := runlog.Step{Started: noon, Arrival: runlog.ArrivalPoisson, Rate: 0.02}
		if stepOf(t, Options{}, newMemlog("a").step(step, paced(80, 0.02, r, takes), false).ended()).Steady != nil {
			steady++
		}
	}
	if steady < 38 {
		t.Errorf("%d of 40 runs at 0.02 requests/s are steady", steady)
	}
}
