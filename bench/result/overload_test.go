package result

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accelerator-exporter/accelerator_exporter/bench/runlog"
)

// queued is what a server with so many places does: a request takes as long as takes
// says once it has one. gap is the time between two arrivals.
func queued(n, places int, gap, takes func() time.Duration) []runlog.Request {
	free := make([]time.Duration, places)
	var all []runlog.Request
	for start := time.Duration(0); len(all) < n; start += gap() {
		place := slices.IndexFunc(free, func(t time.Duration) bool { return t <= start })
		if place < 0 {
			place = slices.Index(free, slices.Min(free))
		}
		free[place] = max(start, free[place]) + takes()
		latency := free[place] - start
		all = append(all, answered(start, 10, 3, latency/2, latency))
	}
	slices.SortStableFunc(all, func(a, b runlog.Request) int {
		return a.Trace.Started.Add(a.Trace.End).Compare(b.Trace.Started.Add(b.Trace.End))
	})
	return all
}

func always(d time.Duration) func() time.Duration { return func() time.Duration { return d } }

// TestPilesUp draws many loads: those that a server can bear must stay steady,
// whatever chance does to arrivals and answers, and those it cannot must not.
func TestPilesUp(t *testing.T) {
	const draws, many = 40, 10000
	for name, tt := range map[string]struct {
		n, places   int
		mean, least time.Duration // what a request takes
		burstiness  float64
		low, high   int // of the draws pile up
	}{
		"equal answers":              {100, many, 0, 2 * time.Second, 1, 0, 0},
		"long answers, just begun":   {100, many, 9 * time.Second, time.Second, 1, 0, 1},
		"long answers":               {600, many, 9 * time.Second, time.Second, 1, 0, 0},
		"bursts":                     {300, many, 2 * time.Second, 0, 0.2, 0, 1},
		"places enough":              {300, 20, 1400 * time.Millisecond, 0, 1, 0, 3},
		"one place, often empty":     {300, 1, 60 * time.Millisecond, 0, 1, 0, 1},
		"a quarter more than it can": {600, 20, 2500 * time.Millisecond, 0, 1, 38, 40},
		"twice what it can":          {200, 20, 4 * time.Second, 0, 1, 38, 40},
		"twice, in bursts":           {400, 20, 4 * time.Second, 0, 0.2, 38, 40},
	} {
		t.Run(name, func(t *testing.T) {
			step := runlog.Step{Started: noon, Arrival: runlog.ArrivalPoisson, Rate: 10}
			if tt.burstiness != 1 {
				step.Arrival, step.Burstiness = runlog.ArrivalGamma, tt.burstiness
			}
			got := 0
			for seed := range uint64(draws) {
				r := rand.New(rand.NewPCG(seed, 1))
				// A gamma gap of shape 1/k as a k-th of its draws being exponential, others 0.
				gap := func() time.Duration {
					if r.Float64() >= tt.burstiness {
						return 0
					}
					return time.Duration(r.ExpFloat64() * 0.1 / tt.burstiness * 1e9)
				}
				takes := func() time.Duration { return tt.least + time.Duration(r.ExpFloat64()*float64(tt.mean)) + 1 }
				s := stepOf(t, Options{}, newMemlog("a").step(step, queued(tt.n, min(tt.places, tt.n), gap, takes), false).ended())
				if s.NotSteady == pileUp {
					got++
				}
			}
			if got < tt.low || got > tt.high {
				t.Errorf("%d of %d piled up, want %d to %d", got, draws, tt.low, tt.high)
			}
		})
	}
}

// TestUsersDoNotPileUp holds that only a rate can be too high: users wait.
func TestUsersDoNotPileUp(t *testing.T) {
	requests := queued(400, 1, always(100*time.Millisecond), always(200*time.Millisecond))
	s := stepOf(t, Options{}, newMemlog("a").step(closed(2, 400), requests, false).ended())
	if all := strings.Join(s.Warnings, "\n"); s.Steady == nil || strings.Contains(all, pileUp) {
		t.Errorf("not steady as %q, warnings %q", s.NotSteady, all)
	}
}
