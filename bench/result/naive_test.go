package result

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accelerator-exporter/accelerator_exporter/bench/openai"
	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// naiveDistribution sorts all samples, and puts what other requests waited behind them.
func naiveDistribution(values, waits, ps []float64) Distribution {
	slices.Sort(values)
	slices.Sort(waits)
	all := slices.Clone(values)
	for _, w := range waits {
		if len(values) > 0 {
			w = max(w, values[len(values)-1])
		}
		all = append(all, w)
	}
	d := Distribution{}
	if len(values) > 0 {
		d = naiveMoments(values)
	}
	d.Waiting = int64(len(waits))
	for _, p := range ps {
		if len(all) == 0 {
			break
		}
		i, part := math.Modf(p / 100 * float64(len(all)-1))
		low, high := all[int(i)], all[min(int(i)+1, len(all)-1)]
		beyond := int(i) >= len(values) || part > 0 && int(i)+1 >= len(values)
		d.Percentiles = append(d.Percentiles, Percentile{P: p, Value: low*(1-part) + high*part, AtLeast: beyond})
	}
	return d
}

func naiveMoments(values []float64) Distribution {
	d := Distribution{Count: int64(len(values)), Min: values[0], Max: values[len(values)-1]}
	for _, v := range values {
		d.Mean += v / float64(len(values))
	}
	for _, v := range values {
		d.Std += (v - d.Mean) * (v - d.Mean) / float64(len(values))
	}
	d.Std = math.Sqrt(d.Std)
	return d
}

// naiveFigures looks at every request for every figure.
func naiveFigures(w Window, all []runlog.Request, opts Options, bounded bool) Figures {
	f := Figures{Window: w}
	inside := func(t time.Time) bool { return !t.Before(w.From) && !t.After(w.To) }
	length := w.Duration().Seconds()
	perSecond := make([]float64, int(length)+1)
	tokens, good, sentGood := 0.0, 0, 0
	var samples, waits [13][]float64
	seconds := func(k int, d time.Duration) { samples[k] = append(samples[k], d.Seconds()) }
	for _, r := range all {
		t := &r.Trace
		n, _ := openai.OutputTokens(t)
		if t.Failure == nil {
			e, _ := openai.E2E(t)
			p, _ := openai.TPOT(t)
			met := p <= 60*time.Millisecond && e <= 2*time.Second
			if met && inside(t.Started) {
				sentGood++
			}
			if inside(t.Started.Add(t.End)) {
				f.Completed++
				f.PromptTokens += int64(t.Usage.PromptTokens)
				if met {
					good++
				}
			}
			for _, c := range t.Chunks {
				if at := t.Started.Add(c.At); inside(at) {
					tokens += float64(n) / float64(len(t.Chunks))
					perSecond[int(at.Sub(w.From)/time.Second)] += float64(n) / float64(len(t.Chunks))
				}
			}
		}
		inFlight := 0
		for _, o := range all {
			if !o.Trace.Started.After(t.Started) && o.Trace.Started.Add(o.Trace.End).After(t.Started) {
				inFlight++
			}
		}
		if !inside(t.Started) {
			continue
		}
		f.PeakConcurrency = max(f.PeakConcurrency, inFlight)
		f.Account.Count(r.Reason())
		wait := t.Started.Sub(t.Planned)
		why := r.Reason()
		tooLong := why == openai.ReasonTimeout || why == openai.ReasonTimeoutFirstToken || why == openai.ReasonStalled ||
			why != "" && why != openai.ReasonHTTP4xx && why != openai.ReasonCanceled && t.End > time.Second
		orWaited := func(k int, d time.Duration, ok bool, more time.Duration) {
			switch {
			case ok:
				seconds(k, d+more)
			case tooLong:
				waits[k] = append(waits[k], (t.End + more).Seconds())
			}
		}
		ttft, hasTTFT := openai.TTFT(t)
		answer, hasAnswer := openai.FirstAnswer(t)
		e2e, hasE2E := openai.E2E(t)
		orWaited(0, ttft, hasTTFT, 0)
		orWaited(1, ttft, hasTTFT, wait)
		orWaited(2, answer, hasAnswer, 0)
		orWaited(4, e2e, hasE2E, 0)
		orWaited(5, e2e, hasE2E, wait)
		if d, ok := openai.TPOT(t); ok {
			seconds(3, d)
		}
		for _, d := range openai.ITLs(t) {
			seconds(6, d)
		}
		for i, d := range openai.ITLs(t) {
			for n := t.Chunks[i+1].Tokens; n > 0; n-- {
				seconds(7, d/time.Duration(t.Chunks[i+1].Tokens))
			}
		}
		if bounded {
			seconds(8, r.Queued)
		}
		seconds(9, max(0, wait-r.Queued))
		if !t.Reused {
			seconds(10, t.Phases.Connect+t.Phases.Resolve)
		}
		if t.Failure == nil {
			samples[11] = append(samples[11], float64(t.Usage.PromptTokens))
			samples[12] = append(samples[12], float64(n))
		}
	}
	f.Distributions = Distributions{}
	for i, key := range []Key{
		TTFT, "ttft_from_planned", FirstAnswer, TPOT, E2E, E2EFromPlanned, ITL, "token_itl", Queue, Lateness, Setup, PromptLength, OutputLength,
	} {
		if len(samples[i])+len(waits[i]) > 0 {
			f.Distributions[key] = naiveDistribution(samples[i], waits[i], opts.computed)
		}
	}
	f.OutputTokens, f.PeakOutputThroughput = int64(math.Round(tokens)), max(slices.Max(perSecond), tokens/length)
	f.RequestThroughput, f.OutputThroughput = float64(f.Completed)/length, tokens/length
	f.TotalThroughput, f.Goodput = (tokens+float64(f.PromptTokens))/length, Value(float64(good)/length)
	f.Good = Value(sentGood)
	return f
}

// sameGaps holds that the percentiles of gaps, which come from a histogram, are within 0.1 %
// of the naive ones, and takes these then.
func sameGaps(t *testing.T, want, got *Figures) {
	t.Helper()
	for _, key := range []Key{ITL, TokenITL} {
		a, b := want.Of(key), got.Of(key)
		equal(t, string(key), a.Percentiles, b.Percentiles, cmpopts.EquateApprox(1e-3, 1e-9), cmpopts.IgnoreFields(Percentile{}, "Error", "Independent"))
		if a.Count > 0 {
			a.Percentiles = b.Percentiles
			want.Distributions[key] = a
		}
	}
}

// naiveConcurrency adds up the time in flight of each request.
func naiveConcurrency(w Window, all []runlog.Request) float64 {
	var spent time.Duration
	for _, r := range all {
		from, to := r.Trace.Started, r.Trace.Started.Add(r.Trace.End)
		if from.Before(w.From) {
			from = w.From
		}
		if to.After(w.To) {
			to = w.To
		}
		spent += max(0, to.Sub(from))
	}
	return spent.Seconds() / w.Duration().Seconds()
}

// naiveSteady is the steady window of a closed loop, of requests in the order in which they were
// sent.
func naiveSteady(s runlog.Step, all []runlog.Request) (Window, bool) {
	w := Window{To: all[len(all)-1].Trace.Started}
	for _, r := range all {
		inFlight := 0
		for _, o := range all {
			if !o.Trace.Started.After(r.Trace.Started) && o.Trace.Started.Add(o.Trace.End).After(r.Trace.Started) {
				inFlight++
			}
		}
		if inFlight == s.Concurrency && w.From.IsZero() {
			w.From = r.Trace.Started
		}
	}
	n := 0
	for _, r := range all {
		if !r.Trace.Started.Before(w.From) && !r.Trace.Started.After(w.To) {
			n++
		}
	}
	return w, !w.From.IsZero() && w.From.Before(w.To) && n >= max(10, s.Concurrency)
}

// randomRequest is answered, or fails in any way.
func randomRequest(rng *rand.Rand, start time.Duration) runlog.Request {
	upTo := func(d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }
	var chunks []time.Duration
	at := upTo(time.Second)
	for range 1 + rng.IntN(20) {
		at += upTo(200 * time.Millisecond)
		chunks = append(chunks, at)
	}
	r := answered(start, 1+rng.IntN(1000), 1+rng.IntN(60), chunks...)
	t := &r.Trace
	for i := range t.Chunks {
		t.Chunks[i].Tokens = int32(rng.IntN(4))
	}
	if t.Reused = rng.IntN(3) > 0; !t.Reused {
		t.Phases = openai.Phases{Resolve: upTo(time.Millisecond), Connect: 1 + upTo(time.Millisecond)}
	}
	r.Queued = upTo(50 * time.Millisecond)
	t.Planned = t.Started.Add(-r.Queued - upTo(2*time.Millisecond))
	t.End += upTo(100 * time.Millisecond)
	for _, c := range chunks {
		if c > 0 && rng.IntN(2) == 0 {
			lag := upTo(time.Millisecond)
			t.Lag = openai.Lag{Reads: t.Lag.Reads + 1, Sum: t.Lag.Sum + lag, Max: max(t.Lag.Max, lag), Last: lag}
		}
	}
	if rng.IntN(8) == 0 {
		all := openai.Reasons()
		t.Failure = &openai.Failure{Reason: all[rng.IntN(len(all))]}
	}
	return r
}

func TestRandomRunsAgainstTheNaiveWay(t *testing.T) {
	opts := Options{
		Percentiles: []float64{10, 99.9},
		Goodput:     runlog.Objectives{{Measure: TPOT, Limit: 0.06}, {Measure: E2E, Limit: 2}},
	}.withDefaults([]runlog.Run{{}})
	wereSteady := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n := 1 + rng.IntN(150)
		step := closed(1+rng.IntN(12), n)
		requests := closedLoop(step.Concurrency, n, func(_ int, start time.Duration) runlog.Request { return randomRequest(rng, start) })
		if seed%3 == 0 {
			step = runlog.Step{Started: noon, Arrival: runlog.ArrivalPoisson, Rate: 10, MaxConcurrency: 1000, RampUp: time.Second}
			at := time.Duration(0)
			for i := range requests {
				at += time.Duration(rng.ExpFloat64() * 1e8)
				requests[i] = randomRequest(rng, at)
			}
		}
		// A log has requests in the order in which they end.
		ended := slices.Clone(requests)
		slices.SortStableFunc(ended, func(a, b runlog.Request) int {
			return a.Trace.Started.Add(a.Trace.End).Compare(b.Trace.Started.Add(b.Trace.End))
		})
		got := stepOf(t, opts, newMemlog("a").step(step, ended, false).ended())
		bounded := step.MaxConcurrency > 0
		last := ended[len(ended)-1].Trace
		w := Window{requests[0].Trace.Started, last.Started.Add(last.End)}
		want := Step{Whole: naiveFigures(w, requests, opts, bounded)}
		steady, ok := naiveSteady(step, requests)
		if step.Rate > 0 { // from when on is another test's
			if ok = got.Steady != nil; ok {
				steady = got.Steady.Window
			}
		}
		if ok {
			wereSteady++
			w, want.Steady = steady, new(naiveFigures(steady, requests, opts, bounded))
			want.Whole.PeakOutputThroughput = max(want.Whole.PeakOutputThroughput, want.Steady.PeakOutputThroughput)
		}
		near := figuresOnly
		sameGaps(t, &want.Whole, &got.Whole)
		if want.Steady != nil && got.Steady != nil {
			sameGaps(t, want.Steady, got.Steady)
		}
		if diff := cmp.Diff(want.Whole, got.Whole, near); diff != "" {
			t.Fatalf("seed %d, whole step (-want +got):\n%s", seed, diff)
		}
		if diff := cmp.Diff(want.Steady, got.Steady, near); diff != "" {
			t.Fatalf("seed %d, steady part (-want +got):\n%s\nnot steady: %s", seed, diff, got.NotSteady)
		}
		if diff := cmp.Diff(naiveConcurrency(w, requests), got.Checks.Achieved, near); diff != "" && len(requests) > 1 {
			t.Fatalf("seed %d, achieved concurrency (-want +got):\n%s", seed, diff)
		}
	}
	if wereSteady < 20 || wereSteady > 55 {
		t.Errorf("%d of 60 runs were steady: the test has lost its point", wereSteady)
	}
}

// TestManyLogsAreOne cuts a run's requests into the logs of three machines: their
// report is that of one log, but for what is said of each machine.
func TestManyLogsAreOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	whole := closed(9, 600)
	requests := closedLoop(9, 600, func(_ int, start time.Duration) runlog.Request { return randomRequest(rng, start) })
	third := closed(3, 200)
	parts := make([][]runlog.Request, 3)
	for i, r := range requests {
		parts[i%3] = append(parts[i%3], r)
	}
	// The last request of each must be the last of all for the windows to agree.
	ends := slices.Clone(requests[len(requests)-3:])
	for i := range parts {
		parts[i][len(parts[i])-1] = ends[2]
	}
	requests = append(requests[:len(requests)-3], ends[2], ends[2], ends[2])
	one := stepOf(t, Options{}, newMemlog("a").step(whole, requests, false).ended())
	var logs []*memlog
	for i, host := range []string{"a", "b", "c"} {
		logs = append(logs, newMemlog(host).step(third, parts[i], false).ended())
	}
	got := stepOf(t, Options{}, logs...)
	if got.Machines != 3 {
		t.Errorf("%d machines, want 3", got.Machines)
	}
	if diff := cmp.Diff(one, got, figuresOnly, cmpopts.IgnoreFields(Step{}, "Machines", "Timeline"), cmpopts.IgnoreFields(Checks{}, "Trends")); diff != "" {
		t.Errorf("three logs and one (-one +three):\n%s", diff)
	}
}
